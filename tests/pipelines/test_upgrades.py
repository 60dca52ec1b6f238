"""What an earlier release left goes on; what a newer one left is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.errors import PipelineError, sentence_of
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.checkpoint import Checkpoint
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.opening import LAYOUT, ROWS, OpenTable
from odradek.pipelines.positions import Positions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import Mode
from tests.pipelines.moving.archives import reading, records_of, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.streams import run_stream
from tests.pipelines.tables.lake import FORMATS, SCHEMA, Lake, expected, new_range
from tests.pipelines.topics import Topics
from tests.pipelines.upgrades import (
    RECORDS,
    RELEASES,
    ROWS_KEPT,
    archive_of_release,
    moved,
    stream_of,
)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("release", RELEASES)
def test_a_table_goes_on(release: str, name: str, tmp_path: Path) -> None:
    """Its rows are read, and the next batch begins where it ends."""
    location = moved(release, name, tmp_path / "t")
    snapshot = OpenTable(location, {}, ROWS).snapshot
    assert snapshot.schema.names == SCHEMA.names
    lake = Lake(location)
    lake.append(lake.table.load(), new_range(ROWS_KEPT, ROWS_KEPT + 5))
    assert lake.again().rows() == expected(ROWS_KEPT + 5)


@pytest.mark.parametrize("release", RELEASES)
def test_a_stream_goes_on(spark: Any, topics: Topics, release: str, tmp_path: Path) -> None:
    """Spark's checkpoint holds positions of ours: exactly what came since is read."""
    topic = topics.make()
    topics.fill_numbers(topic, RECORDS + 7)
    now = SourceOffsets(reading(topics.bootstrap, topic)).latest()
    stream_of(release, tmp_path / "c", now)
    assert read_on(spark, topics, topic, tmp_path / "c") == list(range(RECORDS, RECORDS + 7))


@pytest.mark.parametrize("release", RELEASES)
def test_an_archive_goes_on(topics: Topics, release: str, tmp_path: Path) -> None:
    """Its table and its checkpoint are taken up; only what came since is read and written."""
    topic = topics.make()
    topics.fill_numbers(topic, RECORDS + 7)
    source = reading(topics.bootstrap, topic)
    now = SourceOffsets(source).latest()
    table, checkpoint = archive_of_release(release, tmp_path / "a", now)
    checkpoint.check(source)
    done = archive(LocalSpark(), Archive(source, table), Once(), on_batch=checkpoint.keep)
    assert (done.read, done.written) == (7, 7)
    assert rows_in(table) == records_of(topics.bootstrap, topic)
    checkpoint.check(source)


def test_an_archive_of_a_newer_release(topics: Topics, tmp_path: Path) -> None:
    """Its table is refused by one sentence, and stays as it is."""
    topic = topics.make()
    topics.fill_numbers(topic, RECORDS + 7)
    source = reading(topics.bootstrap, topic)
    now = SourceOffsets(source).latest()
    table, _ = archive_of_release(RELEASES[-1], tmp_path / "a", now)
    (first, *_) = sorted((tmp_path / "a").rglob("_delta_log/*.json"))
    text = first.read_text()
    newer = text.replace(f'{LAYOUT}": "1"', f'{LAYOUT}": "4"')
    assert newer != text
    first.write_text(newer)
    before = sorted((tmp_path / "a").rglob("*"))
    with pytest.raises(PipelineError, match=r"layout version 4, .* a newer release made it"):
        archive(LocalSpark(), Archive(source, table), Once())
    assert sorted((tmp_path / "a").rglob("*")) == before


def test_a_stream_of_a_newer_release(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """One sentence, and nothing is read."""
    topic = topics.make()
    topics.fill_numbers(topic, RECORDS + 7)
    now = SourceOffsets(reading(topics.bootstrap, topic)).latest()
    stream_of(RELEASES[-1], tmp_path / "c", now)
    for file in (tmp_path / "c" / "offsets").iterdir():
        lines = file.read_text().splitlines()
        lines[-1] = json.dumps(json.loads(lines[-1]) | {"version": 2})
        file.write_text("\n".join(lines))
    with pytest.raises(Exception, match="version 2") as error:
        read_on(spark, topics, topic, tmp_path / "c")
    assert "a newer release" in str(sentence_of(error.value))


def read_on(spark: Any, topics: Topics, topic: str, checkpoint: Path) -> list[int]:
    """The offsets that a stream reads from its checkpoint on."""
    found: list[int] = []

    def note(rows: Any, _number: int) -> None:
        found.extend(row.offset for row in rows.collect())

    rows = spark.readStream.format("odradek").options(**topics.options(topic)).load()
    writer = rows.select("offset").writeStream.foreachBatch(note)
    writer = writer.option("checkpointLocation", str(checkpoint))
    run_stream(writer.trigger(availableNow=True).start)
    return sorted(found)


@pytest.mark.parametrize("name", FORMATS)
def test_a_table_of_a_newer_release(name: str, tmp_path: Path) -> None:
    """Its ends may be written where this release does not look: it would read all again."""
    location = f"{name}:{tmp_path}/t"
    begins = Positions("c", {})
    lake = Lake(location)
    lake.table.create(SCHEMA, (), begins, properties={"kind": ROWS, LAYOUT: "4"})
    with pytest.raises(PipelineError, match=r"layout version 4, .* a newer release made it"):
        OpenTable(location, {}, ROWS)


def test_a_parquet_log_of_a_newer_release(tmp_path: Path) -> None:
    """Each of its versions says which format it has."""
    location = moved(RELEASES[-1], "parquet", tmp_path / "t")
    last = max((tmp_path / "t" / "_odradek").iterdir())
    last.write_text(re.sub(r'"format_version": \d+', '"format_version": 99', last.read_text()))
    with pytest.raises(PipelineError, match=r"format version 99, .* newer release"):
        OpenTable(location, {}, ROWS)


def test_an_archives_checkpoint_of_a_newer_release(topics: Topics, tmp_path: Path) -> None:
    """Although it decides nothing, it is not overwritten."""
    (tmp_path / "odradek-archive.json").write_text('{"version": 2}')
    source = reading(topics.bootstrap, topics.make(), Mode.STREAM)
    with pytest.raises(PipelineError, match="a newer release wrote it"):
        Checkpoint(tmp_path, "delta:t").check(source)
