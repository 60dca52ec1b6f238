"""Protobuf to rows, with a registry that answers as Confluent's, Karapace and Redpanda do."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

from odradek.pipelines.formats.protobuf_schemas import class_of, message_at
from odradek.pipelines.formats.protobuf_values import ProtobufValues, indexes_of, protobuf_values
from odradek.pipelines.formats.registry import RegistryAway, RegistryFailed, SchemaRegistry
from odradek.pipelines.moving.archiving.tasks import GrowingWriter
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.values import Converted
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.tables.files import Span
from tests.pipelines.formats.protobuf_registry import answer, field, file, framed, message, serving
from tests.pipelines.formats.records import records
from tests.pipelines.moving.archives import batches_in

REPEATED = "label: LABEL_REPEATED"
KNOWN = tuple(
    f"google/protobuf/{it}.proto" for it in ("timestamp", "duration", "wrappers", "struct", "empty")
)
COLOURS = 'value { name: "RED" number: 0 } value { name: "BLUE" number: 5 }'
ENTRY = "options { map_entry: true }"


def entry(name: str, key: str, value: str) -> str:
    """The message within that a map of this field is."""
    return (
        f"nested_type {{ {message(name, field('key', 1, key), field('value', 2, value), ENTRY)} }}"
    )


ORDER = message("Order", field("id", 1, "int64"), field("note", 2, "string"))
NEWER = message(
    "Order", field("id", 1, "int64"), field("note", 2, "string"), field("more", 3, "bool")
)
ALL = message(
    "All",
    *(
        field(f"f_{kind}", number, kind)
        for number, kind in enumerate(
            ("double", "float", "int32", "sint32", "sfixed32", "int64", "sint64", "sfixed64",
             "uint32", "fixed32", "uint64", "fixed64", "bool", "string", "bytes"), 1
        )
    ),
    field("colour", 20, ".shop.Colour", "type: TYPE_ENUM"),
    field("others", 21, ".shop.Colour", "type: TYPE_ENUM", REPEATED),
    field("counts", 22, ".shop.All.CountsEntry", REPEATED),
    field("names", 23, ".shop.All.NamesEntry", REPEATED),
    field("card", 24, "string", "oneof_index: 0"),
    field("cash", 25, ".google.protobuf.Empty", "oneof_index: 0"),
    field("maybe", 26, "int32", "oneof_index: 1 proto3_optional: true"),
    field("at", 27, ".google.protobuf.Timestamp"),
    field("span", 28, ".google.protobuf.Duration"),
    field("big", 29, ".google.protobuf.UInt64Value"),
    field("text", 30, ".google.protobuf.StringValue"),
    field("any", 31, ".google.protobuf.Struct"),
    field("inner", 32, ".shop.Address"),
    field("many", 33, ".shop.Address", REPEATED),
    field("nothing", 34, ".shop.Nothing"),
    field("price", 35, ".confluent.type.Decimal"),
    entry("CountsEntry", "string", "int32"),
    entry("NamesEntry", "uint32", ".google.protobuf.Timestamp"),
    'oneof_decl { name: "paid" } oneof_decl { name: "_maybe" }',
)  # fmt: skip
SHOP = file(
    ALL,
    message("Nothing"),
    imports=(*KNOWN, "address.proto", "confluent/type/decimal.proto", "confluent/meta.proto"),
    more=f'enum_type {{ name: "Colour" {COLOURS} }}',
)
ADDRESS = file(
    message("Address", field("street", 1, "string"), field("place", 2, ".shop.Place")),
    imports=("place.proto",),
)
PLACE = file(message("Place", field("lat", 1, "double")))
OLD = file(
    message(
        "Old",
        field("id", 1, "int32", "label: LABEL_REQUIRED"),
        field("size", 2, "int32", 'default_value: "7"'),
        field("text", 3, "string"),
        field("part", 4, ".shop.Old.Part", "type: TYPE_GROUP"),
        f"nested_type {{ {message('Part', field('x', 1, 'int32'))} }}",
    ),
    syntax="proto2",
)
WITHIN = file(
    message("First", field("a", 1, "int32")),
    message(
        "Second",
        f"nested_type {{ {message('One', field('b', 1, 'int32'))} }}",
        f"nested_type {{ {message('Two', field('c', 1, 'int32'))} }}",
    ),
)
ANSWERS: dict[str, Any] = {
    "/schemas/ids/1?format=serialized": answer(file(ORDER)),
    "/schemas/ids/2?format=serialized": answer(file(NEWER)),
    "/schemas/ids/3?format=serialized": answer(SHOP, address=("address", 4)),
    "/schemas/ids/4?format=serialized": answer(ADDRESS, place=("shop/place", 1)),
    "/schemas/ids/5?format=serialized": answer(PLACE),
    "/subjects/address/versions/4": {"id": 4},
    "/subjects/shop%2Fplace/versions/1": {"id": 5},
    "/schemas/ids/6?format=serialized": answer(OLD),
    "/schemas/ids/7?format=serialized": answer(WITHIN),
    "/schemas/ids/8?format=serialized": answer('syntax = "proto3"; message M {}'),
    "/schemas/ids/9?format=serialized": {"schema": '"string"'},
    "/schemas/ids/10?format=serialized": answer(
        file(message("Tree", field("left", 1, ".shop.Tree")))
    ),
    "/schemas/ids/11?format=serialized": answer(file(message("M"), imports=("gone.proto",))),
    "/schemas/ids/12?format=serialized": answer(
        file(message("M", field("id", 1, "int32"), field("ID", 2, "int32")))
    ),
    "/schemas/ids/13?format=serialized": answer(file(message("Order", field("id", 1, "string")))),
    "/subjects/orders-value/versions/latest": {"id": 1, "schema": "x"},
    "/subjects/all-value/versions/latest": {"id": 3, "schema": "x"},
    "/subjects/within-value/versions/latest": {"id": 7, "schema": "x"},
}  # fmt: skip


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistry]:
    """With all of these."""
    with serving(ANSWERS) as it:
        yield it


def body(
    registry: SchemaRegistry, number: int, text: str, indexes: tuple[int, ...] = (0,)
) -> bytes:
    """A message of that schema, as Google's library writes it."""
    made = class_of(message_at(registry, number, indexes))()
    return bytes(text_format.Parse(text, made).SerializeToString())


def convert(registry: SchemaRegistry, *values: bytes | None) -> Converted:
    """Into a table without columns of its own."""
    format_ = ProtobufValues(registry)
    return format_.convert(records(values), format_.schema)


def rows(found: Converted) -> list[dict[str, Any]]:
    """The columns of the values."""
    return [
        {name: it for name, it in row.items() if not name.startswith("_")}
        for row in found.rows.to_pylist()
    ]


def test_a_newer_schema_adds_its_columns(registry: SchemaRegistry) -> None:
    """And an older one has Protobuf's defaults, but not for a column that it does not have."""
    format_ = protobuf_values(registry, ("orders", "unknown"))
    assert format_.schema.names[-2:] == ["id", "note"]
    found = convert(
        registry,
        framed(1, body(registry, 1, 'id: -1 note: "a"')),
        framed(2, body(registry, 2, "id: 2 more: true")),
        None,
        framed(1, b""),
    )
    assert not found.dead
    assert found.dropped == {2}
    assert rows(found) == [
        {"id": -1, "note": "a", "more": None},
        {"id": 2, "note": "", "more": True},
        {"id": 0, "note": "", "more": None},
    ]


FULL = """
f_double: 0.1 f_float: 0.5 f_int32: -2147483648 f_sint32: -1 f_sfixed32: 2147483647
f_int64: -9223372036854775808 f_sint64: 9223372036854775807 f_sfixed64: -1
f_uint32: 4294967295 f_fixed32: 4294967295 f_uint64: 18446744073709551615
f_fixed64: 9007199254740993 f_bool: true f_string: "é" f_bytes: "\\377\\000"
colour: BLUE others: [RED, BLUE] counts { key: "b" value: 2 } counts { key: "a" value: 1 }
names { key: 4294967295 value { seconds: 1 } } cash { } maybe: 0
at { seconds: 1700000000 nanos: 123456000 } span { seconds: -3 nanos: -5 }
big { value: 18446744073709551615 } text { value: "" }
any { fields { key: "k" value { list_value { values { number_value: 1.5 } } } } }
inner { street: "s" place { lat: 1.5 } } many { street: "t" } many { } nothing { }
price { value: "\\004\\322" precision: 4 scale: 2 }
"""
EXPECTED = {
    "f_double": 0.1, "f_float": 0.5, "f_int32": -(1 << 31), "f_sint32": -1,
    "f_sfixed32": (1 << 31) - 1, "f_int64": -(1 << 63), "f_sint64": (1 << 63) - 1,
    "f_sfixed64": -1, "f_uint32": (1 << 32) - 1, "f_fixed32": (1 << 32) - 1,
    "f_uint64": Decimal((1 << 64) - 1), "f_fixed64": Decimal(9007199254740993), "f_bool": True,
    "f_string": "é", "f_bytes": b"\xff\0", "colour": "BLUE", "others": ["RED", "BLUE"],
    "counts": [("a", 1), ("b", 2)],
    "names": [((1 << 32) - 1, dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC))],
    "card": None, "cash": True, "maybe": 0,
    "at": dt.datetime(2023, 11, 14, 22, 13, 20, 123_456, dt.UTC),
    "span": {"seconds": -3, "nanos": -5}, "big": Decimal((1 << 64) - 1), "text": "",
    "any": '{"k": [1.5]}', "inner": {"street": "s", "place": {"lat": 1.5}},
    "many": [{"street": "t", "place": None}, {"street": "", "place": None}], "price": "12.34",
}  # fmt: skip
EMPTY: dict[str, Any] = {
    **dict.fromkeys(EXPECTED), "f_double": 0.0, "f_float": 0.0, "f_bool": False, "f_string": "",
    "f_bytes": b"", "colour": "RED", "others": [], "counts": [], "names": [], "many": [],
    **{it: 0 for it in EXPECTED if it.startswith("f_") and ("int" in it or "fixed" in it)},
}  # fmt: skip


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_every_type_is_what_it_means(registry: SchemaRegistry, form: str, tmp_path: Path) -> None:
    """Exactly; a table of each format takes them and gives them back."""
    format_ = protobuf_values(registry, ("all",))
    batch = records([framed(3, body(registry, 3, FULL)), framed(3, b"")])
    location = f"{form}:{tmp_path / form}"
    opened = OpenTable(location, {}, ROWS)
    opened.create(format_.schema, (), Positions("c", {}), "_")
    for offset in (100, 102):  # made, and then loaded
        found = format_.convert(batch, opened.snapshot.schema)
        assert not found.dead
        assert rows(found) == [EXPECTED, EMPTY]
        piece = OffsetRange("orders", "A" * 22, 3, offset, offset + 2, 1)
        writer = GrowingWriter(opened.layout(), Span("A" * 22, 3, offset, offset + 2))
        writer.write(found.rows)
        assert writer.growth is None
        opened.append("c", [piece], writer.finish())
        opened = OpenTable(location, {}, ROWS)
    read = [row for batch in batches_in(location) for row in batch.to_pylist()]
    stored = [{name: row[name] for name in EXPECTED} for row in read]
    assert stored == [EXPECTED, EMPTY] * 2


def test_fields_of_proto2(registry: SchemaRegistry) -> None:
    """What is not there is null, also where the schema has a default; what is required must be."""
    found = convert(
        registry,
        framed(6, body(registry, 6, "id: 1 part { x: 2 }")),
        framed(6, body(registry, 6, "id: 2 size: 7")),
        framed(6, b"\x10\x07"),
        framed(6, b"\x08\x01\x1a\x01\xff"),
    )
    assert rows(found) == [
        {"id": 1, "size": None, "text": None, "part": {"x": 2}},
        {"id": 2, "size": 7, "text": None, "part": None},
    ]
    assert "lacks id" in found.dead[2]
    assert "column text: it is no text in UTF-8" in found.dead[3]


def test_what_the_schema_does_not_have_is_passed_over(registry: SchemaRegistry) -> None:
    """Fields by their number; a number of an enum is kept as it is."""
    found = convert(registry, framed(1, b"\x08\x05\x9a\x06\x01x"), framed(3, b"\xa0\x01\x09"))
    assert not found.dead
    assert rows(found)[0]["id"] == 5
    assert rows(found)[1]["colour"] == "9"


@pytest.mark.parametrize(
    ("indexes", "expected"),
    [
        (b"\x00", (0,)),
        (b"\x02\x00", (0,)),
        (b"\x02\x02", (1,)),
        (b"\x04\x02\x02", (1, 1)),
    ],
)
def test_which_message_of_a_schema(indexes: bytes, expected: tuple[int, ...]) -> None:
    """Its places as Confluent writes them, of which a single 0 is a short form."""
    found, rest = indexes_of(memoryview(indexes + b"rest"))
    assert (found, bytes(rest)) == (expected, b"rest")


def test_messages_beside_and_within_others(registry: SchemaRegistry) -> None:
    """Whose columns stand beside each other; a file with several leaves columns to the records."""
    assert protobuf_values(registry, ("within",)).columns == ()
    found = convert(
        registry,
        framed(7, b"\x08\x01"),
        framed(7, b"\x08\x02", b"\x04\x02\x02"),
        framed(7, b"", b"\x02\x04"),
        framed(7, b"", b"\x04\x02\x04"),
    )
    assert rows(found) == [{"a": 1, "c": None}, {"a": None, "c": 2}]
    assert found.dead[2] == "schema 7 has no message [2]"
    assert found.dead[3] == "schema 7 has no message [1, 2]"


NOT_A_NUMBER = b"\xfa\x01\x10\x0a\x0e\x0a\x01k\x12\x09\x11" + b"\0" * 6 + b"\xf8\x7f"
"""In a `Struct`."""


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "does not begin with the number of a schema"),
        (b"{}", "does not begin with the number of a schema"),
        (framed(1, b"", b""), "does not say which message"),
        (framed(1, b"", b"\xff" * 9), "does not say which message"),
        (framed(1, b"", b"\x01"), "does not say which message"),
        (framed(1, b"", b"\x02"), "does not say which message"),
        (framed(1, b"\x08"), "no message of Protobuf schema 1"),
        (framed(1, b"\x12\x01\xff"), "no message of Protobuf schema 1"),
        (framed(1, b"\x12\x7fa"), "no message of Protobuf schema 1"),
        (framed(99, b""), "knows nothing at"),
        (framed(9, b""), "schema 9 is of type AVRO, not PROTOBUF"),
        (framed(10, b""), "shop.Tree contains itself"),
        (framed(11, b""), "imports gone.proto"),
        (framed(12, b""), "differs from 'ID' in case only"),
        (framed(13, b""), "column id"),
        (framed(3, b"\xda\x01\x02\x10\x01"), "column at: 1 has nanoseconds"),
        (framed(3, b"\xda\x01\x07\x08\xff\xff\xff\xff\xff\x7f"), "column at:"),
        (framed(3, b"\xda\x01\x06\x10\xff\xff\xff\xff\x07"), "no nanoseconds of a second"),
        (framed(3, NOT_A_NUMBER), "column any:"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_a_dead_letter(
    registry: SchemaRegistry, value: bytes, reason: str
) -> None:
    """With a reason; the others go on."""
    found = convert(registry, framed(1, b"\x08\x01"), value, framed(1, b"\x08\x02"))
    assert list(found.dead) == [1]
    assert reason in found.dead[1]
    assert found.rows.column("id").to_pylist() == [1, 2]


def test_a_registry_that_gives_no_descriptors_stops_the_run(registry: SchemaRegistry) -> None:
    """It is no record's fault, and waiting does not mend it."""
    with pytest.raises(RegistryFailed, match="format=serialized") as met:
        convert(registry, framed(8, b""))
    assert not isinstance(met.value, RegistryAway)
