"""Jute, ZooKeeper's encoding: primitives, and how packets are cut from a stream.

Big-endian numbers; strings and buffers behind a four-byte length, where -1 is null; lists behind
a four-byte count. Every decoder is a function of (data, at) that gives (value, at behind it). A
length or count is believed only after it was held against the bytes that are there.

The functions here may raise `struct.error` where the data ends too early: that check is free in
the struct module, and at the edge of a whole packet `malformed` makes a `MalformedPacket` of it.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from odradek.zookeeper.protocol.codes import MalformedPacket

PACKET_BYTES_MAX: Final = 0xFFFFF  # jute.maxbuffer, as ZooKeeper has it: one byte below a MiB

INT: Final = struct.Struct(">i")
LONG: Final = struct.Struct(">q")
BOOL: Final = struct.Struct(">?")
STAT: Final = struct.Struct(">qqqqiiiqiiq")

T = TypeVar("T")
Decoded = tuple[T, int]


class Stat(NamedTuple):
    """What ZooKeeper knows of a node besides its data."""

    czxid: int  # the transaction that made it
    mzxid: int  # the one that last wrote its data
    ctime: int
    mtime: int
    version: int  # counts the writes of its data
    cversion: int  # counts the changes of its list of children
    aversion: int  # counts the changes of its ACL
    ephemeral_owner: int  # the session, or the container's or TTL's mark, or 0
    data_length: int
    num_children: int
    pzxid: int  # the transaction that last changed its list of children


class Identity(NamedTuple):
    """Somebody: a scheme, and a name within it."""

    scheme: str
    id: str


class Acl(NamedTuple):
    """Who may do what with a node: a sum of `Permission` bits for one identity."""

    permissions: int
    identity: Identity


ANYONE: Final = Identity("world", "anyone")
OPEN_ACL: Final = (Acl(31, ANYONE),)


UNREADABLE: Final = (struct.error, UnicodeDecodeError)


def malformed(what: str, error: Exception) -> MalformedPacket:
    """What to raise instead of an `UNREADABLE` error from between bytes and values."""
    if isinstance(error, UnicodeDecodeError):
        return MalformedPacket(f"{what} has a string that is not UTF-8")
    return MalformedPacket(f"{what} is cut short")


def put_text(value: str) -> bytes:
    """A string behind its length."""
    raw = value.encode()
    return INT.pack(len(raw)) + raw


def put_buffer(value: bytes | None) -> bytes:
    """Bytes behind their length; None is not the same as no bytes."""
    return b"\xff\xff\xff\xff" if value is None else INT.pack(len(value)) + value


def put_list(items: Sequence[T], put: Callable[[T], bytes]) -> bytes:
    """Items behind their count."""
    return INT.pack(len(items)) + b"".join([put(item) for item in items])


def put_texts(values: Sequence[str]) -> bytes:
    """Strings behind their count."""
    return put_list(values, put_text)


def put_acl(acl: Acl) -> bytes:
    """One entry of an access control list."""
    return INT.pack(acl.permissions) + put_text(acl.identity.scheme) + put_text(acl.identity.id)


def put_acls(acls: Sequence[Acl]) -> bytes:
    """An access control list."""
    return put_list(acls, put_acl)


_OPEN_ACL_BYTES: Final = put_acls(OPEN_ACL)


def put_stat(stat: Stat) -> bytes:
    """The 68 bytes of a stat."""
    return STAT.pack(*stat)


def take_int(data: bytes, at: int) -> Decoded[int]:
    """Four bytes."""
    return INT.unpack_from(data, at)[0], at + 4


def take_long(data: bytes, at: int) -> Decoded[int]:
    """Eight bytes."""
    return LONG.unpack_from(data, at)[0], at + 8


def take_bool(data: bytes, at: int) -> Decoded[bool]:
    """One byte: anything but zero is true."""
    return BOOL.unpack_from(data, at)[0], at + 1


def take_buffer(data: bytes, at: int) -> Decoded[bytes | None]:
    """Bytes behind their length, or None for null."""
    length: int = INT.unpack_from(data, at)[0]
    start = at + 4
    end = start + length
    if length < 0:
        if length == -1:
            return None, start
        raise MalformedPacket(f"a length of {length}")
    if end > len(data):
        raise MalformedPacket(f"a length of {length} where {len(data) - start} bytes are left")
    return data[start:end], end


def take_text(data: bytes, at: int) -> Decoded[str]:
    """A string behind its length. Null becomes the empty one: neither is a path."""
    length: int = INT.unpack_from(data, at)[0]
    start = at + 4
    end = start + length
    if length < 0:
        if length == -1:
            return "", start
        raise MalformedPacket(f"a length of {length}")
    if end > len(data):
        raise MalformedPacket(f"a length of {length} where {len(data) - start} bytes are left")
    return data[start:end].decode(), end


def take_list(data: bytes, at: int, take: Callable[[bytes, int], Decoded[T]]) -> Decoded[list[T]]:
    """Items behind their count; null is no items. Each takes four bytes at the least."""
    count, at = take_int(data, at)
    if count < -1 or count * 4 > len(data) - at:
        raise MalformedPacket(f"a count of {count} where {len(data) - at} bytes are left")
    items = []
    for _ in range(count):
        item, at = take(data, at)
        items.append(item)
    return items, at


def take_texts(data: bytes, at: int) -> Decoded[list[str]]:
    """Strings behind their count."""
    return take_list(data, at, take_text)


def take_acl(data: bytes, at: int) -> Decoded[Acl]:
    """One entry of an access control list."""
    permissions, at = take_int(data, at)
    scheme, at = take_text(data, at)
    name, at = take_text(data, at)
    return Acl(permissions, Identity(scheme, name)), at


def take_acls(data: bytes, at: int) -> Decoded[tuple[Acl, ...]]:
    """An access control list. The open one, which most nodes have, is always the same object."""
    if data.startswith(_OPEN_ACL_BYTES, at):
        return OPEN_ACL, at + len(_OPEN_ACL_BYTES)
    acls, at = take_list(data, at, take_acl)
    return tuple(acls), at


def take_stat(data: bytes, at: int) -> Decoded[Stat]:
    """The 68 bytes of a stat."""
    return Stat._make(STAT.unpack_from(data, at)), at + 68


def framed(*parts: bytes) -> bytes:
    """A packet as it goes out: its length, then its parts."""
    body = b"".join(parts)
    return INT.pack(len(body)) + body


class Packets:
    """Cuts a stream into packets. What came of an unfinished one is kept; a claim costs nothing.

    Memory grows with the bytes that arrived, never with the length that was announced.
    """

    def __init__(self, limit: int = PACKET_BYTES_MAX) -> None:
        self.limit = limit
        self.fault: MalformedPacket | None = None  # a length out of bounds: nothing can follow it
        self._rest = bytearray()

    def feed(self, chunk: bytes | memoryview) -> list[bytes]:
        """Every packet that is whole now, without its length; look at `fault` afterwards."""
        rest = self._rest
        if rest:
            rest += chunk
            if len(rest) < 4 or len(rest) < 4 + self._announced(rest, 0):
                return []
            data = bytes(rest)
            rest.clear()
        else:
            data = bytes(chunk)
        packets = []
        at, size = 0, len(data)
        while self.fault is None and size - at >= 4:
            end = at + 4 + self._announced(data, at)
            if end > size or self.fault is not None:
                break
            packets.append(data[at + 4 : end])
            at = end
        rest += memoryview(data)[at:]
        return packets

    def _announced(self, data: bytes | bytearray, at: int) -> int:
        length: int = INT.unpack_from(data, at)[0]
        if not 0 <= length <= self.limit:
            self.fault = MalformedPacket(
                f"a packet of {length} bytes; from 0 to {self.limit} are allowed"
            )
        return length
