"""Tables with one row for each key: whatever comes, they are the fold of the log."""

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.pipelines.moving.archiving.dead_letters import BadRecord
from odradek.pipelines.tables.keys import bounds_of, within
from tests.pipelines.tables.owners import require
from tests.pipelines.upserts.keyed import FORMATS, KeyedTable, Record, place_of, rows_of_others


def put(number: int, n: int) -> Record:
    """A row."""
    return b"%d" % number, json.dumps({"id": number, "n": n}).encode()


def gone(number: int) -> Record:
    """A tombstone."""
    return b"%d" % number, None


def by_id(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """In order."""
    return sorted(rows, key=lambda it: it["id"])


@pytest.mark.parametrize("form", FORMATS)
def test_the_last_record_of_a_key_is_its_row(form: str, tmp_path: Path) -> None:
    """Within a batch and over batches; a record without a value deletes."""
    log = {0: [put(1, 10), put(2, 20), put(1, 11), put(3, 30), gone(2), put(1, 12), put(2, 21)]}
    table = KeyedTable(place_of(tmp_path, form), log)
    table.batch({0: 3})
    assert by_id(table.found()) == [{"id": 1, "n": 11}, {"id": 2, "n": 20}]
    table.batch({0: 6})
    assert by_id(table.found()) == [{"id": 1, "n": 12}, {"id": 3, "n": 30}]
    table.batch({0: 7})
    whole = [{"id": 1, "n": 12}, {"id": 2, "n": 21}, {"id": 3, "n": 30}]
    assert by_id(table.found()) == by_id(rows_of_others(table.location)) == whole
    assert (table.account.read, table.account.written, table.account.dead) == (7, 7, 0)


@pytest.mark.parametrize("form", FORMATS)
def test_what_deletes_needs_no_columns(form: str, tmp_path: Path) -> None:
    """Although the table's owner says of one that it is never null: rows are held to that."""
    log = {0: [put(1, 10), put(2, 20), gone(2), put(1, 11), (b"1", b'{"id": 1}')]}
    table = KeyedTable(place_of(tmp_path, form), log)
    table.batch({0: 2})
    require(table.rows.table, tmp_path / "t", "n")
    table.rows.reload()
    table.batch({0: 4})
    assert by_id(table.found()) == by_id(rows_of_others(table.location)) == [{"id": 1, "n": 11}]
    with pytest.raises(BadRecord, match=r"offset 4 .* column n: it is null"):
        table.batch({0: 5})


def folded(log: Sequence[Record], end: int) -> list[dict[str, Any]]:
    """The model."""
    rows: dict[bytes | None, Any] = {}
    for key, value in log[:end]:
        rows.pop(key, None)
        if value is not None:
            rows[key] = json.loads(value)
    return list(rows.values())


numbers = st.integers(0, 60)
logs = st.lists(
    st.one_of(st.builds(put, numbers, st.integers(0, 9)), st.builds(gone, numbers)), max_size=200
)


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_is_the_fold_of_its_log(form: str) -> None:
    """Any operations, batches that are cut anywhere, files that hold a few rows."""

    @settings(max_examples=25 if form == "delta" else 6, deadline=None)
    @given(logs, st.lists(st.integers(0, 200), max_size=6), st.integers(0, 200))
    def check(log: list[Record], cuts: list[int], cut: int) -> None:
        folder = Path(tempfile.mkdtemp())
        try:
            parts = {it: [one for one in log if int(one[0] or 0) % 2 == it] for it in (0, 1)}
            table = KeyedTable(place_of(folder, form), parts, file_bytes=300)
            for end in sorted(cuts):
                table.batch({it: min(end, len(those)) for it, those in parts.items()}, cut)
                rows = [row for it, those in parts.items() for row in folded(those, table.end(it))]
                assert by_id(table.found()) == by_id(rows)
            table.batch({it: len(those) for it, those in parts.items()}, cut)
            assert by_id(rows_of_others(table.location)) == by_id(folded(log, len(log)))
        finally:
            shutil.rmtree(folder)

    check()


@pytest.mark.parametrize("form", FORMATS)
def test_only_files_that_may_hold_a_key_are_read(form: str, tmp_path: Path) -> None:
    """Ten of a thousand rows change. The other files stay, and may even be damaged meanwhile."""
    log = {0: [*(put(it, 0) for it in range(1_000)), *(put(it, 1) for it in range(500, 510))]}
    table = KeyedTable(place_of(tmp_path, form), log, file_bytes=2_000)
    table.batch({0: 1_000})
    before = table.rows.table.files(table.rows.snapshot)
    keys = np.arange(500, 510)
    others = [it.path for it in before if not within(keys, bounds_of(it))]
    place = Path(table.location.partition(":")[2])
    for path in others:
        (place / path).write_bytes(b"damaged")
    table.batch({0: 1_010})
    after = {it.path for it in table.rows.table.files(table.rows.snapshot)}
    assert len(before) > 5
    assert len(before) - len(others) <= 2
    assert set(others) == after & {it.path for it in before}
