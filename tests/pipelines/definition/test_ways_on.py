"""What stops a run, and the way on from there; the table says what it went on without."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition

from odradek.pipelines.definition.definition import Definition, parse, within
from odradek.pipelines.definition.follow import follow_new_topics
from odradek.pipelines.definition.reset import reset
from odradek.pipelines.definition.status import status
from odradek.pipelines.errors import DataLoss
from odradek.pipelines.moving.archiving.archive import archive
from odradek.pipelines.moving.archiving.backfill import backfill
from odradek.pipelines.moving.archiving.checks import HOLDS, Check, ReadRows, WriteRows
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.compact import Upkeep, compact
from odradek.pipelines.moving.comparing.verify import Verify, verify
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.replaying.replay import Replay, replay
from odradek.pipelines.moving.values import RAW, RECORD_SCHEMA, Converted
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.source.options import Mode
from odradek.pipelines.tables.gaps import GAPS, GAPS_MAX, Gap, gaps_of, said, with_gaps, without
from odradek.pipelines.tables.rewriting import DamagedTable
from odradek.pipelines.tables.table import TableRefused
from tests.pipelines.moving.archives import batches_in, reading, records_of, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.tables.lake import FORMATS
from tests.pipelines.topics import Topics

SPARK = LocalSpark()


def pipeline(bootstrap: str, topic: str, folder: Path, form: str, **source: Any) -> Definition:
    """JSON into a table beside, with dead letters."""
    content = {
        "name": "p",
        "source": {"bootstrap-server": bootstrap, "topics": [topic], **source},
        "dead-letters": {"table": f"{form}:dead/"},
        "table": {"location": f"{form}:t/"},
    }
    return parse(content, folder)


def delete_before(topics: Topics, topic: str, offset: int) -> None:
    """As retention does."""
    for future in topics.admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result()


@pytest.mark.parametrize("form", FORMATS)
def test_retention_that_overtook_a_pipeline(topics: Topics, tmp_path: Path, form: str) -> None:
    """It stops, and goes on when the file says so; the gap stands in the table and in `status`."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    careful = pipeline(topics.bootstrap, topic, tmp_path, form)
    archive(SPARK, careful.archive, Once())
    topics.fill_numbers(topic, 20)
    delete_before(topics, topic, 30)
    with pytest.raises(DataLoss, match="option failOnDataLoss=false"):
        archive(SPARK, careful.archive, Once())
    careless = pipeline(topics.bootstrap, topic, tmp_path, form, **{"on-data-loss": "skip"})
    done = archive(SPARK, careless.archive, Once())
    assert (done.read, done.skipped) == (10, 10)
    found = status(careful)
    assert found.standstills == ()
    assert [str(it) for it in found.gaps] == [f"{topic}-0 offsets 20 to 29: retention deleted them"]
    assert [row[1] for row in rows_in(careful.archive.table)] == [*range(20), *range(30, 40)]
    reset(careless)
    assert not status(careless).gaps


def test_a_backfill_keeps_what_retention_took(topics: Topics, tmp_path: Path) -> None:
    """The table is all that is left of these records; a gap that was there stays, too."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    careful = pipeline(topics.bootstrap, topic, tmp_path, "delta")
    archive(SPARK, careful.archive, Once())
    topics.fill_numbers(topic, 20)
    delete_before(topics, topic, 25)
    skipping = {"on-data-loss": "skip"}
    careless = pipeline(topics.bootstrap, topic, tmp_path, "delta", **skipping)
    archive(SPARK, careless.archive, Once())
    delete_before(topics, topic, 30)
    before, gaps = rows_in(careful.archive.table), status(careful).gaps
    assert [(it.start, it.end) for it in gaps] == [(20, 25)]
    options = {"startingOffsets": f'{{"{topic}": {{"0": 10}}}}', "failOnDataLoss": "false"}
    source = reading(topics.bootstrap, topic, Mode.BATCH, **options)
    assert backfill(SPARK, replace(careless.archive, source=source)).written == 10
    assert rows_in(careful.archive.table) == before
    assert status(careful).gaps == gaps


def test_gaps_of_rows_that_are_checked(topics: Topics, tmp_path: Path) -> None:
    """Rows pass through Spark between two stages then; what was not read goes with them."""
    topic = topics.make()
    topics.fill(topic, [{"value": b'{"n": %d}' % it} for it in range(40)])
    delete_before(topics, topic, 30)
    values = {"format": "json", "columns": {"n": "long"}}
    source = {"bootstrap-server": topics.bootstrap, "topics": [topic], "on-data-loss": "skip"}
    table = {"location": "delta:t"}
    job = parse({"name": "p", "source": source, "values": values, "table": table}, tmp_path).archive
    rows = OpenTable(job.table, {}, ROWS)
    rows.create(job.values.schema, (), Positions("", {}), job.values.prefix)
    work = job.work(rows.layout(), None)
    pieces = (OffsetRange(topic, "", 0, 0, 35), OffsetRange(topic, "", 0, 35, 40))
    first = ReadRows(work, pieces)(iter([pa.RecordBatch.from_pydict({"id": [0, 1]})]))
    beside = (it.append_column(f"{HOLDS}0", pa.repeat(True, it.num_rows)) for it in first)  # noqa: FBT003
    answers = WriteRows(work, pieces, (Check("c", "true"),))(beside)
    gone, there = (pickle.loads(it.column(0)[0].as_py())[1] for it in answers)
    assert (gone.account.written, gone.account.skipped) == (5, 30)
    assert [(it.start, it.end) for it in gone.gaps] == [(0, 30)]
    assert (there.account.written, there.gaps) == (5, ())


@pytest.mark.parametrize("form", FORMATS)
def test_a_topic_that_was_made_again(topics: Topics, tmp_path: Path, form: str) -> None:
    """Rows of both stay, apart from each other, also after small files were merged."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    definition = pipeline(topics.bootstrap, topic, tmp_path, form)
    archive(SPARK, definition.archive, Once())
    assert follow_new_topics(definition) == ()
    topics.delete(topic)
    topics.make()
    for start in range(100, 120, 4):
        topics.fill_numbers(topic, 4, first=start)
        if start == 100:
            with pytest.raises(DataLoss, match="deleted and created again"):
                archive(SPARK, definition.archive, Once())
            assert follow_new_topics(definition) == (topic,)
            assert follow_new_topics(definition) == ()
        archive(SPARK, definition.archive, Once())
    table = definition.archive.table
    both = [*range(20), *range(100, 120)]
    assert values_in(table) == both
    assert compact(SPARK, Upkeep(table)).merged == 5
    assert values_in(table) == both
    found = status(definition)
    assert (found.rows, found.lag, found.standstills) == (40, 0, ())
    source = reading(topics.bootstrap, topic, Mode.BATCH)
    assert verify(SPARK, Verify(source, table)).findings == ()
    assert verify(SPARK, Verify(source, table)).rows == 20
    _check_replays(topics, definition, table)


def _check_replays(topics: Topics, definition: Definition, table: str) -> None:
    opened = OpenTable(table, {}, ROWS)
    (now,) = {it.topic_id for it in opened.snapshot.positions.topics.values()}
    files = opened.table.files(opened.snapshot)
    (before,) = {it.span.topic_id for it in files if it.span is not None} - {now}
    assert len(files) == 2
    for name, chosen, first in ("new", None, 100), ("old", before, 0):
        target = topics.make(name)
        sink = SinkOptions(definition.archive.source.client, target)
        assert replay(SPARK, Replay(table, sink, topic=chosen)).sent == 20
        sent = [int(row[3] or b"") for row in records_of(topics.bootstrap, target)]
        assert sent == list(range(first, first + 20))


def values_in(table: str) -> Sequence[int]:
    """The numbers in all rows."""
    rows = [row for batch in batches_in(table) for row in batch.to_pylist()]
    return sorted(int(row["value"]) for row in rows)


@pytest.mark.parametrize("form", FORMATS)
def test_a_reset_takes_the_topic_that_is_there(topics: Topics, tmp_path: Path, form: str) -> None:
    """Also where it was made again: the next run begins, and so does every later one."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    definition = pipeline(topics.bootstrap, topic, tmp_path, form)
    archive(SPARK, definition.archive, Once())
    topics.delete(topic)
    topics.make()
    topics.fill_numbers(topic, 20, first=100)
    reset(definition)
    for _ in range(2):
        archive(SPARK, definition.archive, Once())
        assert values_in(definition.archive.table) == list(range(100, 120))


def test_gaps_are_joined_and_forgotten() -> None:
    """Neighbours are one, what is written anew is none; the newest thousand are kept."""
    first, second = (Gap("t", "i", 0, it, it + 10, "why") for it in (10, 20))
    other = Gap("t", "i", 1, 0, 5, "why")
    told = with_gaps({}, [first, other, second])
    assert told is not None
    assert gaps_of(told) == (Gap("t", "i", 0, 10, 30, "why"), other)
    assert with_gaps(told, []) is None
    anew = without(told, [OffsetRange("t", "i", 0, 15, 20)], [])
    assert anew is not None
    assert [(it.start, it.end) for it in gaps_of(anew)] == [(10, 15), (20, 30), (0, 5)]
    many = [Gap("t", "i", 0, it, it + 1, "why") for it in range(0, 2 * GAPS_MAX + 10, 2)]
    kept = with_gaps(said([other]), many)
    assert kept is not None
    assert len(gaps_of(kept)) == GAPS_MAX
    assert gaps_of(kept)[-1] == many[-1]
    assert list(kept) == [GAPS]


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_that_is_damaged(
    topics: Topics, tmp_path: Path, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A run goes on without merging it; what helps is said, and does."""
    topic = topics.make()
    definition = pipeline(topics.bootstrap, topic, tmp_path, form)
    job = replace(definition.archive, merge_after=None)
    for start in range(0, 20, 5):
        topics.fill_numbers(topic, 5, first=start)
        archive(SPARK, job, Once())
    opened = OpenTable(job.table, {}, ROWS)
    (file,) = (it for it in opened.table.files(opened.snapshot) if it.span and not it.span.start)
    (tmp_path / "t" / file.path).write_bytes(b"none")
    with pytest.raises(
        DamagedTable, match="odradek pipeline backfill FILE --from POINT makes offsets 0 to 19"
    ):
        compact(SPARK, Upkeep(job.table))
    caplog.clear()
    topics.fill_numbers(topic, 5, first=20)
    archive(SPARK, replace(job, merge_after=1), Once())
    (said,) = (it.getMessage() for it in caplog.records)
    assert said.startswith("small files are not merged")
    source = reading(topics.bootstrap, topic, Mode.BATCH)
    (finding,) = verify(SPARK, Verify(source, job.table)).findings
    assert (finding.first, finding.last) == (0, 4)
    backfill(SPARK, within(job, f'{{"{topic}": {{"0": 0}}}}', f'{{"{topic}": {{"0": 20}}}}'))
    assert verify(SPARK, Verify(source, job.table)).findings == ()
    assert values_in(job.table) == list(range(25))


class Meanwhile:
    """Raw records; while those of the second batch are written somebody else does something."""

    prefix = ""
    schema = RECORD_SCHEMA
    may_grow = False

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens: Callable[[], object] | None = happens

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """As they are."""
        del table
        if self._happens is not None and batch.column("offset")[0].as_py() >= 5:
            happens, self._happens = self._happens, None
            happens()
        return Converted(batch)


def batch_by_batch(
    topics: Topics, tmp_path: Path, form: str, happens: Callable[[Definition], object]
) -> Definition:
    """A run of 20 numbers, five at a time, of which a batch is under way when this happens."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    definition = pipeline(topics.bootstrap, topic, tmp_path, form, **{"max-records": 5})
    values = Meanwhile(lambda: happens(definition))
    job = replace(definition.archive, values=values, merge_after=None)
    archive(SPARK, job, Once())
    assert values._happens is None
    return definition


@pytest.mark.parametrize("form", FORMATS)
def test_files_are_merged_under_a_run(topics: Topics, tmp_path: Path, form: str) -> None:
    """Whose batch is written and not committed: both take effect."""

    def merge(it: Definition) -> None:
        compact(SPARK, Upkeep(it.archive.table, keep_ms=-1_000))

    definition = batch_by_batch(topics, tmp_path, form, merge)
    assert values_in(definition.archive.table) == list(range(20))


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_is_emptied_under_a_run(topics: Topics, tmp_path: Path, form: str) -> None:
    """Whose batch begins where the table does not end any more: the run ends, the next is whole."""
    emptied: list[Definition] = []

    def empty(it: Definition) -> None:
        emptied.append(it)
        assert reset(it) == 5

    with pytest.raises(TableRefused, match=r"ends at offset 0 of partition .* begins at 5"):
        batch_by_batch(topics, tmp_path, form, empty)
    (definition,) = emptied
    assert values_in(definition.archive.table) == []
    archive(SPARK, replace(definition.archive, values=RAW), Once())
    assert values_in(definition.archive.table) == list(range(20))
