"""Asks DuckDB the reports of `plimsoll query`, and compares the rows.

    python3 duckdb_compare.py FOLDER

FOLDER has NAME.sql (`plimsoll query DIR --report NAME --print-sql duckdb`) and NAME.jsonl
(`plimsoll query DIR --report NAME --format jsonl`) of the same compacted dataset.
"""

import pathlib
import sys

import rows

try:
    import duckdb
except ImportError as error:
    print(f"no DuckDB: {error}")
    sys.exit(3)


def answer(question):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    result = connection.execute(question)
    return [column[0] for column in result.description], result.fetchall()


if __name__ == "__main__":
    sys.exit(0 if rows.compare(pathlib.Path(sys.argv[1]), answer) else 1)
