"""Why a task ended as it did: `plimsoll why`."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Dict, Mapping, Optional, Tuple

from . import words
from .advice import Paste
from .amount import Number
from .errors import NotFound
from .program import Path, find, json_of

_SCHEMA = "plimsoll.why/1"


@dataclasses.dataclass(frozen=True)
class Fact:
    """What speaks for a cause."""

    what: str
    value: str
    source: str


@dataclasses.dataclass(frozen=True)
class Request:
    """What to ask for next time; amounts in `unit`."""

    resource: str
    #: What it was allowed, where that is known.
    before: Optional[Number]
    after: Optional[Number]
    unit: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Cause:
    """Something that happened to a task."""

    #: docs/why.md of Plimsoll has them: `limit`, `memory_kill`, `signal`, `success`.
    cause: str
    #: For people.
    sentence: str
    #: `known`, `likely`, `unknown`.
    certainty: str
    evidence: Tuple[Fact, ...]
    #: What to do.
    advice: Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Why(Cause):
    """Why a task ended, and what else was seen. As text it is the sentence."""

    requests: Tuple[Request, ...]
    also: Tuple[Cause, ...]
    paste: Tuple[Paste, ...]
    #: As it was told, schema `plimsoll.why/1`.
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.sentence


def _cause(raw: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "cause": raw["cause"],
        "sentence": raw["sentence"],
        "certainty": raw["certainty"],
        "evidence": tuple(Fact(one["what"], one["value"], one["source"]) for one in raw.get("evidence", [])),
        "advice": tuple(raw.get("advice", [])),
    }


def _request(raw: Mapping[str, Any]) -> Request:
    return Request(raw["resource"], raw["from"], raw["to"], raw["unit"], raw["reason"])


def why(
    report: Path,
    *,
    archive: Optional[Path] = None,
    id: Optional[str] = None,
    target: Optional[str] = None,
    program: Optional[Path] = None,
) -> Why:
    """Why the task of this report ended: a file, the prefix of `--output`, or the id of an attempt
    in the archive. Of a file with a line for each task `id` says of which. `target` is for whom
    `paste` is written: `"slurm"`.

    >>> told = why("killed")
    >>> told.cause, told.certainty
    ('limit', 'known')
    >>> print(told)  # doctest: +ELLIPSIS
    The kernel and Plimsoll ended the task: its limit on memory of 40 MiB was reached ...
    """
    question = ["why", "--format=json", *words.path("--archive", archive)]
    question += words.text("--id", id) + words.text("--for", target)
    answer = find(program).ask([*question, "--", os.fsdecode(report)], NotFound)
    raw = json_of(answer, _SCHEMA)
    return Why(
        **_cause(raw),
        requests=tuple(_request(one) for one in raw["requests"]),
        also=tuple(Cause(**_cause(one)) for one in raw["also"]),
        paste=tuple(Paste(one["target"], one["place"], tuple(one["lines"])) for one in raw["paste"]),
        raw=raw,
    )
