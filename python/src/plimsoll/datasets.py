"""Datasets of `plimsoll agent`, asked in SQL: `plimsoll query`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from .errors import Error
from .frames import frame_of_records
from .program import Path, find

if TYPE_CHECKING:
    import pandas


class Rows(List[Dict[str, Any]]):
    """Rows of an answer, each a dictionary by column."""

    def to_pandas(self) -> "pandas.DataFrame":
        """As a data frame; needs pandas."""
        return frame_of_records(list(self))


def query(dataset: Path, sql: str, *, program: Optional[Path] = None) -> Rows:
    """What a dataset answers to a question in SQL (docs/query.md of Plimsoll has the tables). The
    program must be one that was built with its engine.

    `query("/var/lib/plimsoll", "SELECT pid, max(rss) AS rss FROM sample GROUP BY pid")`
    """
    answer = find(program).ask(["query", "--format=json", "--", os.fsdecode(dataset), sql])
    try:
        return Rows(json.loads(answer))
    except ValueError as error:
        raise Error(f"the answer of plimsoll query is no JSON: {error}") from error
