"""What a client sends, as values that know their bytes; `jute_request_reader` reads them back.

A packet is a header (xid, operation) and a body: `framed_request` makes one. The very first packet
of a connection, `Connect`, has no header.
"""

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from odradek.zookeeper.protocol.codes import OpCode
from odradek.zookeeper.protocol.jute import (
    BOOL,
    INT,
    LONG,
    OPEN_ACL,
    UNREADABLE,
    Acl,
    malformed,
    put_acls,
    put_buffer,
    put_text,
    put_texts,
    take_bool,
    take_buffer,
)

_FRAMED_HEADER: Final = struct.Struct(">iii")
_CONNECT: Final = struct.Struct(">iqiq")
_MULTI_HEADER: Final = struct.Struct(">i?i")
_MULTI_END: Final = _MULTI_HEADER.pack(-1, True, -1)  # noqa: FBT003 - a field of the wire


class Request(Protocol):
    """What a client may ask for."""

    def body(self) -> bytes:
        """Its bytes, without the header."""
        ...


class Connect(NamedTuple):
    """Opens a session, or takes up an old one. Clients before 3.4 leave `read_only` out: None."""

    last_zxid_seen: int
    timeout: int
    session_id: int = 0
    password: bytes = bytes(16)
    read_only: bool | None = False
    protocol: int = 0

    def body(self) -> bytes:
        """Its bytes; it has no header."""
        flag = b"" if self.read_only is None else BOOL.pack(self.read_only)
        head = _CONNECT.pack(self.protocol, self.last_zxid_seen, self.timeout, self.session_id)
        return head + put_buffer(self.password) + flag

    @classmethod
    def decode(cls, packet: bytes) -> "Connect":
        """The first packet of a connection."""
        try:
            protocol, zxid, timeout, session_id = _CONNECT.unpack_from(packet, 0)
            password, at = take_buffer(packet, _CONNECT.size)
            read_only = take_bool(packet, at)[0] if at < len(packet) else None
        except UNREADABLE as error:
            raise malformed("a connect request", error) from error
        return cls(zxid, timeout, session_id, password or b"", read_only, protocol)


class Ping(NamedTuple):
    """I am still here."""

    def body(self) -> bytes:
        """Nothing."""
        return b""


class CloseSession(NamedTuple):
    """Ends the session, and its ephemeral nodes with it."""

    def body(self) -> bytes:
        """Nothing."""
        return b""


class WhoAmI(NamedTuple):
    """Asks which identities this connection has."""

    def body(self) -> bytes:
        """Nothing."""
        return b""


class Unknown(NamedTuple):
    """An operation that is not spoken here."""

    number: int

    def body(self) -> bytes:
        """Nothing that we could write."""
        return b""


class GetData(NamedTuple):
    """Asks for a node's data."""

    path: str
    watch: bool = False

    def body(self) -> bytes:
        """Path, flag."""
        return put_text(self.path) + BOOL.pack(self.watch)


class Exists(NamedTuple):
    """Asks for a node's stat; the watch may be on a node that is not there yet."""

    path: str
    watch: bool = False

    def body(self) -> bytes:
        """Path, flag."""
        return put_text(self.path) + BOOL.pack(self.watch)


class GetChildren(NamedTuple):
    """Asks for the names of a node's children."""

    path: str
    watch: bool = False

    def body(self) -> bytes:
        """Path, flag."""
        return put_text(self.path) + BOOL.pack(self.watch)


class GetChildren2(NamedTuple):
    """Asks for the names of a node's children, and its stat."""

    path: str
    watch: bool = False

    def body(self) -> bytes:
        """Path, flag."""
        return put_text(self.path) + BOOL.pack(self.watch)


class Create(NamedTuple):
    """Makes a node; the answer is its path."""

    path: str
    data: bytes | None
    acl: tuple[Acl, ...] = OPEN_ACL
    mode: int = 0

    def body(self) -> bytes:
        """Path, data, ACL, mode."""
        head = put_text(self.path) + put_buffer(self.data)
        return head + put_acls(self.acl) + INT.pack(self.mode)


class Create2(NamedTuple):
    """Makes a node; the answer is its path and stat."""

    path: str
    data: bytes | None
    acl: tuple[Acl, ...] = OPEN_ACL
    mode: int = 0

    def body(self) -> bytes:
        """Path, data, ACL, mode."""
        head = put_text(self.path) + put_buffer(self.data)
        return head + put_acls(self.acl) + INT.pack(self.mode)


class CreateContainer(NamedTuple):
    """Makes a node that goes once it had children and has none any more."""

    path: str
    data: bytes | None
    acl: tuple[Acl, ...] = OPEN_ACL
    mode: int = 4

    def body(self) -> bytes:
        """Path, data, ACL, mode."""
        head = put_text(self.path) + put_buffer(self.data)
        return head + put_acls(self.acl) + INT.pack(self.mode)


class CreateTtl(NamedTuple):
    """Makes a node that goes when it has no children and was not written for so many ms."""

    path: str
    data: bytes | None
    acl: tuple[Acl, ...]
    mode: int
    ttl: int

    def body(self) -> bytes:
        """Path, data, ACL, mode, ttl."""
        head = put_text(self.path) + put_buffer(self.data) + put_acls(self.acl)
        return head + INT.pack(self.mode) + LONG.pack(self.ttl)


class Delete(NamedTuple):
    """Removes a node that has no children."""

    path: str
    version: int = -1

    def body(self) -> bytes:
        """Path, version."""
        return put_text(self.path) + INT.pack(self.version)


class Check(NamedTuple):
    """Within a multi: the rest happens only if this node has this version."""

    path: str
    version: int = -1

    def body(self) -> bytes:
        """Path, version."""
        return put_text(self.path) + INT.pack(self.version)


class SetData(NamedTuple):
    """Replaces a node's data."""

    path: str
    data: bytes | None
    version: int = -1

    def body(self) -> bytes:
        """Path, data, version."""
        return put_text(self.path) + put_buffer(self.data) + INT.pack(self.version)


class GetAcl(NamedTuple):
    """Asks who may do what with a node."""

    path: str

    def body(self) -> bytes:
        """Path."""
        return put_text(self.path)


class SetAcl(NamedTuple):
    """Replaces a node's ACL; the version is that of the ACL."""

    path: str
    acl: tuple[Acl, ...]
    version: int = -1

    def body(self) -> bytes:
        """Path, ACL, version."""
        return put_text(self.path) + put_acls(self.acl) + INT.pack(self.version)


class Sync(NamedTuple):
    """Asks that what follows be read from a state no older than now."""

    path: str

    def body(self) -> bytes:
        """Path."""
        return put_text(self.path)


class GetEphemerals(NamedTuple):
    """Asks for the paths of this session's ephemeral nodes."""

    prefix: str = ""

    def body(self) -> bytes:
        """Prefix."""
        return put_text(self.prefix)


class GetAllChildrenNumber(NamedTuple):
    """Asks how many nodes there are below one."""

    path: str

    def body(self) -> bytes:
        """Path."""
        return put_text(self.path)


class SetWatches(NamedTuple):
    """Arms a session's watches anew on a new connection, as of a transaction."""

    relative_zxid: int
    data: list[str]
    exist: list[str]
    child: list[str]

    def body(self) -> bytes:
        """Zxid, three lists of paths."""
        lists = (self.data, self.exist, self.child)
        return LONG.pack(self.relative_zxid) + b"".join(map(put_texts, lists))


class SetWatches2(NamedTuple):
    """The same, with the persistent ones."""

    relative_zxid: int
    data: list[str]
    exist: list[str]
    child: list[str]
    persistent: list[str]
    persistent_recursive: list[str]

    def body(self) -> bytes:
        """Zxid, five lists of paths."""
        lists = (self.data, self.exist, self.child, self.persistent, self.persistent_recursive)
        return LONG.pack(self.relative_zxid) + b"".join(map(put_texts, lists))


class AddWatch(NamedTuple):
    """Arms a watch that stays: an `AddWatchMode`."""

    path: str
    mode: int

    def body(self) -> bytes:
        """Path, mode."""
        return put_text(self.path) + INT.pack(self.mode)


class RemoveWatches(NamedTuple):
    """Disarms watches: a `WatcherType`."""

    path: str
    kind: int

    def body(self) -> bytes:
        """Path, kind."""
        return put_text(self.path) + INT.pack(self.kind)


class CheckWatches(NamedTuple):
    """Asks whether there are such watches: a `WatcherType`."""

    path: str
    kind: int

    def body(self) -> bytes:
        """Path, kind."""
        return put_text(self.path) + INT.pack(self.kind)


class Auth(NamedTuple):
    """Gives this connection one more identity."""

    scheme: str
    credentials: bytes | None
    kind: int = 0

    def body(self) -> bytes:
        """Kind, scheme, credentials."""
        return INT.pack(self.kind) + put_text(self.scheme) + put_buffer(self.credentials)


class Sasl(NamedTuple):
    """One token of a client that proves its name by SASL."""

    token: bytes | None

    def body(self) -> bytes:
        """Token."""
        return put_buffer(self.token)


WriteOp = Create | Create2 | CreateContainer | CreateTtl | Delete | SetData | Check
ReadOp = GetData | GetChildren


class Multi(NamedTuple):
    """Several writes: all of them happen, or none."""

    ops: tuple[WriteOp, ...]

    def body(self) -> bytes:
        """Each behind a small header, then a last header that says so."""
        return _put_ops(self.ops)


class MultiRead(NamedTuple):
    """Several reads, each with its own outcome."""

    ops: tuple[ReadOp, ...]

    def body(self) -> bytes:
        """Each behind a small header, then a last header that says so."""
        return _put_ops(self.ops)


OPS: Final[Mapping[type[Request], OpCode]] = {
    Ping: OpCode.PING,
    CloseSession: OpCode.CLOSE_SESSION,
    WhoAmI: OpCode.WHO_AM_I,
    GetData: OpCode.GET_DATA,
    Exists: OpCode.EXISTS,
    GetChildren: OpCode.GET_CHILDREN,
    GetChildren2: OpCode.GET_CHILDREN2,
    Create: OpCode.CREATE,
    Create2: OpCode.CREATE2,
    CreateContainer: OpCode.CREATE_CONTAINER,
    CreateTtl: OpCode.CREATE_TTL,
    Delete: OpCode.DELETE,
    Check: OpCode.CHECK,
    SetData: OpCode.SET_DATA,
    GetAcl: OpCode.GET_ACL,
    SetAcl: OpCode.SET_ACL,
    Sync: OpCode.SYNC,
    GetEphemerals: OpCode.GET_EPHEMERALS,
    GetAllChildrenNumber: OpCode.GET_ALL_CHILDREN_NUMBER,
    SetWatches: OpCode.SET_WATCHES,
    SetWatches2: OpCode.SET_WATCHES2,
    AddWatch: OpCode.ADD_WATCH,
    RemoveWatches: OpCode.REMOVE_WATCHES,
    CheckWatches: OpCode.CHECK_WATCHES,
    Auth: OpCode.AUTH,
    Sasl: OpCode.SASL,
    Multi: OpCode.MULTI,
    MultiRead: OpCode.MULTI_READ,
}


def _put_ops(ops: tuple[WriteOp | ReadOp, ...]) -> bytes:
    parts = []
    for op in ops:
        parts.append(_MULTI_HEADER.pack(OPS[type(op)], False, -1))  # noqa: FBT003 - a field of the wire
        parts.append(op.body())
    parts.append(_MULTI_END)
    return b"".join(parts)


def framed_request(xid: int, request: Request) -> bytes:
    """A request as it goes out."""
    body = request.body()
    return _FRAMED_HEADER.pack(len(body) + 8, xid, OPS[type(request)]) + body
