"""Puts the words of several tables together, the most frequent first: `merge.py TARGET TABLE...`."""

import sys

KEPT = 10_000


def main():
    target, *sources = sys.argv[1:]
    counts = {}
    for source in sources:
        with open(source, "rb") as file:
            for line in file:
                word, count = line.split()
                if int(count) > 2:
                    counts[word] = counts.get(word, 0) + int(count)
    frequent = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    with open(target, "wb") as file:
        file.writelines(b"%s %d\n" % entry for entry in frequent[:KEPT])


main()
