"""What DuckDB finds in a dataset: `python3 dataset.py FOLDER`, one fact a line."""

import sys

import duckdb

folder = sys.argv[1]


def ask(what, table, rest=""):
    files = f"{folder}/kind={table}/**/*.parquet"
    source = f"read_parquet('{files}', hive_partitioning = true)"
    return duckdb.sql(f"select {what} from {source} {rest}").fetchall()


def say(name, value):
    print(f"{name} {value}")


# The types of the columns, then what the folders say.
types = {name: kind for name, kind, *_ in duckdb.sql(
    f"describe select * from read_parquet('{folder}/kind=sample/**/*.parquet')"
).fetchall()}
say("unsigned", sorted(name for name, kind in types.items() if kind.startswith("U")))
for name in ["host", "pid", "time", "at_ns", "cpu_time", "state"]:
    say(name, types[name])
say("rows", ask("count(*)", "sample")[0][0])
say("sum", ask("sum(cpu_time)", "sample")[0][0])
say("absent", ask("count(*)", "sample", "where rss is null")[0][0])
say("hours", ask("hour, count(*)", "sample", "group by hour order by hour"))
say("first", ask("epoch_us(min(time)), min(at_ns)", "sample")[0])
say("one", ask("cpu_time", "sample", "where pid = 3 and at_ns = 3600000000000"))
say("command", ask("comm, command, exe", "process"))
