"""Runs a task with the request of its category by a fixed rule, doubled where that was too little.

`fixed.py RULE HISTORY PLIMSOLL run --category CATEGORY ...` runs `PLIMSOLL run` with these words and
a limit on memory: what account.py says for RULE (`most`, `sane` or `alike`) by runs 1 and 2 of the
archive HISTORY. It stands in the place of PLIMSOLL in the Makefile.
"""

import subprocess
import sys

from account import requests

# The status of an attempt that the limit ended; no task of the pipeline has it.
ENDED = 99
ATTEMPTS_MAX = 12


def main():
    rule, history, program, verb, *words = sys.argv[1:]
    category = words[words.index("--category") + 1]
    request = requests(program, history)[rule][category]
    for attempt in range(1, ATTEMPTS_MAX + 1):
        limits = ["--limit", f"memory={request}", "--limit-exit-code", str(ENDED)]
        command = [program, verb, "--attempt", str(attempt), *limits, *words]
        status = subprocess.run(command, check=False).returncode
        if status != ENDED:
            break
        request *= 2
    return status


sys.exit(main())
