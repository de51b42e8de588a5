"""How tasks of a kind are: `plimsoll archive stats`."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union

from . import words
from .errors import ArchiveError
from .program import Path, find, json_of

_SCHEMA = "plimsoll.archive.stats/1"


@dataclasses.dataclass(frozen=True)
class Bar:
    """So many attempts used from `begin` up to `until`."""

    begin: float
    until: float
    count: int


@dataclasses.dataclass(frozen=True)
class ResourceStatistics:
    """What attempts used of one resource."""

    unit: str
    count: int
    mean: Optional[float]
    sd: Optional[float]
    skewness: Optional[float]
    #: 0 of a normal distribution.
    excess_kurtosis: Optional[float]
    min: Optional[float]
    max: Optional[float]
    #: By share: 0.95 of the attempts used no more. Within 1 %.
    quantiles: Mapping[float, float]
    histogram: Tuple[Bar, ...]
    #: How many amounts are known how.
    known: Mapping[str, int]


class Statistics(Mapping[str, ResourceStatistics]):
    """Statistics by resource, as a mapping and as attributes.

    >>> memory = stats("align", archive="archive").memory
    >>> memory.count, memory.mean, memory.max
    (20, 1038000000.0, 1076000000.0)
    >>> sorted(stats("align", archive="archive"))
    ['memory', 'wall']
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        #: As it was told, schema `plimsoll.archive.stats/1`.
        self.raw = raw
        #: How many attempts these are.
        self.attempts: int = raw["attempts"]
        self._resources = {name: _resource(one) for name, one in raw["resource"].items()}

    def __getitem__(self, name: str) -> ResourceStatistics:
        return self._resources[name]

    def __getattr__(self, name: str) -> ResourceStatistics:
        # Copies look for this before there is one.
        known: Dict[str, ResourceStatistics] = self.__dict__.get("_resources", {})
        if name not in known:
            raise AttributeError(f"no attempt tells {name!r}; known are: {', '.join(known)}")
        return known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._resources)

    def __len__(self) -> int:
        return len(self._resources)

    def __repr__(self) -> str:
        return f"<Statistics of {self.attempts} attempts: {', '.join(self)}>"


def _resource(raw: Mapping[str, Any]) -> ResourceStatistics:
    values: Dict[str, Any] = {one.name: raw.get(one.name) for one in dataclasses.fields(ResourceStatistics)}
    values["quantiles"] = {float(share): value for share, value in (raw.get("quantiles") or {}).items()}
    bars = raw.get("histogram") or []
    values["histogram"] = tuple(Bar(bar["from"], bar["to"], bar["count"]) for bar in bars)
    return ResourceStatistics(**values)


def stats(
    category: Optional[str] = None,
    *,
    archive: Optional[Path] = None,
    resource: Union[None, str, Sequence[str]] = None,
    where: Union[None, str, Sequence[str]] = None,
    begin: Optional[words.Instant] = None,
    until: Optional[words.Instant] = None,
    program: Optional[Path] = None,
    **chosen: Optional[str],
) -> Statistics:
    """Count, mean, deviation, skewness, excess kurtosis, quantiles and a histogram of what the
    attempts used that did what they were to do, unless `end` says of which. They are chosen as
    `attempts` does; `resource` leaves the others out.

    >>> stats("align", archive="archive", resource="wall").wall.max
    60000000000.0
    """
    question = ["archive", "stats", "--format=json", *words.path("--archive", archive)]
    question += words.several("--resource", resource)
    question += words.choice(where, begin, until, {"category": category, **chosen})
    status, answer, error = find(program).read(question, ArchiveError)
    # Where there is no such attempt it says so by its status, and prints what it can.
    if status not in (0, 1) or not answer:
        raise error
    return Statistics(json_of(answer, _SCHEMA))
