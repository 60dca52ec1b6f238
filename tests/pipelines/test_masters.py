"""The same table whatever Spark runs on: a standalone cluster and a Spark Connect server."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from tests.external.zookeeper import die_with_parent, free_port
from tests.pipelines.moving.archives import records_of, rows_in
from tests.pipelines.topics import Topics

HOME = Path(pyspark.__file__).parent
COUNT = 1_000
SLOTS = """
import sys
from odradek.pipelines import session
from odradek.pipelines.moving.jobs import tasks_for
from odradek.pipelines.positions import OffsetRange
small = [OffsetRange("t", "", number, 0, 1) for number in range(8)]
print(tasks_for(session(remote=sys.argv[1]), small))
"""
"""How many tasks share eight small ranges."""


@contextmanager
def java(log: Path, ready: str, *command: str) -> Iterator[str]:
    """A program of Spark's; gives the line that says that it is ready."""
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_DIR": str(log.parent / "work"),
    }
    with log.open("wb") as file:
        process = subprocess.Popen(
            [str(HOME / "bin" / command[0]), *command[1:]],
            stdout=file,
            stderr=file,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
        )
    try:
        for _ in range(1_200):
            found = re.search(ready, log.read_text(errors="replace"))
            if found:
                break
            assert process.poll() is None, log.read_text(errors="replace")[-2_000:]
            time.sleep(0.1)
        assert found, log.read_text(errors="replace")[-2_000:]
        yield found[0]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def filled(topics: Topics) -> str:
    """A topic of two partitions."""
    topic = topics.make(partitions=2)
    topics.fill(topic, [{"value": b"%d" % it, "partition": it % 2} for it in range(COUNT)])
    return topic


def archived(topics: Topics, topic: str, table: str, *where: str) -> None:
    """By the command."""
    command = [sys.executable, "-m", "odradek", "archive", "-b", topics.bootstrap, "--once"]
    done = subprocess.run(
        [*command, "--topics", topic, "--to", table, *where],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert rows_in(table) == records_of(topics.bootstrap, topic, (0, 1))


def test_a_standalone_cluster(topics: Topics, filled: str, tmp_path: Path) -> None:
    """A master and a worker from the package; our code is shipped to it."""
    at = ("--host", "127.0.0.1", "--port", str(free_port()), "--webui-port", "0")
    master = ("spark-class", "org.apache.spark.deploy.master.Master", *at)
    with java(tmp_path / "master.log", r"spark://127[^ \n]*", *master) as url:
        worker = ("spark-class", "org.apache.spark.deploy.worker.Worker")
        more = ("--host", "127.0.0.1", "--cores", "2", "--memory", "1g", "--webui-port", "0", url)
        with java(tmp_path / "worker.log", "Successfully registered", *worker, *more):
            confs = ("--conf", "spark.executor.memory=512m", "--conf", "spark.driver.memory=1g")
            host = ("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.ui.enabled=false")
            table = f"delta:{tmp_path}/t"
            archived(topics, filled, table, "--master", url, *confs, *host)


def test_spark_connect(topics: Topics, filled: str, tmp_path: Path) -> None:
    """A server that somebody else runs; here there is no Java at all."""
    port = free_port()
    server = (
        "spark-submit",
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master",
        "local[2]",
        "--conf",
        f"spark.connect.grpc.binding.port={port}",
        "--conf",
        "spark.ui.enabled=false",
        "--conf",
        "spark.driver.memory=1g",
    )
    with java(tmp_path / "server.log", "Spark Connect server started", *server):
        remote = f"sc://127.0.0.1:{port}"
        archived(topics, filled, f"delta:{tmp_path}/t", "--remote", remote)
        asked = subprocess.run(
            [sys.executable, "-c", SLOTS, remote],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert asked.stdout == "2\n", asked.stderr
