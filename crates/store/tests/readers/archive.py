"""What DuckDB reads of an archive: archive.py FOLDER."""

import sys

import duckdb

FILES = f"read_parquet('{sys.argv[1]}/packed/*.parquet')"


def one(sql):
    return duckdb.sql(sql).fetchall()[0]


columns = dict((row[0], row[1]) for row in duckdb.sql(f"DESCRIBE SELECT * FROM {FILES}").fetchall())
for name in ["id", "command", "ended", "attempt", "used_memory", "used_cores", "used_memory_known"]:
    print(name, columns[name])
print(*one(f"SELECT count(*), sum(used_memory), count(used_cores), epoch_us(max(ended)) FROM {FILES}"))
print(*one(f"SELECT command, report FROM {FILES} WHERE used_memory = 3 << 20"))
