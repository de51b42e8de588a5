"""Python values as the words of a command line."""

from __future__ import annotations

import datetime
import math
import os
from typing import Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import Refused
from .program import Path

#: An amount: a number in the unit of its resource (bytes, nanoseconds, cores), a time, or text as
#: on the command line (`"64GiB"`, `"2d"`).
Value = Union[int, float, str, datetime.timedelta]

#: Amounts by the name of the resource.
Values = Mapping[str, Value]

#: An instant: text as on the command line (`"2026-11-20 13:05"`, `"7d"` for how long ago) or a time;
#: one without a zone is UTC.
Instant = Union[str, datetime.datetime, datetime.date]

_TIMES = ("wall", "cpu")


def amount(resource: str, value: Value) -> str:
    """An amount of a resource.

    >>> amount("memory", 1 << 30), amount("wall", datetime.timedelta(hours=2)), amount("cores", 1.5)
    ('1073741824', '7200000000000ns', '1.5')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.timedelta):
        if resource not in _TIMES:
            raise Refused(f"{resource}={value!r}: a time is no amount of {resource}")
        return f"{value // datetime.timedelta(microseconds=1) * 1000}ns"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Refused(f"{resource}={value!r} is no amount: a number, a timedelta, or text such as '4GiB'")
    if resource in _TIMES:
        return f"{math.ceil(value)}ns"
    return f"{value:.3f}".rstrip("0").rstrip(".") if resource == "cores" else str(math.ceil(value))


def amounts(option: str, values: Optional[Values]) -> List[str]:
    """An option for each amount."""
    words = []
    for resource, value in (values or {}).items():
        words += [f"{option}={resource}={amount(resource, value)}"]
    return words


def text(option: str, value: Optional[object]) -> List[str]:
    """An option with a text, if there is one. A value that begins with a dash is one all the same."""
    return [] if value is None else [f"{option}={value}"]


def path(option: str, value: Optional[Path]) -> List[str]:
    """An option with a path, whatever its bytes are."""
    return [] if value is None else [f"{option}={os.fsdecode(value)}"]


def several(option: str, values: Union[None, str, Sequence[str]]) -> List[str]:
    """An option for each; one text is one."""
    values = [values] if isinstance(values, str) else values or []
    return [f"{option}={value}" for value in values]


def instant(option: str, value: Optional[Instant]) -> List[str]:
    """An option with an instant."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc)
        value = value.strftime("%Y-%m-%d %H:%M:%S")
    elif isinstance(value, datetime.date):
        value = value.isoformat()
    return text(option, value)


#: The names by which attempts are chosen, and their options.
CHOICES: Tuple[Tuple[str, str], ...] = tuple(
    (name, "--" + name) for name in ("category", "set", "tool", "description", "task", "host", "user", "end")
)


def choice(
    where: Union[None, str, Sequence[str]],
    begin: Optional[Instant],
    until: Optional[Instant],
    chosen: Mapping[str, Optional[str]],
) -> List[str]:
    """The options that say which attempts."""
    options: Dict[str, str] = dict(CHOICES)
    words = several("--where", where) + instant("--from", begin) + instant("--to", until)
    for name, value in chosen.items():
        if name not in options:
            raise TypeError(f"attempts are not chosen by {name!r}, but by {', '.join(options)}")
        words += text(options[name], value)
    return words
