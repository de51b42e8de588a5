"""Joins the words that were seen twice or more to contigs: `assemble.py TABLE CONTIGS`.

A graph of de Bruijn's: a word leads from all but its last base to all but its first. A contig is
a way on which there is no choice."""

import sys


def read(path):
    """Which bases follow a node, and how many words lead to it."""
    out, into = {}, {}
    with open(path, "rb") as file:
        for line in file:
            word, count = line.split()
            if int(count) > 1:
                out[word[:-1]] = out.get(word[:-1], b"") + word[-1:]
                into[word[1:]] = into.get(word[1:], 0) + 1
    return out, into


def contig(out, into, node, base):
    bases = bytearray(node)
    while True:
        bases += base
        node = node[1:] + base
        base = out.get(node, b"")
        if len(base) != 1 or into.get(node) != 1:
            return bytes(bases)


def main():
    source, target = sys.argv[1:]
    out, into = read(source)
    starts = [node for node, after in out.items() if len(after) != 1 or into.get(node) != 1]
    contigs = [
        contig(out, into, node, bytes([base])) for node in starts for base in out[node]
    ]
    contigs.sort(key=len, reverse=True)
    with open(target, "wb") as file:
        for number, one in enumerate(contigs, 1):
            file.write(b">%d length=%d\n%s\n" % (number, len(one), one))


main()
