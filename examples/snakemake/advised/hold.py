"""Holds as many MB of memory as its input says, for half a second, as a program that reads data
would."""

import sys
import time

source, target = sys.argv[1:]
with open(source) as file:
    held = bytearray(int(file.read()) * 1000 * 1000)
for place in range(0, len(held), 4096):
    held[place] = 1
time.sleep(0.5)
with open(target, "w") as file:
    print(len(held), file=file)
