"""Nothing is changed: what a row holds is what was written, whichever way it was read."""

import json
from decimal import Decimal
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from odradek.pipelines.formats.json_batches import Dirt, read_objects
from odradek.pipelines.formats.json_shapes import shape_of
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.rows import own_columns
from odradek.pipelines.formats.types import parse
from tests.pipelines.formats.hostile import COLUMNS, NUMBERS, hostile_values
from tests.pipelines.formats.records import records

DECLARED: Final = tuple((name, parse(it)) for name, it in COLUMNS.items())
BATCH: Final = 100
NUMERIC: Final = ("long", "int", "double", "float", "decimal")


def test_numbers_are_what_was_written_or_their_records_are_dead() -> None:
    """Digits that a column does not have are not dropped, and no number becomes infinite."""
    for kind, text in (
        ("decimal(20,2)", "12345678901234567.89"),
        ("decimal(38,2)", "123456789012345678901234567890123456.78"),
        ("decimal(5,2)", "100.000"),
        ("decimal(5,2)", "1e2"),
        ("long", "9223372036854775807"),
        ("long", "1e3"),
        ("double", "0.1"),
        ("double", "0.10000000000000001"),
        ("double", "1e-300"),
        ("float", "0.1"),
        ("float", "16777216"),
    ):
        (row,) = _rows(kind, text)
        assert _same(row["v"], text, kind), (kind, text, row)
    for kind, text in (
        ("decimal(20,2)", "1.234"),
        ("decimal(20,0)", "1e20"),
        ("decimal(38,0)", "18446744073709551617.5"),
        ("long", "9223372036854775808"),
        ("long", "9007199254740993.5"),
        ("int", "2147483648"),
        ("double", "9007199254740993"),
        ("double", "12345678901234567.89"),
        ("double", "1e999"),
        ("double", "1e-999"),
        ("float", "1e300"),
        ("float", "16777217"),
        ("float", "0.1234567890123"),
        ("timestamp", "1700000000000.0005"),
        ("timestamp", '"2026-01-31T10:00:00.123456789Z"'),
    ):
        assert not _rows(kind, text), (kind, text)
    assert _rows("long", "9007199254740993.0") == [{"v": 9_007_199_254_740_993}]


def _rows(kind: str, text: str) -> list[dict[str, Any]]:
    """Of this record, however it is read."""
    format_ = JsonValues((("v", parse(kind)),))
    batch = records([f'{{"v": {text}}}'.encode()])
    both = [it(batch, format_.schema) for it in (format_.convert, format_.one_by_one)]
    first, second = [[{"v": row["v"]} for row in it.rows.to_pylist()] for it in both]
    assert first == second
    return first


def _same(value: Any, text: str, kind: str) -> bool:
    """Whether a number is the text's, as far as the text's digits go."""
    exact = Decimal(text)
    if kind in {"double", "float"}:
        digits = len(exact.normalize().as_tuple().digits)
        return Decimal(f"{value:.{digits - 1}e}") == exact
    return Decimal(value) == exact


@pytest.mark.parametrize("may_grow", [True, False], ids=["grows", "closed"])
@pytest.mark.parametrize("dirt", [0.02, 0.5, 1.0])
def test_a_batch_and_single_records_give_the_same_rows(dirt: float, *, may_grow: bool) -> None:
    """The quick way reads no record otherwise than the exact one does."""
    compared(4_000, seed=7, dirt=dirt, may_grow=may_grow)


def compared(count: int, seed: int, dirt: float, *, may_grow: bool) -> None:
    """Reads values both ways, in batches; the table grows as it would in a run."""
    format_ = JsonValues(DECLARED, may_grow=may_grow)
    table = format_.schema
    values = hostile_values(count, seed, dirt)
    quick = 0
    for first in range(0, count, BATCH):
        batch = records(values[first : first + BATCH])
        together, alone = format_.convert(batch, table), format_.one_by_one(batch, table)
        assert together.dead == alone.dead
        assert together.dropped == alone.dropped
        assert together.rows.num_rows + len(alone.dead) + len(alone.dropped) == batch.num_rows
        _compare(together.rows, alone.rows, table)
        read = read_objects(batch.column("value"), own_columns(table), Dirt(), may_grow=may_grow)
        quick += sum(len(it.at) for it in read)
        table = alone.rows.schema
    if dirt < 0.1:
        assert quick > count * 0.8, "most records take the quick way"


def _compare(together: pa.RecordBatch, alone: pa.RecordBatch, table: pa.Schema) -> None:
    if together.schema.equals(alone.schema) and together.equals(alone):
        return
    assert together.schema.names == alone.schema.names, table.names
    for name in together.schema.names:
        left, right = together.column(name).to_pylist(), alone.column(name).to_pylist()
        for one, other in zip(left, right, strict=True):
            assert repr(one) == repr(other), (name, one, other)


SHAPED: Final = {
    "id": "long", "n": "int", "d": "double", "f": "float", "p": "decimal(6,2)", "t": "string",
    "at": "timestamp", "b": "boolean", "s": "struct<x: long, y: string>", "a": "array<double>",
}  # fmt: skip
CELLS: Final[dict[str, tuple[str, ...]]] = {
    "id": ("0", "-1", "999999999999999999", "8999999999999999999", "9199999999999999999"),
    "n": ("2147483647", "2099999999", "-999999999", "0"),
    "d": ("0.1", "1234567.12345678", "123456789012.125", "-1e-5", "5E+20", "0"),
    "f": ("0.5", "1e3", "16777216", "0.1"),
    "p": ("1234.56", '"0.5"', "-9999.99", "0", "7.0"),
    "t": (r'"a\u00e4\n\"\/"', '"} {"', '"\u00e4\U0001f600"', '""', '"1234567890123456e"'),
    "at": ('"2026-01-31T10:00:00.5Z"', '"0001-01-01T00:00:00+00:00"'),
    "b": ("true", "false"),
    "s": ('{"x":1,"y":"a"}', '{"x": -5}', '{"x":null , "y":null}'),
    "a": ("[1.5 , null]", "[]", "[0]", "[ 1,2.25,3 ]"),
}
STRANGE: Final = (
    "01", "-", "1.", ".5", "1e", "1e400", "9223372036854775808", "1.5", '"x"', '"1"', "true", "{}",
    "[]", "[[]]", "nul", '"\ud800"'.replace("\ud800", r"\ud800"), r'"\u12"', '"\t"', "1,2", "",
    '"a" "b"', "1 1", "+1", "0x1", "12345678901234567.5", "1.005", "99999.99",
    '"2026-02-31T10:00:00Z"', "1700000000000", "-0", "-0.0", "1e-320", '1,"id":2', '1}{"id":2',
    "1}\n{", '{"x":1,"x":2}', "2147483648", "2999999999",
)  # fmt: skip


def test_objects_that_look_like_the_first_are_read_without_another_look() -> None:
    """A shape matches what Arrow reads, and of what is written in one order nearly all."""
    chance = Random(5)
    columns = tuple((name, parse(it)) for name, it in SHAPED.items())
    format_ = JsonValues(columns, may_grow=False)
    for dirt in (0.0, 0.01, 0.5):
        cells = [f'"{name}":{texts[0]}' for name, texts in CELLS.items()]
        first = f"{{{','.join(cells)}}}"
        values = [first.encode(), *(_in_order(chance, dirt) for _ in range(3_000))]
        batch = records(values)
        together, alone = (
            it(batch, format_.schema) for it in (format_.convert, format_.one_by_one)
        )
        assert together.dead == alone.dead
        _compare(together.rows, alone.rows, format_.schema)
        own = own_columns(format_.schema)
        kinds = {it.name: pa.string() if it.name == "at" else it.type for it in own}
        shape = shape_of(json.loads(first), kinds)
        assert shape is not None
        alike = batch.column("value").filter(pc.match_substring_regex(batch.column("value"), shape))
        assert len(read_objects(alike, own, Dirt(), may_grow=False)) == 1, "none is refused"
        if not dirt:
            assert not together.dead
            assert len(alike) > 0.75 * len(values), "without those of the greatest numbers"


def _in_order(chance: Random, dirt: float) -> bytes:
    """Some fields are missing, some null, the first is there; one may be strange."""
    cells = []
    strange = chance.choice([*CELLS]) if chance.random() < dirt else ""
    for at, name in enumerate(CELLS):
        if not at or name == strange or chance.random() < 0.9:
            text = chance.choice(STRANGE if name == strange else (*CELLS[name], "null"))
            cells.append(f'"{name}"{chance.choice(("", " "))}:{text}')
    return f"{{{chance.choice((',', ' , ', chr(10) + ',')).join(cells)}}}".encode()


def test_what_is_stored_is_the_text() -> None:
    """Of every number, in every column for numbers."""
    chance = Random(11)
    kinds = {name: it for name, it in COLUMNS.items() if it.startswith(NUMERIC)}
    drawn = [
        f"{chance.getrandbits(chance.randrange(1, 90))}e{chance.randrange(-20, 20)}"
        for _ in range(1_000)
    ]
    numbers = [it for it in (*NUMBERS, *drawn, *map(repr, map(float, drawn))) if _is_json(it)]
    batch = records([f'{{"{name}": {it}}}'.encode() for name in kinds for it in numbers])
    format_ = JsonValues(DECLARED, may_grow=False)
    rows = format_.convert(batch, format_.schema).rows.to_pylist()
    for row in rows:
        name, number = divmod(row["_offset"] - 100, len(numbers))
        column = list(kinds)[name]
        assert _same(row[column], numbers[number], kinds[column]), (numbers[number], row)
    assert len(rows) > len(batch) / 4


def _is_json(text: str) -> bool:
    try:
        json.loads(f"[{text}]", parse_int=str, parse_constant=float)
    except ValueError:
        return False
    return text.lower().lstrip("-") not in {"nan", "infinity", "inf"} and len(text) < 4_000
