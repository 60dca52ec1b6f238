"""What the server wrote down: changes as values, and their bytes in the journal.

A change is a fact, decided already: replaying it needs no rule, asks no permission and cannot
fail. A transaction is all the changes that happen together, under one number. The bytes are ours,
not ZooKeeper's log; they begin with their version, so that a later one can be told apart.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from odradek.zookeeper.protocol.codes import MalformedPacket
from odradek.zookeeper.protocol.jute import (
    INT,
    LONG,
    UNREADABLE,
    Acl,
    Decoded,
    malformed,
    put_acls,
    put_buffer,
    put_text,
    take_acls,
    take_buffer,
    take_int,
    take_long,
    take_text,
)

FORMAT: Final = 1

_HEADER: Final = struct.Struct(">bqi")
_OPENED: Final = struct.Struct(">bqi")
_DATA_SET: Final = struct.Struct(">bi")
_LENGTH_AND_VERSION: Final = struct.Struct(">ii")


class NodeCreated(NamedTuple):
    """A node came into being; its parent counts one more creation."""

    path: str
    data: bytes | None
    acl: tuple[Acl, ...]
    owner: int  # the session's number, or the mark of a container or a TTL, or 0


class NodeDeleted(NamedTuple):
    """A node went."""

    path: str


class DataSet(NamedTuple):
    """A node's data was replaced."""

    path: str
    data: bytes | None
    version: int  # the new one


class AclSet(NamedTuple):
    """A node's ACL was replaced."""

    path: str
    acl: tuple[Acl, ...]
    version: int  # the new one, of the ACL


class SessionOpened(NamedTuple):
    """A client came."""

    session_id: int
    timeout: int
    password: bytes


class SessionClosed(NamedTuple):
    """A session ended, by its client or by its time-out; its ephemeral nodes went with it."""

    session_id: int


Change = NodeCreated | NodeDeleted | DataSet | AclSet | SessionOpened | SessionClosed


class Transaction(NamedTuple):
    """Changes that happen together."""

    zxid: int
    time: int
    changes: tuple[Change, ...]

    def encode(self) -> bytes:
        """Its bytes in the journal; the number stands beside them."""
        parts = [_HEADER.pack(FORMAT, self.time, len(self.changes))]
        parts += [_PUTTERS[type(change)](change) for change in self.changes]
        return b"".join(parts)

    @classmethod
    def decode(cls, zxid: int, data: bytes) -> "Transaction":
        """The inverse; `MalformedPacket` for bytes that are none of ours."""
        what = f"the transaction {zxid:#x}"
        try:
            version, time, count = _HEADER.unpack_from(data, 0)
            if version != FORMAT:
                raise MalformedPacket(f"{what} has the format {version}; this is {FORMAT}")
            changes = []
            at = _HEADER.size
            for _ in range(count):
                change, at = _TAKERS[data[at]](data, at + 1)
                changes.append(change)
        except (*UNREADABLE, LookupError) as error:
            raise malformed(what, error) from error
        if at != len(data):
            raise MalformedPacket(f"{what} has {len(data) - at} bytes too many")
        return cls(zxid, time, tuple(changes))


def _put_created(change: NodeCreated) -> bytes:
    head = b"\1" + put_text(change.path) + put_buffer(change.data)
    return head + put_acls(change.acl) + LONG.pack(change.owner)


def _put_deleted(change: NodeDeleted) -> bytes:
    return b"\2" + put_text(change.path)


def _put_data_set(change: DataSet) -> bytes:
    path, data, version = change
    raw = path.encode()
    if data is None:
        return _DATA_SET.pack(3, len(raw)) + raw + _LENGTH_AND_VERSION.pack(-1, version)
    parts = (_DATA_SET.pack(3, len(raw)), raw, INT.pack(len(data)), data, INT.pack(version))
    return b"".join(parts)


def _put_acl_set(change: AclSet) -> bytes:
    return b"\4" + put_text(change.path) + put_acls(change.acl) + INT.pack(change.version)


def _put_opened(change: SessionOpened) -> bytes:
    return _OPENED.pack(5, change.session_id, change.timeout) + put_buffer(change.password)


def _put_closed(change: SessionClosed) -> bytes:
    return b"\6" + LONG.pack(change.session_id)


def _take_created(data: bytes, at: int) -> Decoded[Change]:
    path, at = take_text(data, at)
    content, at = take_buffer(data, at)
    acl, at = take_acls(data, at)
    owner, at = take_long(data, at)
    return NodeCreated(path, content, acl, owner), at


def _take_deleted(data: bytes, at: int) -> Decoded[Change]:
    path, at = take_text(data, at)
    return NodeDeleted(path), at


def _take_data_set(data: bytes, at: int) -> Decoded[Change]:
    path, at = take_text(data, at)
    content, at = take_buffer(data, at)
    version, at = take_int(data, at)
    return DataSet(path, content, version), at


def _take_acl_set(data: bytes, at: int) -> Decoded[Change]:
    path, at = take_text(data, at)
    acl, at = take_acls(data, at)
    version, at = take_int(data, at)
    return AclSet(path, acl, version), at


def _take_opened(data: bytes, at: int) -> Decoded[Change]:
    session_id, at = take_long(data, at)
    timeout, at = take_int(data, at)
    password, at = take_buffer(data, at)
    return SessionOpened(session_id, timeout, password or b""), at


def _take_closed(data: bytes, at: int) -> Decoded[Change]:
    session_id, at = take_long(data, at)
    return SessionClosed(session_id), at


_PUTTERS: Final[Mapping[type[Change], Callable[..., bytes]]] = {
    NodeCreated: _put_created,
    NodeDeleted: _put_deleted,
    DataSet: _put_data_set,
    AclSet: _put_acl_set,
    SessionOpened: _put_opened,
    SessionClosed: _put_closed,
}
_TAKERS: Final[Mapping[int, Callable[[bytes, int], Decoded[Change]]]] = {
    1: _take_created,
    2: _take_deleted,
    3: _take_data_set,
    4: _take_acl_set,
    5: _take_opened,
    6: _take_closed,
}
