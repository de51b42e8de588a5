"""What the comparing scripts share: rows of two engines, told apart by their values."""

import datetime
import json


def plain(value):
    """A value as both engines have it: instants by the microsecond, fractions to nine digits."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat(timespec="microseconds")
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, str) and value.endswith("Z"):
        try:
            return plain(datetime.datetime.fromisoformat(value.replace("Z", "+00:00")))
        except ValueError:
            return value
    return value


def compare(asked, answer):
    """Asks `answer` each NAME.sql of the folder `asked`, and compares with NAME.jsonl.

    `answer` gives the names of the columns and the rows. True if all are the same.
    """
    all_same = True
    for question in sorted(asked.glob("*.sql")):
        lines = question.with_suffix(".jsonl").read_text().splitlines()
        ours = [{k: plain(v) for k, v in json.loads(line).items()} for line in lines]
        names, rows = answer(question.read_text())
        theirs = [dict(zip(names, map(plain, row))) for row in rows]
        if ours == theirs:
            print(f"{question.stem}: the same")
            continue
        all_same = False
        print(f"{question.stem}: {len(ours)} rows here, {len(theirs)} there")
        for one, other in zip(ours, theirs):
            if one != other:
                print({k: (v, other.get(k)) for k, v in one.items() if v != other.get(k)})
                break
    return all_same
