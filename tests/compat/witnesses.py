"""Answers as other libraries read them: they have no interest in our being right."""

import dataclasses
import enum
from typing import Any

import pytest

from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.codec import decode
from odradek.wire.schema import Struct
from tests.compat.questions_among_brokers import NO_CLIENT_ASKS
from tests.compat.test_wire_kafka_python import THEIRS

kio_index = pytest.importorskip("kio.index")
kio_serial = pytest.importorskip("kio.serial")


def witnesses(key: int, version: int, body: bytes) -> list[Any]:
    """The answer, as those read it who know this version."""
    found = []
    try:
        schema = kio_index.load_response_schema(key, version)
    except kio_index.KioIndexError:
        pass
    else:
        read, size = kio_serial.entity_reader(schema)(body, 0)
        assert size == len(body), "there is something behind the answer"
        found.append(read)
    theirs = THEIRS.get((key, False))
    if key == API_VERSIONS and body[:2] != bytes(2):
        return found  # they read an answer with an error as version 0
    if theirs is not None and version <= theirs.max_version:
        read = theirs.decode(body, version=version)
        read._header = None
        assert bytes(read.encode(version=version)) == body, "not the bytes they would write"
        found.append(read)
    if key in NO_CLIENT_ASKS:
        found.append(decode(APIS[key].response, version, body)[0])
    return found


def codes_in(read: Any) -> set[int]:
    """Every error code in it, however deep."""
    found: set[int] = set()
    if isinstance(read, (list, tuple)):
        return found.union(*map(codes_in, read))
    for name in names_of(read):
        value = getattr(read, name, None)
        if name in {"error_code", "partition_error_code"} and value is not None:
            found.add(int(value.value if isinstance(value, enum.Enum) else value))
        elif not isinstance(value, (str, bytes, int, type(None))):
            found |= codes_in(value)
    return found


def names_of(read: Any) -> list[str]:
    """Its fields, in either library."""
    if dataclasses.is_dataclass(read):
        return [field.name for field in dataclasses.fields(read)]
    if isinstance(read, Struct):
        return [field.name for field in read.FIELDS]
    struct = getattr(type(read), "_struct", None)
    return list(struct.fields) if struct else []
