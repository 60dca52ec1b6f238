"""Tables that are split by the day or the hour of a time that a record claims."""

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.tables import commits
from odradek.pipelines.tables.files import Span
from odradek.pipelines.tables.partitioning import PartitionField, check, parse
from odradek.pipelines.tables.rewriting import merge_small
from odradek.pipelines.tables.writing import write_rows
from tests.pipelines.tables.lake import CLUSTER, FORMATS, SCHEMA, TOPIC_ID, Lake, new_range, rows

SECOND = 1_000_000
BEFORE_1970 = (-1_000, -SECOND, 0, 999_000, -86_400 * SECOND)
"""The first is that of a record without a time: -1 ms."""
DAYS_BEFORE_1970 = {dt.date(1969, 12, 31), dt.date(1970, 1, 1)}
WITHIN = (-62_135_596_800 * SECOND, 253_402_300_799_999_000, 1_700_000_000 * SECOND)
BEYOND = (
    WITHIN[0] - 1_000,
    WITHIN[1] + 1_000,
    1_700_000_000_000 * SECOND,  # the year 55,840: microseconds that were taken for milliseconds
    (1 << 63) // 1_000 * 1_000 - 1_000,
    -(1 << 63) // 1_000 * 1_000 + 1_000,
)


def lake_of(form: str, folder: Path, field: str, times: Sequence[int]) -> Lake:
    """A table that is split so, with a record of each of these times in a batch of its own."""
    lake = Lake(f"{form}:{folder / 't'}")
    snapshot = lake.create((parse(field),))
    for offset, records in enumerate([rows(it, it + 1) for it in range(len(times))]):
        of = new_range(offset, offset + 1)
        files = write_rows(
            lake.layout(snapshot),
            Span(TOPIC_ID, 0, offset, offset + 1),
            [with_times(records, times[offset : offset + 1])],
        )
        snapshot = commits.append(lake.table, snapshot, commits.Batch(CLUSTER, (of,), tuple(files)))
    return lake


def with_times(records: pa.RecordBatch, times: Sequence[int]) -> pa.RecordBatch:
    """The same records of other times."""
    at = SCHEMA.get_field_index("timestamp")
    return records.set_column(at, SCHEMA.field(at), pa.array(times, SCHEMA.field(at).type))


def by_its_library(lake: Lake, column: str) -> dict[int, Any]:
    """What another reader finds in the column of directories, by the time."""
    place = lake.location.partition(":")[2]
    if lake.location.startswith("delta:"):
        read = DeltaTable(place).to_pyarrow_table()
    elif lake.location.startswith("iceberg:"):
        read = lake.table._table.scan().to_arrow()  # type: ignore[attr-defined]
        read = read.append_column(column, pa.nulls(read.num_rows))
    else:
        read = ds.dataset(place, partitioning="hive").to_table()
    times = read.column("timestamp").cast(pa.int64()).to_pylist()
    return dict(zip(times, read.column(column).to_pylist(), strict=True))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("transform", ["day", "hour"])
def test_times_beyond_the_calendar_have_no_day(form: str, transform: str, tmp_path: Path) -> None:
    """Their directory is that of null: a date that cannot be read would cost the whole table."""
    lake = lake_of(form, tmp_path, f"{transform}(timestamp)", (*WITHIN, *BEYOND))
    found = by_its_library(lake, f"timestamp_{transform}")
    assert found.keys() == {*WITHIN, *BEYOND}
    assert {found[it] for it in BEYOND} == {None}
    if form != "iceberg":
        assert None not in {found[it] for it in WITHIN}
    snapshot = lake.table.load()
    merge_small(lake.table, lake.layout(snapshot), snapshot)
    assert by_its_library(lake, f"timestamp_{transform}") == found


@pytest.mark.parametrize("form", FORMATS)
def test_the_last_second_before_1970_is_of_its_day(form: str, tmp_path: Path) -> None:
    """And not of the next one, which Iceberg refuses: a file would have two days."""
    lake = Lake(f"{form}:{tmp_path / 't'}")
    snapshot = lake.create((PartitionField("day", "timestamp"),))
    count = len(BEFORE_1970)
    files = write_rows(
        lake.layout(snapshot),
        Span(TOPIC_ID, 0, 0, count),
        [with_times(rows(0, count), BEFORE_1970)],
    )
    batch = commits.Batch(CLUSTER, (new_range(0, count),), tuple(files))
    commits.append(lake.table, snapshot, batch)
    found = by_its_library(lake, "timestamp_day")
    assert found.keys() == set(BEFORE_1970)
    if form == "delta":
        first = dt.date(1970, 1, 1)
        assert found == {it: first + dt.timedelta(days=it // (86_400 * SECOND)) for it in found}
    assert len(files) == len(DAYS_BEFORE_1970)


@pytest.mark.parametrize(
    ("fields", "schema"),
    [
        (("day(timestamp)", "day(timestamp)"), SCHEMA),
        (("topic", "topic"), SCHEMA),
        (("day(timestamp)",), SCHEMA.append(pa.field("Timestamp_Day", pa.string()))),
    ],
)
def test_two_columns_of_one_name_are_refused(fields: Sequence[str], schema: pa.Schema) -> None:
    """Before there is a table: none of its records would have a row."""
    with pytest.raises(InvalidOption, match=r"cannot be partitioned by .* twice"):
        check([parse(it) for it in fields], schema)
