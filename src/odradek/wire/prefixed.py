"""Messages that say their own version, in an int16 before them.

Such are the records of the internal topics (in a key the number is the record's type) and what
consumers put, opaque to the broker, into JoinGroup and SyncGroup.
"""

import struct
from typing import Final, TypeVar

from odradek.model.errors import InvalidRecord, MalformedRequest, UnsupportedVersion
from odradek.wire.apis import RECORD_TYPES
from odradek.wire.codec import decode, encoded
from odradek.wire.schema import Buffer, Message, RecordKey, RecordValue

M = TypeVar("M", bound=Message)

_PREFIX: Final = struct.Struct(">h")


class UnknownRecord(UnsupportedVersion):
    """A record of a type or a version that is newer than we are: a reader may pass over it."""


def write_prefixed(message: Message, version: int) -> bytes:
    """The version, and the message in it."""
    return _PREFIX.pack(version) + encoded(message, version)


def read_prefixed(message: type[M], data: Buffer) -> M:
    """A message in the version that it says; a newer one is read as the newest that we know.

    This is how consumers read each other's subscriptions: later versions only add at the end.
    """
    version = _prefix(data)
    if version < 0:
        raise MalformedRequest(f"{message.__name__}: version {version}")
    return decode(message, min(version, message.VERSIONS[-1]), data, _PREFIX.size)[0]


def write_key(key: RecordKey) -> bytes:
    """The key of a record in an internal topic."""
    return _PREFIX.pack(key.TYPE) + encoded(key, 0)


def read_key(topic: str, data: Buffer) -> RecordKey:
    """What a record in an internal topic is about; the class says which type it is."""
    try:
        number = _prefix(data)
        kind = RECORD_TYPES.get((topic, number))
        if kind is None:
            raise UnknownRecord(f"{topic}: no record is of type {number}")
        return decode(kind.key, 0, data, _PREFIX.size)[0]
    except MalformedRequest as error:
        raise InvalidRecord(f"the key of a record in {topic}: {error}") from error


def write_value(value: RecordValue, version: int) -> bytes:
    """The value of a record in an internal topic."""
    return write_prefixed(value, version)


def read_value(key: RecordKey, data: Buffer) -> RecordValue:
    """The value that belongs to this key. The absence of one, a tombstone, is the caller's."""
    kind = RECORD_TYPES[key.TOPIC, key.TYPE]
    try:
        version = _prefix(data)
        if version not in kind.value.VERSIONS:
            raise UnknownRecord(f"{kind.value.__name__} v{version} is not known")
        return decode(kind.value, version, data, _PREFIX.size)[0]
    except MalformedRequest as error:
        raise InvalidRecord(f"the value of a record in {key.TOPIC}: {error}") from error


def _prefix(data: Buffer) -> int:
    try:
        number: int = _PREFIX.unpack_from(data)[0]
    except struct.error:
        raise MalformedRequest(f"a version has two bytes, not {len(data)}") from None
    return number
