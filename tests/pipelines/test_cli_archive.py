"""`odradek archive` as a person runs it: a driver, a JVM and Python workers of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, TopicPartition

from odradek.pipelines.moving.opening import ROWS, OpenTable
from tests.compat.broker_process import OdradekBroker
from tests.pipelines.moving.archives import records_of, rows_in
from tests.pipelines.topics import Topics

COUNT = 4_000
PARTITIONS = 2
BATCH = 50


@pytest.fixture
def filled(topics: Topics) -> str:
    """A topic with so many records."""
    topic = topics.make(partitions=PARTITIONS)
    rows = [{"value": b"%d" % it, "key": b"k", "partition": it % 2} for it in range(COUNT)]
    topics.fill(topic, rows)
    return topic


def call(topics: Topics, topic: str, table: str, *more: str) -> list[str]:
    """The command."""
    start = [sys.executable, "-m", "odradek", "archive", "--bootstrap-server", topics.bootstrap]
    common = ["--topics", topic, "--to", table, "--format", "raw", "--master", "local[2]"]
    return [*start, *common, "--conf", "spark.driver.memory=1g", *more]


def run(topics: Topics, topic: str, table: str, *more: str) -> "subprocess.CompletedProcess[str]":
    """To its end."""
    return subprocess.run(
        call(topics, topic, table, *more), capture_output=True, text=True, check=False
    )


@contextmanager
def running(
    topics: Topics, topic: str, table: str, *more: str
) -> Iterator["subprocess.Popen[str]"]:
    """An archive without an end, in a process group with its JVM and workers."""
    command = call(topics, topic, table, *more)
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_it_says_what_it_did_and_nothing_else(topics: Topics, filled: str, tmp_path: Path) -> None:
    """A checkpoint that is lost costs nothing; one of another table is refused in a sentence."""
    table, checkpoint = f"delta:{tmp_path}/t", tmp_path / "checkpoint"
    kept = ("--checkpoint", str(checkpoint), "--once")
    first = run(topics, filled, table, *kept, "--max-offsets-per-trigger", "2500", "--json")
    assert (first.returncode, first.stderr) == (0, "")
    assert json.loads(first.stdout)["written"] == COUNT
    for file in checkpoint.iterdir():
        file.unlink()
    topics.fill_numbers(filled, 7)
    second = run(topics, filled, table, *kept)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.startswith("7 records read: 7 written")
    assert rows_in(table) == records_of(topics.bootstrap, filled, range(PARTITIONS))
    other = run(topics, filled, f"parquet:{tmp_path}/other", *kept)
    assert other.returncode == 1
    assert other.stderr.count("\n") == 1
    assert "is of table delta:" in other.stderr


def test_whatever_is_killed_every_record_is_there_once(
    topics: Topics, filled: str, tmp_path: Path, broker: OdradekBroker
) -> None:
    """Without its workers and without the broker an archive goes on; the next one finishes it.

    Figures and a group say how far that one is.
    """
    table = f"delta:{tmp_path}/t"
    with running(topics, filled, table, "--max-offsets-per-trigger", str(BATCH)) as archive:
        await_batch(archive)
        for _ in range(2):
            kill_those_that_work(archive, kill_workers(archive))
            await_rows(archive, table)
        broker.kill()
        broker.start()
        await_rows(archive, table)
        os.killpg(archive.pid, signal.SIGKILL)
    assert count_of(table) < COUNT
    watched = ("--metrics", "127.0.0.1:0", "--group", "archived")
    with running(topics, filled, table, *watched) as archive:
        assert archive.stderr is not None
        figures = next(it for it in archive.stderr if it.startswith("figures at ")).split()[-1]
        await_batch(archive)
        with urlopen(figures, timeout=10) as answer:
            said = answer.read().decode()
        assert re.search(rf'odradek_pipeline_lag{{.*topic="{filled}".*}} 0', said), said
        assert rows_in(table) == records_of(topics.bootstrap, filled, range(PARTITIONS))
        archive.terminate()
        assert archive.wait(60) == 0
    partitions = [TopicPartition(filled, number) for number in range(PARTITIONS)]
    member = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": "archived"})
    assert sum(it.offset for it in member.committed(partitions, timeout=20)) == COUNT
    member.close()


def await_batch(archive: "subprocess.Popen[str]") -> None:
    """Until it says that it has committed one."""
    assert archive.stderr is not None
    assert any(line.startswith("batch ") for line in archive.stderr), archive.wait()


def await_rows(archive: "subprocess.Popen[str]", table: str) -> None:
    """Until there are those of a batch that nothing was done for yet."""
    enough = count_of(table) + 2 * BATCH
    while count_of(table) < enough:
        assert archive.poll() is None
        time.sleep(0.05)


def count_of(table: str) -> int:
    """How many records the table says that it has."""
    (topic,) = OpenTable(table, {}, ROWS).snapshot.positions.topics.values()
    return sum(topic.offsets.values())


def kill_workers(archive: "subprocess.Popen[str]") -> set[int]:
    """Those that wait for a task, and those that have one; says which."""
    found = set(workers_of(archive.pid))
    for worker in found:
        os.kill(worker, signal.SIGKILL)
    return found


def kill_those_that_work(archive: "subprocess.Popen[str]", before: set[int]) -> None:
    """A worker that is new has been started for a task."""
    while not (found := set(workers_of(archive.pid)) - before):
        assert archive.poll() is None
        time.sleep(0.01)
    for worker in found:
        os.kill(worker, signal.SIGKILL)


def workers_of(driver: int) -> list[int]:
    """The Python workers: forked by a daemon that the JVM started."""
    parents: dict[int, tuple[int, bytes]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = (int(fields[1]), (folder / "cmdline").read_bytes())
            except OSError:
                continue

    def is_below(number: int) -> bool:
        while number in parents and number != driver:
            number = parents[number][0]
        return number == driver

    daemons = {it for it, (_, line) in parents.items() if b"pyspark.daemon" in line}
    return [it for it, (up, _) in parents.items() if up in daemons and is_below(it)]
