"""A project of Spark Declarative Pipelines that reads topics through our source, ready to run.

Its tables belong to Spark: it is for those who go on in Spark's SQL and Python. Exactly once, dead
letters and upkeep are what a pipeline's file has.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Final

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.java import java_home

SPEC: Final = """\
name: {name}
storage: {storage}
libraries:
  - glob:
      include: transformations/**
"""

RECORDS: Final = '''\
"""Topics as a table that grows, and a view of it. Each run reads what came since the last one."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

OPTIONS = {options}


@dp.table
def records() -> DataFrame:
    """Every record of the topics; `value` as text."""
    spark = SparkSession.active()
    rows = spark.readStream.format("odradek").options(**OPTIONS).load()
    return rows.selectExpr(
        "topic", "partition", "offset", "timestamp",
        "cast(key as string) as key", "cast(value as string) as value",
    )


@dp.materialized_view
def records_by_minute() -> DataFrame:
    """How many records came in each minute."""
    spark = SparkSession.active()
    minute = "date_trunc('minute', timestamp) as minute"
    return spark.table("records").selectExpr("topic", minute).groupBy("topic", "minute").count()
'''

RUN: Final = """\
#!/bin/sh
# Runs the project: what is new in the topics goes into its tables. `./run --help` says more.
# One run at a time: the catalog in metastore_db belongs to one process.
cd "$(dirname "$0")" || exit 1
: "${{PYSPARK_PYTHON:={python}}}"
{java}export PYSPARK_PYTHON SPARK_LOCAL_IP="${{SPARK_LOCAL_IP:-127.0.0.1}}"
# Of more than ten --conf PySpark 4.2 hands some on and forgets the others, so these are not there.
catalog="-Dspark.sql.catalogImplementation=hive -Dspark.sql.warehouse.dir=\\"$PWD/warehouse\\""
export SPARK_SUBMIT_OPTS="$catalog -Dspark.ui.enabled=false ${{SPARK_SUBMIT_OPTS:-}}"
exec {pipelines} run "$@"
"""
JAVA: Final = """\
: "${{JAVA_HOME:={home}}}"
export JAVA_HOME
"""


def make_project(folder: Path, bootstrap: str, topics: Sequence[str]) -> list[Path]:
    """Writes the files of a project into a new directory, and says which.

    The names of Python and Java are those of this machine; both may be set from outside.
    """
    import pyspark

    home = java_home()
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": ",".join(topics),
        "startingOffsets": "earliest",
    }
    folder = folder.absolute()
    command = Path(pyspark.__file__).parent / "bin" / "spark-pipelines"
    storage = (folder / "storage").as_uri()
    files = {
        "spark-pipeline.yml": SPEC.format(
            name=json.dumps(folder.name), storage=json.dumps(storage)
        ),
        "transformations/records.py": RECORDS.replace("{options}", json.dumps(options, indent=4)),
        "run": RUN.format(
            python=quote(sys.executable),
            java="" if home is None else JAVA.format(home=quote(str(home))),
            pipelines=quote(str(command)),
        ),
    }
    try:
        folder.mkdir(parents=True)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (folder / "run").chmod(0o755)
    except FileExistsError as error:
        raise PipelineError(f"{folder} exists already: name a directory that does not") from error
    except OSError as error:
        raise PipelineError(f"{folder} cannot be made: {os.strerror(error.errno or 0)}") from error
    return [folder / name for name in files]
