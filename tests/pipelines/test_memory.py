"""What one record or one batch can ask of a Python worker of Spark is bounded."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard

from odradek.client.blocking.client import BlockingClient
from odradek.model.ids import TopicPartition
from odradek.pipelines.errors import PipelineError, sentence_of
from odradek.pipelines.moving.archiving.archive import Archive
from odradek.pipelines.moving.archiving.steps import Steps
from odradek.pipelines.moving.archiving.tasks import WriteRange
from odradek.pipelines.moving.jobs import run_tasks
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.records.batch import read_header, seal
from odradek.records.build import build_batch
from odradek.records.compression import Codec
from odradek.records.record import Record
from tests.pipelines.moving.archives import archive_of
from tests.pipelines.topics import Topics, now_ms

HUGE = 100_000_000
HEADERS = 65_000
GROWN_MB_MAX = 750
PLAIN, COMPRESSED, MANY, ENDLESS = range(4)


@dataclass(frozen=True)
class Measured:
    """A task of an archive that says what it used."""

    work: WriteRange

    def __call__(self, of: OffsetRange) -> tuple[str, int]:
        """How many rows it wrote, or the sentence; and by how many MB the process grew."""
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of earlier tasks
        before = in_status("VmRSS")
        try:
            said = str(self.work(of).account.written)
        except PipelineError as error:
            said = str(error)
        return said, (in_status("VmHWM") - before) >> 10


def in_status(name: str) -> int:
    """Of this process, in KB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = (it for it in lines if it.startswith(name))
    return int(line.split()[1])


@pytest.fixture(scope="module")
def cruel(broker: Any) -> tuple[Topics, str]:
    """Each partition holds one record that nobody would send, or one batch."""
    topics = Topics(broker.bootstrap, "cruel")
    topic = topics.make(partitions=4, max_message_bytes=str(100 << 20))
    value = os.urandom(HUGE)
    headers = tuple((b"h%d" % it, b"%d" % it) for it in range(HEADERS))
    batches = {
        PLAIN: build_batch([Record(0, now_ms(), None, value)]),
        COMPRESSED: build_batch([Record(0, now_ms(), None, value)], codec=Codec.LZ4),
        MANY: build_batch([Record(0, now_ms(), None, b"v", headers)]),
        ENDLESS: endless(),
    }
    with BlockingClient(broker.bootstrap) as client:
        producer = client.producer()
        for number, batch in batches.items():
            producer.send(TopicPartition(topic, number), batch)
        producer.flush()
    return topics, topic


def endless() -> bytearray:
    """A batch that says of itself that it has one record, in 32 KB that become a gigabyte."""
    batch = build_batch([Record(0, now_ms(), b"k", b"v")], codec=Codec.ZSTD)
    batch = batch[:61] + zstandard.ZstdCompressor().compress(bytes(1 << 30))
    header = read_header(batch)
    header.size = len(batch)
    seal(batch, header)
    return batch


def test_what_a_worker_uses(spark: Any, cruel: tuple[Topics, str], tmp_path: Path) -> None:
    """A few times the largest record; for a batch without end a sentence."""
    topics, topic = cruel
    job: Archive = archive_of(topics.bootstrap, topic, f"delta:{tmp_path}/t")
    opened = OpenTable(job.table, {}, ROWS)
    opened.create(job.values.schema, (), SourceOffsets(job.source).starting(), "")
    step = Steps(job.source).next(opened.snapshot.positions)
    done = run_tasks(spark, step.pieces, Measured(job.work(opened.layout(1 << 27), None)))
    said = [it for it, _ in done]
    assert said[:ENDLESS] == ["1", "1", "1"]
    assert f"{topic}-3: the batch at offset 0 is damaged" in said[ENDLESS]
    grown = [it for _, it in done]
    assert all(it < GROWN_MB_MAX for it in grown), grown
    assert grown[MANY] < 100, grown


def test_the_source_hands_them_over(spark: Any, cruel: tuple[Topics, str]) -> None:
    """Also where rows go through Java; the batch without end is one sentence."""
    topics, topic = cruel

    def read(*partitions: int) -> list[tuple[int, ...]]:
        options = topics.options(topic, includeHeaders=True)
        del options["subscribe"]
        assign = json.dumps({topic: partitions})
        rows = spark.read.format("odradek").options(**options, assign=assign).load()
        sizes = rows.selectExpr("partition", "length(value)", "size(headers)")
        return sorted(map(tuple, sizes.collect()))

    assert read(PLAIN, COMPRESSED, MANY) == [
        (PLAIN, HUGE, None),
        (COMPRESSED, HUGE, None),
        (MANY, 1, HEADERS),
    ]
    with pytest.raises(Exception, match="damaged") as error:
        read(ENDLESS)
    assert f"{topic}-3: the batch at offset 0 is damaged" in str(sentence_of(error.value))
