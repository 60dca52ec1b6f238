"""Messages to try the codec with: every class that there is, and values for any version of it."""

import importlib
import pkgutil
from random import Random
from typing import Any, TypeVar

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

S = TypeVar("S", bound=Struct)

OURS = 10_000  # tags from here on are not Kafka's
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


def sample(kind: type[S], version: int, random: Random, *, tame: bool = False) -> S:
    """A struct whose fields of this version have values; the others keep their defaults.

    `tame`: only what other libraries give a meaning to. They have enums of error codes, durations
    that are not negative, and ids that are not zero; and none of our own tagged fields.
    """
    return _Sampler(random, tame=tame).struct(kind, version)


class _Sampler:
    def __init__(self, random: Random, *, tame: bool) -> None:
        self.random = random
        self.tame = tame

    def struct(self, kind: type[S], version: int) -> S:
        values = {
            field.name: self.field(field, version)
            for field in kind.FIELDS
            if field.present(version) and (field.tag is None or self.has(field.tag))
        }
        return kind(**values)

    def has(self, tag: int) -> bool:
        return self.random.random() < 0.5 and not (self.tame and tag >= OURS)

    def field(self, field: Field, version: int) -> Any:
        if field.nullable(version) and self.random.random() < 0.25:
            return None
        if self.tame and "error_code" in field.name:
            return self.random.choice([0, 1, 3, 5])
        value = self.value(field.type, version)
        silent = field.tag is not None and isinstance(value, Struct) and value == type(value)()
        return None if silent else value  # a tagged struct that says nothing is not written

    def value(self, kind: Type, version: int) -> Any:
        random = self.random
        if isinstance(kind, Array):
            most = 140 if isinstance(kind.of, Primitive) and random.random() < 0.05 else 4
            return [self.value(kind.of, version) for _ in range(random.randrange(most))]
        if not isinstance(kind, Primitive):
            return self.struct(kind, version)
        if kind is BOOL:
            return random.random() < 0.5
        if kind is FLOAT64:
            return random.choice([0.0, -1.5, 1e300])
        if kind is UUID:
            return random.randbytes(16)
        if kind is RECORDS or kind is BYTES:
            return random.randbytes(random.choice([0, 1, 100, 200, 5000]))
        if kind.code:
            return self.number(kind)
        return "".join(random.choices(LETTERS, k=random.choice([0, 1, 3, 20, 126, 127, 128, 300])))

    def number(self, kind: Primitive) -> int:
        bits = kind.size * 8
        if self.tame:
            return self.random.randrange(1, min(1 << bits - 1, 100_000))
        low, high = (0, 1 << bits) if kind.code.isupper() else (-(1 << bits - 1), 1 << bits - 1)
        return self.random.choice([low, high - 1, 0, 1, self.random.randrange(low, high)])
