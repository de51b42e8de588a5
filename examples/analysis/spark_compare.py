"""Asks Apache Spark the reports of `plimsoll query`, and compares the rows.

    python3 spark_compare.py FOLDER

FOLDER has NAME.sql (`plimsoll query DIR --report NAME --print-sql spark`) and NAME.jsonl
(`plimsoll query DIR --report NAME --format jsonl`) of the same compacted dataset. Needs PySpark
and Java; `local[2]` becomes the address of a cluster whose workers see the dataset.
"""

import os
import pathlib
import shutil
import sys

import rows

if shutil.which("java") is None:
    print("no Java")
    sys.exit(3)
try:
    from pyspark.sql import SparkSession
except ImportError as error:
    print(f"no PySpark: {error}")
    sys.exit(3)

# Rows come back as instants of this zone.
os.environ["TZ"] = "UTC"


def main(asked):
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")

    def answer(text):
        # One statement at a time; none of ours has this but at its end.
        *tables, question = [part for part in text.split(";\n") if part.strip()]
        for table in tables:
            spark.sql(table)
        frame = spark.sql(question)
        return frame.columns, [tuple(row) for row in frame.collect()]

    same = rows.compare(asked, answer)
    spark.stop()
    return same


if __name__ == "__main__":
    sys.exit(0 if main(pathlib.Path(sys.argv[1])) else 1)
