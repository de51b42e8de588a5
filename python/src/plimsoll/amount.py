"""A value with how it is known, or the reason why it is not."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any, Iterator, Mapping, Optional, Union

Number = Union[int, float]


@dataclasses.dataclass(frozen=True)
class Amount:
    """A value that is known.

    >>> peak = Amount(59121664, "bytes", "lower_bound")
    >>> peak.value, peak.method, peak.is_exact
    (59121664, 'lower_bound', False)
    >>> float(peak)
    59121664.0
    >>> str(peak)
    '>= 59121664 bytes'
    """

    #: In the unit.
    value: Number
    #: `bytes`, `ns`, `cores`, `count`, `ratio`.
    unit: str
    #: `exact`, `sampled`, `lower_bound`, `upper_bound`, `scaled`, `claimed`; others may follow.
    method: str
    #: Where it comes from, in words for people.
    source: Optional[str] = None
    #: Of a lower bound: what the truth cannot exceed.
    upper: Optional[Number] = None
    #: Of a sampled one: the longest usual time between two readings.
    period_ns: Optional[int] = None
    #: When a peak was reached, since the start of the task.
    at_ns: Optional[int] = None

    @property
    def is_exact(self) -> bool:
        """Whether nothing was missed."""
        return self.method == "exact"

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __str__(self) -> str:
        marks = {"exact": "", "sampled": "~", "lower_bound": ">= ", "upper_bound": "<= "}
        return f"{marks.get(self.method, '~')}{self.value} {self.unit}"


@dataclasses.dataclass(frozen=True)
class Absent:
    """A value that is not known. It is false, and has no value, in particular not 0.

    >>> gpu = Absent("no_device")
    >>> bool(gpu), gpu.value, gpu.reason
    (False, None, 'no_device')
    """

    #: `no_permission`, `no_kernel_support`, `no_device`, `not_applicable`, `gone`, `off`; others
    #: may follow.
    reason: str
    #: There is none.
    value: None = None
    #: There is none.
    method: None = None

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"absent: {self.reason}"


#: A field of a report: known or absent.
Field = Union[Amount, Absent]


def field(raw: Mapping[str, Any]) -> Field:
    """A field of a report."""
    if "value" not in raw:
        return Absent(str(raw.get("absent", "unknown")))
    return Amount(
        raw["value"],
        str(raw.get("unit", "count")),
        str(raw.get("method", "unknown")),
        raw.get("source"),
        raw.get("upper"),
        raw.get("period_ns"),
        raw.get("at_ns"),
    )


class Fields(Mapping[str, Field]):
    """Fields by name, as a mapping and as attributes.

    >>> usage = Fields({"cpu_time": {"value": 1500, "unit": "ns", "method": "exact"}})
    >>> usage.cpu_time.value, usage["cpu_time"].value, list(usage)
    (1500, 1500, ['cpu_time'])
    """

    def __init__(self, raw: Mapping[str, Mapping[str, Any]]) -> None:
        self._raw = raw

    def __getitem__(self, name: str) -> Field:
        return field(self._raw[name])

    def __getattr__(self, name: str) -> Field:
        # Copies look for this before there is one.
        raw = self.__dict__.get("_raw", {})
        if name not in raw:
            raise AttributeError(f"no field {name!r}; there are: {', '.join(raw)}")
        return field(raw[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __dir__(self) -> "list[str]":
        return [*super().__dir__(), *self._raw]

    def __repr__(self) -> str:
        return f"Fields({', '.join(f'{name}: {self[name]}' for name in self)})"


def instant(text: Optional[str]) -> Optional[datetime.datetime]:
    """An instant in RFC 3339, UTC.

    >>> instant("2026-11-25T08:47:50.038684Z")
    datetime.datetime(2026, 11, 25, 8, 47, 50, 38684, tzinfo=datetime.timezone.utc)
    """
    if text is None:
        return None
    # Until Python 3.11 only +00:00 is understood, with 3 or 6 digits.
    whole, _, fraction = text.rstrip("Z").partition(".")
    moment = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    moment = moment.replace(microsecond=int(fraction[:6].ljust(6, "0")), tzinfo=datetime.timezone.utc)
    return moment


def instant_of(nanos: Optional[int]) -> Optional[datetime.datetime]:
    """An instant in nanoseconds since 1970; what is finer than a microsecond is cut."""
    if nanos is None:
        return None
    began = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return began + datetime.timedelta(microseconds=nanos // 1000)
