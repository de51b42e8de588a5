"""Data frames of pandas, where that is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping

from .errors import PandasMissing

if TYPE_CHECKING:
    import pandas

#: Columns that are whole numbers, and those that are instants; amounts come on top.
_WHOLE = ("attempt", "exit_code", "signal", "input_size")
_INSTANTS = ("submitted", "began", "ended")
_LISTS = ("command", "parents", "labels")
_TEXTS = (
    *("id", "format", "source", "set", "category", "tool", "description", "image", "task", "job", "user"),
    *("host", "host_class", "end", "exceeded", "cause"),
)
_ORDER = (
    *("id", "format", "source", "set", "category", "tool", "description", "command", "image", "task"),
    *("attempt", "parents", "job", "user", "host", "host_class", "submitted", "began", "ended", "end"),
    *("exit_code", "signal", "exceeded", "cause", "input_size", "labels"),
)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise PandasMissing(
            f"a data frame needs pandas ({error}): pip install 'plimsoll[pandas]'; "
            "plimsoll.attempts() needs nothing"
        ) from error
    return pandas


def frame_of(rows: Iterable[Mapping[str, Any]]) -> "pandas.DataFrame":
    """A data frame of attempts, as `plimsoll archive export --format jsonl` tells them."""
    library = _pandas()
    columns: Dict[str, List[Any]] = {name: [] for name in _ORDER}
    amounts: Dict[str, List[Any]] = {}
    count = 0
    for row in rows:
        for name in _ORDER:
            columns[name].append(row.get(name))
        for kind in ("requested", "used"):
            for resource, amount in row[kind].items():
                column = f"{kind}_{resource}"
                if column not in amounts:
                    amounts[column], amounts[column + "_known"] = [], []
                for name, value in ((column, amount["value"]), (column + "_known", amount["known"])):
                    # Those before it did not tell this resource.
                    amounts[name].extend([None] * (count - len(amounts[name])))
                    amounts[name].append(value)
        count += 1
    for values in amounts.values():
        values.extend([None] * (count - len(values)))
    made = {name: _series(library, name, values) for name, values in columns.items()}
    made.update({name: _series(library, name, amounts[name]) for name in sorted(amounts)})
    table: "pandas.DataFrame" = library.DataFrame(made)
    return table


def _series(pandas: Any, name: str, values: List[Any]) -> Any:
    if name in _INSTANTS:
        # By way of whole numbers: as floating point they would lose microseconds.
        return pandas.to_datetime(pandas.Series(values, dtype="Int64"), unit="ns", utc=True)
    if name in _LISTS:
        return pandas.Series(values, dtype="object")
    if name in _TEXTS or name.endswith("_known"):
        return pandas.Series(values, dtype="string")
    if name.endswith("_cores"):
        return pandas.Series(values, dtype="Float64")
    return pandas.Series(values, dtype="Int64")


def frame_of_records(rows: List[Dict[str, Any]]) -> "pandas.DataFrame":
    """A data frame of rows of any columns."""
    table: "pandas.DataFrame" = _pandas().DataFrame(rows).convert_dtypes()
    return table
