"""The attempts of an archive, one by one: `plimsoll archive export`."""

from __future__ import annotations

import dataclasses
import datetime
import json
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import words
from .amount import Amount, instant_of
from .errors import ArchiveError, Error
from .frames import frame_of
from .program import Path, Program, failure, find, warn

if TYPE_CHECKING:
    import pandas

#: The units of the resources; of others it is `count`.
UNITS: Mapping[str, str] = {
    "memory": "bytes",
    "wall": "ns",
    "cpu": "ns",
    "cores": "cores",
    "disk": "bytes",
    "rss": "bytes",
    "cgroup": "bytes",
    "virtual": "bytes",
    "swap": "bytes",
    "read": "bytes",
    "written": "bytes",
    "disk_read": "bytes",
    "disk_written": "bytes",
    "processes": "count",
    "gpu_memory": "bytes",
}


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One attempt of one task. What is not known is None; docs/archive.md of Plimsoll has the
    fields."""

    id: str
    #: What told it, in which file.
    format: str
    source: Optional[str]
    set: Optional[str]
    category: str
    tool: Optional[str]
    description: Optional[str]
    command: Tuple[str, ...]
    image: Optional[str]
    task: Optional[str]
    attempt: Optional[int]
    parents: Tuple[str, ...]
    job: Optional[str]
    user: Optional[str]
    host: Optional[str]
    host_class: Optional[str]
    submitted: Optional[datetime.datetime]
    began: Optional[datetime.datetime]
    ended: Optional[datetime.datetime]
    #: `done`, `failed`, `limit`, `cancelled`, `unknown`.
    end: str
    exit_code: Optional[int]
    signal: Optional[int]
    #: The resource whose limit ended it.
    exceeded: Optional[str]
    #: A sentence.
    cause: Optional[str]
    #: Bytes of its input.
    input_size: Optional[int]
    #: What was asked for and what was used, by resource; what is not known is not there.
    requested: Mapping[str, Amount]
    used: Mapping[str, Amount]
    labels: Mapping[str, str]
    #: As it was told.
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)

    @property
    def memory(self) -> Optional[Amount]:
        """Its peak of memory in bytes."""
        return self.used.get("memory")

    @property
    def wall(self) -> Optional[Amount]:
        """Its time in ns."""
        return self.used.get("wall")


_NAMES = tuple(one.name for one in dataclasses.fields(Attempt) if one.name != "raw")
_INSTANTS = ("submitted", "began", "ended")
_LISTS = ("command", "parents")


def _amounts(raw: Mapping[str, Mapping[str, Any]]) -> Dict[str, Amount]:
    return {name: Amount(one["value"], UNITS.get(name, "count"), one["known"]) for name, one in raw.items()}


def _attempt(raw: Mapping[str, Any]) -> Attempt:
    values: Dict[str, Any] = {name: raw.get(name) for name in _NAMES}
    values.update({name: instant_of(raw.get(name)) for name in _INSTANTS})
    values.update({name: tuple(raw.get(name) or ()) for name in _LISTS})
    values["requested"] = _amounts(raw.get("requested") or {})
    values["used"] = _amounts(raw.get("used") or {})
    return Attempt(**values, raw=raw)


class Attempts:
    """Attempts of an archive. Each iteration asks anew, and holds one attempt at a time."""

    def __init__(self, program: Program, question: List[str]) -> None:
        self._program = program
        self._question = question

    def __iter__(self) -> Iterator[Attempt]:
        return map(_attempt, self._rows())

    def _rows(self) -> Iterator[Dict[str, Any]]:
        # Complaints go to a file: a pipe that nobody reads would hold it up.
        with tempfile.TemporaryFile() as errors, self._program.start(self._question, errors) as child:
            try:
                assert child.stdout is not None
                for line in child.stdout:
                    yield json.loads(line)
            except ValueError as error:
                raise Error(f"plimsoll told something that is no attempt: {error}") from error
            except GeneratorExit:
                # Whoever wants no more does not wait for the rest.
                child.kill()
                raise
            status = child.wait()
            errors.seek(0)
            complaint = errors.read()
            warn(complaint)
            if status != 0:
                raise failure(status, complaint, ArchiveError)

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame with a row an attempt. The columns are those of the archive's own files:
        the fields, `used_memory`, `used_memory_known`, `requested_memory` and so on; what is not
        known is missing, instants are in UTC, labels stay a dictionary.

        >>> table = attempts("archive", category="align").to_pandas()
        >>> int(table.used_memory.max()), str(table.used_memory.dtype)
        (1076000000, 'Int64')
        """
        return frame_of(self._rows())


def attempts(
    archive: Optional[Path] = None,
    *,
    where: Union[None, str, Sequence[str]] = None,
    begin: Optional[words.Instant] = None,
    until: Optional[words.Instant] = None,
    program: Optional[Path] = None,
    **chosen: Optional[str],
) -> Attempts:
    """The attempts in an archive, by default the user's own.

    `where` are conditions on what was used (`"memory>4GiB"`), `begin` and `until` when they ended;
    `category`, `set`, `tool`, `description`, `task`, `host`, `user` and `end` choose as the options
    of `plimsoll archive query` do.

    >>> [one.used["memory"].value for one in attempts("archive", where="memory>1072MB")]
    [1076000000]
    >>> sum(1 for _ in attempts("archive", category="align", end="done"))
    20
    """
    question = ["archive", "export", "--format=jsonl", "--quiet", *words.path("--archive", archive)]
    return Attempts(find(program), question + words.choice(where, begin, until, chosen))


def frame(archive: Optional[Path] = None, **asked: Any) -> "pandas.DataFrame":
    """A data frame of the attempts in an archive, chosen as `attempts` does; needs pandas
    (`pip install 'plimsoll[pandas]'`).

    >>> frame("archive").groupby("category").used_memory.max().to_dict()
    {'align': 1076000000}
    """
    return attempts(archive, **asked).to_pandas()
