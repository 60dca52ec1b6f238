"""What Python workers of Spark keep from task to task, and what their tasks do not wait for."""

import gc
import os
import pickle
import platform
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest

from odradek.pipelines import workers
from odradek.pipelines.moving.archiving.checks import ReadRows, WriteRows
from odradek.pipelines.moving.jobs import Answers, run_tasks
from odradek.pipelines.sink.writer import TopicStreamWriter, TopicWriter
from odradek.pipelines.source.batch import OdradekReader
from odradek.pipelines.source.data_source import DefaultSource
from odradek.pipelines.source.stream import OdradekStreamReader
from odradek.pipelines.workers import SentToWorkers, freeze_once

ANSWER: Final = 10 << 20
ANSWERS: Final = 3
"""As many at a time: more than glibc keeps by itself."""
PAGES: Final = ANSWERS * ANSWER // resource.getpagesize()

READING: Final = """
import sys
import odradek.pipelines.moving.archiving.tasks
from odradek.pipelines.columns import COLUMNS
from odradek.client.records.aborted import AbortedTransactions
from odradek.pipelines.decoding.runs import Fetched
from odradek.pipelines.decoding.table import TableDecoder
from odradek.pipelines.positions import OffsetRange
from odradek.records.build import build_batch
from odradek.records.record import Record

data = bytes(build_batch([Record(it, it, b"key", None, [(b"a", b"b")]) for it in range(20)]))
decoder = TableDecoder(OffsetRange("orders", "", 0, 0, 20), tuple(COLUMNS))
(run,) = Fetched(data, 0, 20, AbortedTransactions()).runs()
print(sum(batch.num_rows for batch in decoder.decode(run, 0)), "pandas" in sys.modules)
"""

linux = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="it is Linux that waits")


class Part(SentToWorkers):
    """Some part of a task."""

    def __init__(self) -> None:
        self.number = 7


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of one, over TCP."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
        with one, other:
            yield one, other


@linux
def test_a_part_of_a_task_is_acknowledged_when_it_is_unpickled(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    """Also where there are other descriptors than those of connections, which stay as they are."""
    one, other = connection
    converse(one, other)
    assert [acknowledges_at_once(it) for it in connection] == [False, False]
    pair = socket.socketpair()
    inside, outside = os.pipe()
    try:
        assert pickle.loads(pickle.dumps(Part())).number == 7
        assert [acknowledges_at_once(it) for it in connection] == [True, True]
        converse(one, other)
        converse(*pair)
        assert os.write(outside, b"x") == len(os.read(inside, 1))
    finally:
        os.close(inside)
        os.close(outside)
        for it in pair:
            it.close()


def test_all_that_spark_sends_first_in_a_task_is_acknowledged() -> None:
    """Readers, writers, jobs, and the stages of checks."""
    for kind in (OdradekReader, OdradekStreamReader, TopicWriter, TopicStreamWriter):
        assert issubclass(kind, SentToWorkers)
    for stage in (Answers, ReadRows, WriteRows):
        assert issubclass(stage, SentToWorkers)


def test_a_worker_does_not_look_at_modules_again(spark: Any) -> None:
    """From its second task on, what was imported is none of the garbage collector's business."""
    first = {pid for pid, _ in run_tasks(spark, range(2), kept)}
    again = run_tasks(spark, range(8), kept)
    assert {pid for pid, _ in again} & first, "workers are used again"
    assert all(objects > 0 for pid, objects in again if pid in first)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has other ways")
def test_a_worker_keeps_the_memory_of_answers(spark: Any) -> None:
    """It is not taken from the system again, page by page."""
    faults = run_tasks(spark, range(2), faults_of_more_answers)
    assert all(count < PAGES // 2 for count in faults), faults


def test_rows_are_read_without_pandas() -> None:
    """Which takes a worker half a second to import, and 36 MB."""
    said = subprocess.run([sys.executable, "-c", READING], check=True, capture_output=True)
    assert said.stdout.split() == [b"20", b"False"]


@pytest.fixture
def _not_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(workers, "_frozen", False)
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_not_frozen")
def test_what_plans_is_not_looked_through_either() -> None:
    """Spark asks for a schema in a process of its own, and collects garbage there each time."""
    DefaultSource({"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}).schema()
    assert gc.get_freeze_count() > 0


@pytest.mark.usefixtures("_not_frozen")
def test_only_the_first_task_has_the_collector_look_away() -> None:
    """What later ones leave behind is garbage, which is found."""
    freeze_once()
    later: list[Any] = []
    freeze_once()
    assert any(found is later for found in gc.get_objects())


def converse(one: socket.socket, other: socket.socket) -> None:
    """Question and answer, a few times: then each end waits with its acknowledgements."""
    for _ in range(20):
        one.sendall(b"question")
        other.sendall(other.recv(8))
        assert one.recv(8) == b"question"


def acknowledges_at_once(connection: socket.socket) -> bool:
    """Whether it does not wait for something to send."""
    return bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))


def faults_of_more_answers(_: int) -> int:
    """How many pages the worker is given for answers after others, which are gone."""
    before = 0
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        answers = [b"x" * ANSWER for _ in range(ANSWERS)]
        answers.clear()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def kept(_: int) -> tuple[int, int]:
    """The worker, and how many of its objects the collector leaves alone."""
    return os.getpid(), gc.get_freeze_count()
