"""Makes an index of the words of 21 bases in a file of reads: where each is.
`index.py READS TABLE` writes how often each is seen."""

import sys

WORD = 21


def main():
    source, target = sys.argv[1:]
    places = {}
    with open(source, "rb") as file:
        for number, line in enumerate(file):
            read = line.rstrip()
            for at in range(len(read) - WORD + 1):
                places.setdefault(read[at : at + WORD], []).append((number, at))
    with open(target, "wb") as file:
        file.writelines(b"%s %d\n" % (word, len(seen)) for word, seen in places.items())


main()
