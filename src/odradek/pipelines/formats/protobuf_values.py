"""Values that are Protobuf messages behind the number of their schema, and their place in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
from google.protobuf.message import DecodeError

from odradek.pipelines.formats.column import Column, Convert
from odradek.pipelines.formats.framed import FramedValues, fields_of, parted
from odradek.pipelines.formats.protobuf_schemas import Message, class_of, message_at, newest_message
from odradek.pipelines.formats.protobuf_types import column_of, columns_of
from odradek.pipelines.formats.registry import SchemaRegistry, understood, value_subject

INDEXES_MAX: Final = 100
VARINT_BITS_MAX: Final = 35

Indexes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """How messages of one kind are parsed and read."""

    parse: Message
    reads: Mapping[str, Convert]
    kinds: pa.Schema


@lru_cache(maxsize=1_000)
def _known(registry: SchemaRegistry, number: int, indexes: Indexes) -> Known:
    """Made once in each worker."""
    message = message_at(registry, number, indexes)
    with understood(f"Protobuf schema {number}"):
        fields = columns_of(message)
    kinds = pa.schema([(name, kind) for name, (kind, _) in fields.items()])
    return Known(class_of(message), {name: read for name, (_, read) in fields.items()}, kinds)


@lru_cache(maxsize=1_000)
def _key_column(registry: SchemaRegistry, number: int, indexes: Indexes) -> tuple[Message, Column]:
    message = message_at(registry, number, indexes)
    with understood(f"Protobuf schema {number}"):
        return class_of(message), column_of(message)


@dataclass(frozen=True, slots=True)
class ProtobufValues(FramedValues):
    """Messages of Protobuf."""

    def read(self, value: bytes) -> tuple[Mapping[str, Any], pa.Schema]:
        """A message, and the columns of its kind."""
        number, framed = parted(value)
        indexes, body = indexes_of(framed)
        known = _known(self.registry, number, indexes)
        return fields_of(known.reads, _parsed(known.parse, number, body)), known.kinds


def read_protobuf_key(registry: SchemaRegistry, key: bytes) -> tuple[Any, pa.DataType]:
    """What a key holds, and the type that its schema says."""
    number, framed = parted(key)
    indexes, body = indexes_of(framed)
    parse, column = _key_column(registry, number, indexes)
    return column.convert(_parsed(parse, number, body)), column.kind


def _parsed(parse: Message, number: int, body: memoryview) -> Any:
    try:
        found = parse.FromString(bytes(body))
    except DecodeError as error:
        raise ValueError(f"it is no message of Protobuf schema {number}: {error}") from error
    if missing := found.FindInitializationErrors():
        raise ValueError(f"its message of Protobuf schema {number} lacks {', '.join(missing)}")
    return found


def indexes_of(framed: memoryview) -> tuple[Indexes, memoryview]:
    """Which message of its schema it is, and the message. A single 0 means the first."""
    count, framed = _varint(framed)
    if not 0 <= count <= INDEXES_MAX:
        raise ValueError("it does not say which message of its schema it is")
    found = []
    for _ in range(count):
        index, framed = _varint(framed)
        found.append(index)
    return tuple(found) or (0,), framed


def _varint(data: memoryview) -> tuple[int, memoryview]:
    found = shift = 0
    for at, byte in enumerate(data):
        found |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), data[at + 1 :]
        if shift >= VARINT_BITS_MAX:
            break
    raise ValueError("it does not say which message of its schema it is")


def protobuf_values(registry: SchemaRegistry, topics: tuple[str, ...]) -> ProtobufValues:
    """With the columns of the newest schemas of the topics, as far as the registry has them."""
    columns: dict[str, pa.DataType] = {}
    for topic in topics:
        message = newest_message(registry, value_subject(topic))
        if message is not None:
            with understood(f"the newest schema of {value_subject(topic)}"):
                found = columns_of(message)
            for name, (kind, _) in found.items():
                columns.setdefault(name, kind)
    return ProtobufValues(registry, tuple(columns.items()))
