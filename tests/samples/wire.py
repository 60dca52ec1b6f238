"""Messages to try the codec with: every class that there is, and values for any version of it."""

import importlib
import pkgutil
from collections.abc import Iterator
from random import Random
from typing import Any

from odradek.wire import messages
from odradek.wire.schema import (
    BOOL,
    BYTES,
    FLOAT64,
    RECORDS,
    UUID,
    Array,
    Field,
    Message,
    Primitive,
    RecordKey,
    RecordValue,
    Request,
    Response,
    Struct,
    Type,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789._-äπ語"


def classes() -> list[type[Message]]:
    """Every message class, in a fixed order."""
    bases = {Message, Request, Response, RecordKey, RecordValue}
    found = []
    for module in sorted(module.name for module in pkgutil.iter_modules(messages.__path__)):
        names = vars(importlib.import_module(f"odradek.wire.messages.{module}"))
        found += [
            item
            for item in names.values()
            if isinstance(item, type) and issubclass(item, Message) and item not in bases
        ]
    return found


def pairs() -> Iterator[tuple[type[Message], int]]:
    """Every message at every version."""
    for message in classes():
        for version in message.VERSIONS:
            yield message, version


def sample(message: type[Message], version: int, random: Random) -> Any:
    """A message whose fields of this version have values; the others keep their defaults."""
    return _struct(message, version, random)


def _struct(kind: type[Struct], version: int, random: Random) -> Any:
    values = {
        field.name: _field(field, version, random)
        for field in kind.FIELDS
        if field.present(version) and (field.tag is None or random.random() < 0.5)
    }
    return kind(**values)


def _field(field: Field, version: int, random: Random) -> Any:
    if field.nullable(version) and random.random() < 0.25:
        return None
    return _value(field.type, version, random)


def _value(kind: Type, version: int, random: Random) -> Any:
    if isinstance(kind, Array):
        most = 140 if isinstance(kind.of, Primitive) and random.random() < 0.05 else 4
        return [_value(kind.of, version, random) for _ in range(random.randrange(most))]
    if not isinstance(kind, Primitive):
        return _struct(kind, version, random)
    if kind is BOOL:
        return random.random() < 0.5
    if kind is FLOAT64:
        return random.choice([0.0, -1.5, 1e300])
    if kind is UUID:
        return random.randbytes(16)
    if kind is RECORDS or kind is BYTES:
        return random.randbytes(random.choice([0, 1, 100, 200, 5000]))
    if kind.code:
        return _number(kind, random)
    return "".join(random.choices(LETTERS, k=random.choice([0, 1, 3, 20, 126, 127, 128, 300])))


def _number(kind: Primitive, random: Random) -> int:
    bits = kind.size * 8
    low, high = (0, 1 << bits) if kind.code.isupper() else (-(1 << bits - 1), 1 << bits - 1)
    return random.choice([low, high - 1, 0, 1, random.randrange(low, high)])
