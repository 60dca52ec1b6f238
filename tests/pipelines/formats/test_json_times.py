"""Numbers that are times: milliseconds, or what the file says that they count."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.definition.definition import parse
from odradek.pipelines.definition.sections import WrongFile
from odradek.pipelines.formats.json_values import JsonValues
from tests.pipelines.definition.test_draft import columns_of, file_of
from tests.pipelines.formats.records import records

WHEN = dt.datetime(2026, 1, 31, 10, 0, 0, tzinfo=dt.UTC)
SECONDS = int(WHEN.timestamp())


def declared(kind: str) -> JsonValues:
    """A file whose column `at` is of this kind."""
    content: dict[str, Any] = {
        "name": "p",
        "source": {"bootstrap-server": "x:1", "topics": ["t"]},
        "table": {"location": "delta:t"},
        "values": {"format": "json", "columns": {"at": kind, "n": "long"}},
    }
    found = parse(content, Path("/x")).archive.values
    assert isinstance(found, JsonValues)
    return found


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("timestamp(s)", 1),
        ("timestamp", 1_000),
        ("timestamp(ms)", 1_000),
        ("timestamp( us )", 1_000_000),
    ],
)
def test_a_unit_of_numbers(kind: str, count: int) -> None:
    """The same time whatever is counted, all at once and one by one; texts have no unit."""
    values = declared(kind)
    number = SECONDS * count
    some: list[bytes | None] = [b'{"at": %d, "n": 1}' % number] * 20
    odd = b'{"at": %d.5, "n": 1}' % number, b'{"at": "2026-01-31T10:00:00Z"}', b'{"at": true}'
    batch = records([*some, *odd, b'{"at": 1e30}', b'{"at": %d}' % (10**18)])
    found = values.convert(batch, values.schema)
    exact = values.one_by_one(batch, values.schema)
    assert found.rows.equals(exact.rows)
    assert found.dead == exact.dead
    half = dt.timedelta(microseconds=500_000 // count) if count < 1_000_000 else None
    times = [row["at"] for row in found.rows.to_pylist()]
    assert times == [WHEN] * 20 + ([] if half is None else [WHEN + half]) + [WHEN]
    refused = sorted(found.dead) if half is not None else sorted(found.dead)[1:]
    assert refused == [22, 23, 24]


def test_the_table_says_whether_it_is_a_time() -> None:
    """A column that was made as another type is not scaled by what the file says later."""
    values = declared("timestamp(s)")
    other = declared("long").schema
    found = values.convert(records([b'{"at": 5, "n": 1}', b'{"at": 5.0}']), other)
    assert [row["at"] for row in found.rows.to_pylist()] == [5, 5]


@pytest.mark.parametrize(
    "kind", ["array<timestamp(s)>", "struct<a: timestamp(ms)>", "timestamp(h)"]
)
def test_a_unit_where_none_can_be(kind: str) -> None:
    """It is refused, and not passed over."""
    with pytest.raises(WrongFile, match=r"values\.columns\.at: "):
        declared(kind)


def test_a_draft_says_what_may_be_a_time(tmp_path: Path) -> None:
    """Beside the column: the number alone does not tell, and read as milliseconds it is 1970."""
    text = file_of(
        *(b'{"id": %d, "at": %d, "ms": %d000}' % (it, SECONDS + it, SECONDS) for it in range(3))
    )
    assert columns_of(text, tmp_path) == {"id": "long", "at": "long", "ms": "long"}
    assert 'at = "long"  # seen 3 times; if they are times: timestamp(s)' in text
    assert 'ms = "long"  # seen 3 times; if they are times: timestamp(ms)' in text
    assert 'id = "long"  # seen 3 times\n' in text
