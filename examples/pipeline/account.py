"""What each way to ask for memory costs over one run of the pipeline.

`account.py PLIMSOLL ARCHIVE [NAME=ARCHIVE]...` prints, for the run 3 of the archive: GiB.h of memory
that were asked for and used, and failed attempts; as it was, as it was in other archives where other
rules held it (fixed.py), and as it would have been by these rules. What a task needs is known from
its last attempt. A request that is too little is doubled; the attempt that it ended is charged the
part of the task's time in which, growing steadily, it reaches the request.
"""

import json
import statistics
import subprocess
import sys

GIB_HOUR = 2**30 * 3600e9
MIB = 2**20
STEP = 256 * MIB
# What somebody who knows nothing of the tasks asks for, each of them alike.
UNKNOWN = 2048 * MIB


def attempts(program, archive, run):
    words = [program, "archive", "query", "--archive", archive, "--set", run]
    words += ["--limit", "1000000", "--format", "jsonl"]
    told = subprocess.run(words, check=True, stdout=subprocess.PIPE)
    return [json.loads(line) for line in told.stdout.splitlines()]


def amount(one, kind, resource):
    known = one[kind].get(resource)
    return known["value"] if known else None


def needs(done):
    """Memory and time of each attempt of which both are known."""
    both = [(one, amount(one, "used", "memory"), amount(one, "used", "wall")) for one in done]
    return [(one["category"], memory, wall) for one, memory, wall in both if memory and wall]


def as_it_was(third):
    """What was asked for; one without a limit on memory asked for all of the machine's: unknown."""
    held, failed, unknown = 0.0, 0, 0
    for one in third:
        request, wall = amount(one, "requested", "memory"), amount(one, "used", "wall")
        failed += one["end"] == "limit"
        if request is None or wall is None:
            unknown += 1
        else:
            held += request * wall
    return held, failed, unknown


def would_be(tasks, request):
    held, failed = 0.0, 0
    for category, memory, wall in tasks:
        asked = request(category)
        while asked < memory:
            held += asked * wall * asked / memory
            failed += 1
            asked *= 2
        held += asked * wall
    return held, failed, 0


def up(value, step):
    return -(-int(value) // step) * step


def seldom_more(seen):
    """The 95th percentile, of a few the most."""
    return statistics.quantiles(seen, n=20)[18] if len(seen) > 9 else max(seen)


def requests(program, archive):
    """What each rule asks for in each category, by runs 1 and 2."""
    earlier = attempts(program, archive, "run 1") + attempts(program, archive, "run 2")
    before = {}
    for category, memory, _ in needs([one for one in earlier if one["end"] == "done"]):
        before.setdefault(category, []).append(memory)
    return {
        "most": {category: up(max(seen), MIB) for category, seen in before.items()},
        # Twice what a task of the kind seldom needs more than, in whole steps.
        "sane": {category: up(2 * seldom_more(seen), STEP) for category, seen in before.items()},
        "alike": {category: UNKNOWN for category in before},
    }


def row(name, costs, used):
    held, failed, unknown = costs
    more = f"  and {unknown} attempts without a limit" if unknown else ""
    print(f"{name:45} {held / GIB_HOUR:7.4f} {used / held:5.0%} {failed:6}{more}")


def used_by(third):
    tasks = needs([one for one in third if one["end"] == "done"])
    return tasks, sum(memory * wall for _, memory, wall in tasks)


def main():
    program, archive, *others = sys.argv[1:]
    third = attempts(program, archive, "run 3")
    tasks, used = used_by(third)
    print(f"run 3: {len(third)} attempts of {len(tasks)} tasks, used {used / GIB_HOUR:.4f} GiB.h")
    print(f"{'REQUEST':45} {'GiB.h':>7} {'USED':>5} {'FAILED':>6}")
    row("--limits auto, as it was", as_it_was(third), used)
    for other in others:
        name, _, place = other.partition("=")
        held = attempts(program, place, "run 3")
        row(f"{name}, as it was", as_it_was(held), used_by(held)[1])
    names = {
        "most": "the most of runs 1 and 2",
        "sane": "twice the 95th percentile, 256 MiB",
        "alike": "2 GiB for each",
    }
    rules = requests(program, archive)
    for rule, name in names.items():
        row(f"{name}, computed", would_be(tasks, rules[rule].__getitem__), used)
    for category in sorted(rules["most"]):
        most, sane = (rules[rule][category] >> 20 for rule in ("most", "sane"))
        print(f"{category}: most {most} MiB, sane {sane} MiB")


if __name__ == "__main__":
    main()
