"""`odradek pipeline init`: the project runs, and runs again."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds

from tests.pipelines.topics import Topics

CONFS = (
    "spark.driver.memory=1g",
    "spark.sql.shuffle.partitions=2",
    "spark.default.parallelism=2",
    "spark.sql.session.timeZone=UTC",
    "spark.ui.showConsoleProgress=false",
)
"""With Spark's own more than ten, of which PySpark forgets some."""


def test_the_project_runs_and_goes_on(topics: Topics, tmp_path: Path) -> None:
    """Each run adds what came since the last one, once; a directory that is there is left alone."""
    project = tmp_path / "a project"
    topic = topics.make(partitions=2)
    topics.fill_numbers(topic, 30)
    init = [sys.executable, "-m", "odradek", "pipeline", "init", str(project)]
    called = [*init, "-b", topics.bootstrap, "--topics", topic]
    subprocess.run(called, check=True)
    ran(project)
    topics.fill_numbers(topic, 12, partition=1, first=30)
    ran(project)
    values = ds.dataset(project / "warehouse" / "records").to_table()["value"].to_pylist()
    assert sorted(map(int, values)) == list(range(42))
    counts = ds.dataset(project / "warehouse" / "records_by_minute").to_table()
    assert sum(counts["count"].to_pylist()) == 42
    again = subprocess.run(called, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert again.stderr.count("\n") == 1
    assert "exists already" in again.stderr


def ran(project: Path) -> None:
    """To its end."""
    done = subprocess.run(
        [str(project / "run"), *(it for conf in CONFS for it in ("--conf", conf))],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
