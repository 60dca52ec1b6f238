"""Orders of which one in a thousand is dirty, and what each reader of the table then finds.

`python -m tests.pipelines.moving.dirty_run --count 1000000 [--form delta] [--spark]` holds every
row against the truth and says how long it took; CI does it by the thousand. Each kind of dirt says
itself what becomes of it, so no code of ours is asked. Spark reads the files that the table's own
library names.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable

from tests.pipelines.duck import rows_of
from tests.pipelines.moving.hostile_run import FORMATS, Run

TRUTH: Final = pa.schema(
    [
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
        ("id", pa.int64()),
        ("count", pa.int32()),
        ("amount", pa.float64()),
        ("price", pa.decimal128(12, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("note", pa.string()),
        ("address", pa.struct([("street", pa.string()), ("lat", pa.float64())])),
        ("tags", pa.list_(pa.string())),
        ("new", pa.float64()),
    ]
)
BATCH: Final = 25_000
"""Of each of two partitions."""
START: Final = datetime(2026, 1, 1, tzinfo=UTC)

Row = Mapping[str, Any]
Read = Callable[[Run], pa.Table]

DEAD: Final[tuple[bytes, ...]] = (
    b"", b"null", b"[]", b"1", b"{", b'{"id": 1}{"id": 2}', b"{}\n{}", b"\xef\xbb\xbf{}",
    b"\xff\xfe{",
    b'{"note": "\xff"}', b'{"\xff": 1}', b'{"note": "\xed\xa0\x80"}', b'{"note": "\\ud800"}',
    b'{"id": 1, "id": 2}', b'{"address": {"street": "a", "street": "b"}}', b'{"ID": 1}',
    b'{"": 1}', b'{"a.b": 1}', b'{"a b": 1}', b'{"_offset": 1}', b'{"%s": 1}' % (b"x" * 300),
    b'{"id": 9223372036854775808}', b'{"id": 1.5}', b'{"id": "1"}', b'{"id": true}',
    b'{"id": %s}' % (b"9" * 5_000), b'{"count": 2147483648}', b'{"amount": 1e999}',
    b'{"amount": NaN}', b'{"amount": -Infinity}', b'{"amount": 9007199254740993}',
    b'{"price": 1.005}', b'{"price": 10000000000}', b'{"at": "2026-02-31T00:00:00Z"}',
    b'{"at": 253402300800000}', b'{"at": "2026-01-31T10:00:00.123456789Z"}', b'{"tags": [1]}',
    b'{"tags": "a"}', b'{"address": []}', b'{"address": {"lat": "x"}}', b'{"new": "text"}',
    b'{"deep": %s1%s}' % (b"[" * 40, b"]" * 40), b"[" * 100_000,
    b"\x00\x00\x00\x00\x01abc", b'{"id": 01}', b'{"id": 1} x', b'{"note": "a\nb"}',
)  # fmt: skip
ODD: Final[tuple[tuple[bytes, Row], ...]] = (
    (b"{}", {}),
    (b' \n{"id": 1}\t', {"id": 1}),
    (b'{"id": null, "gone": null}', {}),
    (b'{"id": 1e2}', {"id": 100}),
    (b'{"id": -9223372036854775808}', {"id": -(1 << 63)}),
    (b'{"amount": 1.7976931348623157e308}', {"amount": 1.7976931348623157e308}),
    (b'{"amount": 5e-324}', {"amount": 5e-324}),
    (b'{"price": "9999999999.99"}', {"price": Decimal("9999999999.99")}),
    (b'{"price": 1.50e1}', {"price": Decimal(15)}),
    (b'{"at": 1700000000000}', {"at": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)}),
    (b'{"at": "0001-01-01T00:00:00Z"}', {"at": datetime(1, 1, 1, tzinfo=UTC)}),
    (b'{"note": "\\u0000\\ud83d\\ude00"}', {"note": "\0😀"}),
    (b'{"note": "} {"}', {"note": "} {"}),
    (b'{"note": "%s"}' % (b"x" * 200_000), {"note": "x" * 200_000}),
    (b'{"tags": []}', {"tags": []}),
    (b'{"tags": [null, ""]}', {"tags": [None, ""]}),
    (b'{"address": {}}', {"address": {"street": None, "lat": None}}),
    (b'{"new": 7}', {"new": 7.0}),
    (b'{"new": 7.5}', {"new": 7.5}),
)
FIRST: Final[tuple[tuple[bytes, Row], ...]] = (
    (b'{"new": 1}', {"new": 1.0}),
    (b'{"new": 0.5}', {"new": 0.5}),
)
"""One batch has a new column of both, so it is a `double` for good."""
KINDS: Final[tuple[tuple[bytes | None, Row | None], ...]] = (
    *ODD,
    (None, None),
    *((it, None) for it in DEAD),
)


def order(chance: Random) -> tuple[bytes, Row]:
    """What the topic is meant for."""
    cents, second = chance.randrange(10**9), timedelta(milliseconds=chance.randrange(10**10))
    row: dict[str, Any] = {
        "id": chance.getrandbits(62),
        "count": chance.randrange(1 << 31),
        "amount": round(chance.random() * 10_000, 2),
        "at": START + second,
        "note": "x" * chance.randrange(20),
        "address": {"street": f"Long Street {cents % 100}", "lat": round(chance.random() * 90, 5)},
        "tags": ["a", "b"][: chance.randrange(3)],
    }
    text = json.dumps({**row, "at": row["at"].isoformat()}, ensure_ascii=False)
    price = Decimal(cents).scaleb(-2)
    return f'{text[:-1]}, "price": {price}}}'.encode(), {**row, "price": price}


class Orders:
    """Values, and the rows that they must give: every `dirt`-th is dirty, of each kind in turn."""

    def __init__(self, seed: int, dirt: int) -> None:
        self._chance, self._dirt = Random(seed), dirt
        self._number = 0
        self.dead = self.dropped = 0

    def batch(self, partition: int, start: int, size: int) -> tuple[list[bytes | None], pa.Table]:
        """So many records from an offset on."""
        values: list[bytes | None] = []
        rows = []
        for offset in range(start, start + size):
            value, row = self._next()
            values.append(value)
            if row is not None:
                rows.append({**row, "_partition": partition, "_offset": offset})
        return values, pa.Table.from_pylist(rows, TRUTH)

    def _next(self) -> tuple[bytes | None, Row | None]:
        self._number += 1
        if self._number <= len(FIRST):
            return FIRST[self._number - 1]
        if self._number % self._dirt:
            return order(self._chance)
        value, row = KINDS[self._number // self._dirt % len(KINDS)]
        self.dropped += value is None
        self.dead += row is None and value is not None
        return value, row


def dirty_run(form: str, folder: Path, count: int, dirt: int) -> tuple[Run, pa.Table]:
    """A table of so many orders, and the truth."""
    run, orders = Run(form, folder), Orders(7, dirt)
    truth = []
    size = min(BATCH, count // 4)
    for start in range(0, count // 2, size):
        made = [orders.batch(partition, start, size) for partition in range(2)]
        truth += [rows for _, rows in made]
        run.batch(*(values for values, _ in made))
    whole = pa.concat_tables(truth)
    account = run.account
    expected = (orders.dead, orders.dropped)
    assert (account.dead, account.dropped) == expected, (account, expected)
    assert account.written == whole.num_rows, account
    assert account.read == account.written + account.dead + account.dropped, account
    return run, whole


def files_of(run: Run) -> list[str]:
    """As the format's own library names them."""
    form, _, place = run.location.partition(":")
    if form == "delta":
        return list(DeltaTable(place).file_uris())
    if form == "iceberg":
        scan = run.rows.table._table.scan()  # type: ignore[attr-defined]
        return [it.file.file_path.removeprefix("file://") for it in scan.plan_files()]
    return [str(it) for it in Path(place).glob("**/*.parquet") if it.name[0] not in "._"]


def by_its_library(run: Run) -> pa.Table:
    """Delta's, Iceberg's, or Arrow."""
    form, _, place = run.location.partition(":")
    if form == "delta":
        return DeltaTable(place).to_pyarrow_table()
    if form == "iceberg":
        return run.rows.table._table.scan().to_arrow()  # type: ignore[attr-defined]
    schema = pa.unify_schemas([ds.dataset(it).schema for it in files_of(run)])
    return ds.dataset(place, schema=schema).to_table()


def by_duckdb(run: Run) -> pa.Table:
    """By its own readers of each format."""
    columns = ", ".join(f'"{it}"' for it in TRUTH.names)
    return rows_of(run.location).project(columns).to_arrow_table()


def by_spark(spark: Any) -> Read:
    """The same of Spark."""

    def read(run: Run) -> pa.Table:
        frame = spark.read.option("mergeSchema", "true").parquet(*files_of(run))
        return frame.select(*TRUTH.names).toArrow()

    return read


def check(found: pa.Table, truth: pa.Table) -> None:
    """Row for row, column by column."""
    order_by = [("_partition", "ascending"), ("_offset", "ascending")]
    assert found.num_rows == truth.num_rows, (found.num_rows, truth.num_rows)
    found, truth = (it.select(TRUTH.names).cast(TRUTH).sort_by(order_by) for it in (found, truth))
    for name in TRUTH.names:
        assert found.column(name).equals(truth.column(name)), name


def run_and_check(
    form: str, folder: Path, count: int, *, dirt: int, more: Sequence[Read] = ()
) -> Run:
    """Every reader is equal to the truth."""
    run, truth = dirty_run(form, folder, count, dirt)
    for read in (by_its_library, by_duckdb, *more):
        check(read(run), truth)
    return run


def main() -> None:
    """One format, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--dirt", type=int, default=1_000, help="one record of so many is dirty")
    parser.add_argument("--form", choices=FORMATS)
    parser.add_argument("--spark", action="store_true", help="Spark reads them, too")
    chosen = parser.parse_args()
    more: list[Read] = []
    if chosen.spark:
        from odradek.pipelines import session

        spark = session("local[2]", conf={"spark.driver.memory": "2g"})
        spark.sparkContext.setLogLevel("OFF")
        more = [by_spark(spark)]
    for form in (chosen.form,) if chosen.form else FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            run = run_and_check(form, Path(folder), chosen.count, dirt=chosen.dirt, more=more)
            seconds = time.monotonic() - started
            print(f"{form}: {run.account}, {2 + len(more)} readers, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
