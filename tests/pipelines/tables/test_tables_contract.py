"""What every table promises, whatever its format and wherever it lies."""

from pathlib import Path

import pyarrow as pa
import pytest

from odradek.pipelines.positions import NO_EPOCH
from odradek.pipelines.tables import commits
from odradek.pipelines.tables.files import directory_of
from odradek.pipelines.tables.partitioning import parse
from odradek.pipelines.tables.rewriting import merge_small
from odradek.pipelines.tables.sweep import orphans, sweep
from odradek.pipelines.tables.table import (
    Change,
    CommitConflict,
    NoSuchTable,
    TableExists,
    TableRefused,
)
from tests.pipelines.tables.lake import (
    CLUSTER,
    SCHEMA,
    TOPIC,
    TOPIC_ID,
    Lake,
    expected,
    new_range,
)


def test_a_table_is_not_there_before_it_is_created(lake: Lake) -> None:
    """Asking for a table makes none."""
    with pytest.raises(NoSuchTable, match="no table"):
        lake.table.load()
    with pytest.raises(NoSuchTable):
        lake.table.load()


def test_a_table_is_created_once(lake: Lake) -> None:
    """Of two processes that create it one finds it there."""
    other = Lake(lake.location, lake.options)
    lake.create()
    with pytest.raises(TableExists):
        other.create()


def test_a_table_says_its_schema_and_partitioning(lake: Lake) -> None:
    """Another process writes files as the first one did."""
    fields = (parse("day(timestamp)"), parse("topic"))
    lake.create(fields)
    snapshot = lake.again().table.load()
    assert snapshot.schema.equals(SCHEMA)
    assert snapshot.partitioning == fields


def test_rows_and_ends_come_together(lake: Lake) -> None:
    """After a commit any process finds the rows, and where they end."""
    snapshot = lake.append(lake.create(), new_range(0, 50), new_range(0, 20, partition=1))
    snapshot = lake.append(snapshot, new_range(50, 80))
    other = lake.again()
    topic = other.table.load().positions.topics[TOPIC]
    assert topic.topic_id == TOPIC_ID
    assert topic.offsets == {0: 80, 1: 20}
    assert topic.leader_epochs == {0: 7, 1: 7}
    assert other.rows() == expected(80) + expected(20, partition=1)


def test_partition_directories_keep_every_column(lake: Lake) -> None:
    """A column that only the directory names comes back with its type."""
    snapshot = lake.create((parse("day(timestamp)"), parse("topic"), parse("partition")))
    lake.append(snapshot, new_range(990, 1010, partition=3))
    assert lake.rows() == expected(1010, 990, partition=3)
    files = lake.table.files(lake.table.load())
    assert [dict(file.values)["timestamp_day"] for file in files] == ["1970-01-01", "1970-01-02"]


def test_a_batch_begins_where_the_table_ends(lake: Lake) -> None:
    """One that leaves out offsets is refused, with both numbers in the sentence."""
    snapshot = lake.append(lake.create(), new_range(0, 50))
    with pytest.raises(TableRefused, match=r"ends at offset 50 .* begins at 60"):
        lake.append(snapshot, new_range(60, 70))
    assert lake.rows() == expected(50)


def test_a_batch_is_committed_once(lake: Lake) -> None:
    """The same offsets again add nothing, however often they are brought."""
    snapshot = lake.append(lake.create(), new_range(0, 50))
    with pytest.raises(commits.AlreadyCommitted, match="another process"):
        lake.append(snapshot, new_range(0, 50))
    assert lake.rows() == expected(50)


def test_a_batch_takes_effect_as_a_whole(lake: Lake) -> None:
    """If one partition's range does not fit, the other's rows do not come either."""
    snapshot = lake.append(lake.create(), new_range(0, 50))
    with pytest.raises(TableRefused):
        lake.append(snapshot, new_range(50, 60), new_range(0, 0), new_range(55, 60))
    assert lake.rows() == expected(50)
    assert lake.table.load().positions.topics[TOPIC].offsets == {0: 50}


def test_a_batch_without_rows_moves_the_end(lake: Lake) -> None:
    """Compacted or dropped records leave no rows, and are not read again."""
    snapshot = lake.create()
    batch = commits.Batch(CLUSTER, (new_range(0, 50),), ())
    snapshot = commits.append(lake.table, snapshot, batch)
    lake.append(snapshot, new_range(50, 60))
    assert lake.again().rows() == expected(60, 50)


def test_another_cluster_is_refused(lake: Lake) -> None:
    """Offsets of two clusters in one table would mean nothing."""
    snapshot = lake.append(lake.create(), new_range(0, 50))
    with pytest.raises(TableRefused, match="cluster another"):
        commits.append(lake.table, snapshot, commits.Batch("another", (new_range(50, 51),), ()))


def test_a_topic_that_was_made_again_is_refused(lake: Lake) -> None:
    """Its offsets begin anew; only its id tells."""
    snapshot = lake.append(lake.create(), new_range(0, 50))
    with pytest.raises(TableRefused, match="deleted and created again"):
        lake.append(snapshot, new_range(50, 60, topic_id="BBBBBBBBBBBBBBBBBBBBBB"))


def test_a_commit_on_an_old_version_is_a_conflict(lake: Lake) -> None:
    """Nothing is put behind a commit that its author has not seen."""
    base = lake.create()
    other = lake.again()
    other.append(other.table.load(), new_range(0, 50))
    with pytest.raises(CommitConflict):
        lake.table.commit(base, Change("append", positions=base.positions))
    assert lake.rows() == expected(50)


def test_the_second_archiver_is_refused(lake: Lake) -> None:
    """Both planned the same offsets; the rows of the one that was first are there once."""
    base = lake.create()
    other = lake.again()
    batch = lake.batch(base, new_range(0, 50))
    other.append(other.table.load(), new_range(0, 50))
    with pytest.raises(commits.AlreadyCommitted):
        commits.append(lake.table, base, batch)
    assert lake.rows() == expected(50)


def test_the_loser_of_a_race_repeats(lake: Lake) -> None:
    """Archivers of different partitions share a table; a conflict costs one more attempt."""
    base = lake.create()
    other = lake.again()
    other.append(other.table.load(), new_range(0, 20, partition=1))
    lake.append(base, new_range(0, 50))
    assert lake.rows() == expected(50) + expected(20, partition=1)


def test_a_replacement_touches_its_offsets_only(lake: Lake) -> None:
    """Rows before and behind the range stay, in files that are cut where it begins and ends."""
    snapshot = lake.create((parse("day(timestamp)"),))
    for start in range(0, 2_000, 500):
        snapshot = lake.append(
            snapshot, new_range(start, start + 500), new_range(start, start + 500, partition=1)
        )
    lake.replace(commits.Batch(CLUSTER, (new_range(700, 1200),), ()))
    gone = expected(700) + expected(2_000, 1200) + expected(2_000, partition=1)
    assert lake.again().rows() == gone
    assert lake.table.load().positions.topics[TOPIC].offsets == {0: 2_000, 1: 2_000}
    lake.replace(lake.batch(lake.table.load(), new_range(700, 1200)))
    assert lake.again().rows() == expected(2_000) + expected(2_000, partition=1)


def test_a_replacement_beyond_the_end_is_refused(lake: Lake) -> None:
    """Offsets that the archive has not reached are its own."""
    lake.append(lake.create(), new_range(0, 50))
    with pytest.raises(TableRefused, match="before they are archived"):
        lake.replace(commits.Batch(CLUSTER, (new_range(40, 60),), ()))


def test_small_files_are_merged(lake: Lake) -> None:
    """Fewer files, the same rows, the same ends."""
    snapshot = lake.create((parse("day(timestamp)"),))
    for start in range(0, 100, 10):
        snapshot = lake.append(
            snapshot, new_range(start, start + 10), new_range(start, start + 10, partition=1)
        )
    assert merge_small(lake.table, lake.layout(snapshot), snapshot) == (20, 2)
    other = lake.again()
    assert len(other.table.files(other.table.load())) == 2
    assert other.rows() == expected(100) + expected(100, partition=1)
    assert other.table.load().positions == snapshot.positions


def test_a_merge_gives_way_to_a_replacement(lake: Lake) -> None:
    """If one of its files was exchanged meanwhile, merging would bring the old rows back."""
    snapshot = lake.create()
    for start in range(0, 50, 10):
        snapshot = lake.append(snapshot, new_range(start, start + 10))
    files = lake.table.files(snapshot)
    lake.again().replace(commits.Batch(CLUSTER, (new_range(15, 17),), ()))
    merged = lake.written(snapshot, new_range(0, 50))
    assert commits.merge(lake.table, files, merged, {}) is None
    assert lake.rows() == expected(15) + expected(50, 17)


def test_a_new_column_and_a_wider_type(lake: Lake) -> None:
    """The table's schema grows in the commit that brings the first such rows, as the format can."""
    snapshot = lake.append(lake.create(), new_range(0, 10))
    wide = SCHEMA.append(pa.field("more", pa.string()))
    if lake.table.can_widen:
        wide = wide.set(3, pa.field("partition", pa.int64()))
    batch = commits.Batch(CLUSTER, (new_range(10, 11),), (), wide)
    snapshot = commits.append(lake.table, snapshot, batch)
    assert snapshot.schema.equals(wide)
    assert lake.again().table.load().schema.equals(wide)
    assert lake.rows() == expected(10)


def test_a_type_that_does_not_fit_is_refused(lake: Lake) -> None:
    """No schema holds text and numbers in one column."""
    snapshot = lake.create()
    for kind in [pa.string()] if lake.table.can_widen else [pa.string(), pa.int64()]:
        wrong = SCHEMA.set(3, pa.field("partition", kind))
        batch = commits.Batch(CLUSTER, (new_range(0, 1),), (), wrong)
        with pytest.raises(TableRefused, match="column partition"):
            commits.append(lake.table, snapshot, batch)


def test_orphans_are_found_and_swept(lake: Lake) -> None:
    """What a task left behind goes after its age; what a version names stays."""
    snapshot = lake.append(lake.create(), new_range(0, 10))
    lost = {file.path for file in lake.written(snapshot, new_range(10, 20))}
    assert not orphans(lake.table)
    assert set(orphans(lake.table, age_ms=-10_000)) == lost
    assert sweep(lake.table, age_ms=-10_000) == 1
    assert lake.rows() == expected(10)


def test_expired_versions_free_their_files(lake: Lake) -> None:
    """Files that a merge replaced lie until they are expired, for readers of older versions."""
    snapshot = lake.create()
    for start in range(0, 50, 10):
        snapshot = lake.append(snapshot, new_range(start, start + 10))
    merge_small(lake.table, lake.layout(snapshot), snapshot)
    assert not orphans(lake.table, age_ms=-10_000)
    lake.table.expire(1 << 62)
    sweep(lake.table, age_ms=-10_000)
    directory = directory_of(snapshot.properties)
    left = [it for it in lake.table.store.list(directory) if it.key.endswith(".parquet")]
    assert len(left) == 1
    assert lake.again().rows() == expected(50)


def test_a_table_with_many_versions_is_loaded_from_a_checkpoint(lake: Lake) -> None:
    """Ends, files and schema are the same with and without it."""
    snapshot = lake.create((parse("partition"),))
    for start in range(60):
        batch = commits.Batch(CLUSTER, (new_range(start, start + 1),), ())
        snapshot = commits.append(lake.table, snapshot, batch)
    snapshot = lake.append(snapshot, new_range(60, 70))
    other = lake.again()
    assert other.table.load().positions == snapshot.positions
    assert other.rows() == expected(70, 60)


def test_an_epoch_that_is_not_known_is_not_zero(lake: Lake) -> None:
    """A broker without leader epochs says -1, and that is what comes back."""
    span = new_range(0, 5)
    unknown = type(span)(span.topic, span.topic_id, 0, 0, 5)
    commits.append(lake.table, lake.create(), commits.Batch(CLUSTER, (unknown,), ()))
    assert lake.again().table.load().positions.topics[TOPIC].leader_epochs == {0: NO_EPOCH}


@pytest.mark.parametrize("form", ["delta", "parquet"])
def test_a_log_that_cannot_be_read(form: str, tmp_path: Path) -> None:
    """One sentence names the file; once it is restored, the same process reads on."""
    lake = Lake(f"{form}:{tmp_path}")
    lake.append(lake.create(), new_range(0, 10))
    other = lake.again()
    lake.append(lake.table.load(), new_range(10, 20))
    last = max(tmp_path.glob("_*/*2.json"))
    text = last.read_bytes()
    last.write_bytes(text[:40])
    for reader in other, Lake(lake.location):
        with pytest.raises(TableRefused, match=f"{last.name} cannot be read"):
            reader.table.load()
    last.write_bytes(text)
    assert other.rows() == expected(20)
