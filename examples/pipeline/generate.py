"""Makes the reads of the samples of one run: the same for the same seed, other sizes for another.

The genomes are of log-normal sizes, so a few are many times as large as most, and the coverage
varies too: the size of a file of reads is not yet the memory that its tasks need."""

import math
import os
import random
import sys

BASES = bytes(b"ACGT"[value % 4] for value in range(256))
GENOME_MEDIAN, GENOME_SPREAD, GENOME_MAX = 90_000, 1.0, 2_000_000
READ = 150
ERRORS = 0.004


def genome(chance):
    size = int(GENOME_MEDIAN * math.exp(chance.gauss(0, GENOME_SPREAD)))
    return chance.randbytes(min(max(size, 20_000), GENOME_MAX)).translate(BASES)


def reads(chance, whole):
    coverage = chance.uniform(3, 8)
    for _ in range(int(coverage * len(whole) / READ)):
        at = chance.randrange(len(whole) - READ)
        read = bytearray(whole[at : at + READ])
        if chance.random() < ERRORS * READ:
            read[chance.randrange(READ)] = chance.choice(b"ACGT")
        yield bytes(read)


def main():
    folder, seed, samples = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    for number in range(1, samples + 1):
        chance = random.Random(seed * 1000 + number)
        whole = genome(chance)
        with open(os.path.join(folder, f"s{number:02}"), "wb") as file:
            file.writelines(read + b"\n" for read in reads(chance, whole))


main()
