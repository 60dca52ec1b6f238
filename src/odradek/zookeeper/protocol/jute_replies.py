"""What a server sends, as values: each knows its bytes, and can be read back.

A packet is a header (xid, zxid, error) and, where there is no error, a body whose shape follows
from the request's operation. A watch's event comes as a packet of its own, under the xid -1. The
answer to `Connect` has no header.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from odradek.zookeeper.protocol.codes import NOTIFICATION_XID, KeeperState, MalformedPacket, OpCode
from odradek.zookeeper.protocol.jute import (
    BOOL,
    INT,
    UNREADABLE,
    Acl,
    Decoded,
    Identity,
    Stat,
    malformed,
    put_acls,
    put_buffer,
    put_list,
    put_stat,
    put_text,
    put_texts,
    take_acls,
    take_bool,
    take_buffer,
    take_int,
    take_list,
    take_stat,
    take_text,
    take_texts,
)

_HEADER: Final = struct.Struct(">iqi")
_FRAMED_HEADER: Final = struct.Struct(">iiqi")
_CONNECTED: Final = struct.Struct(">iiq")
_EVENT: Final = struct.Struct(">ii")
_MULTI_HEADER: Final = struct.Struct(">i?i")
_MULTI_END: Final = _MULTI_HEADER.pack(-1, True, -1)  # noqa: FBT003 - a field of the wire


class Reply(Protocol):
    """What a server may answer."""

    def body(self) -> bytes:
        """Its bytes, without the header."""
        ...


class Connected(NamedTuple):
    """The answer to `Connect`. A time-out of 0 says that the session is gone."""

    timeout: int
    session_id: int
    password: bytes
    read_only: bool | None = False
    protocol: int = 0

    def body(self) -> bytes:
        """Its bytes; it has no header. The flag is left out for clients that sent none."""
        flag = b"" if self.read_only is None else BOOL.pack(self.read_only)
        head = _CONNECTED.pack(self.protocol, self.timeout, self.session_id)
        return head + put_buffer(self.password) + flag

    @classmethod
    def decode(cls, packet: bytes) -> "Connected":
        """The first packet that a server sends."""
        try:
            protocol, timeout, session_id = _CONNECTED.unpack_from(packet, 0)
            password, at = take_buffer(packet, _CONNECTED.size)
            read_only = take_bool(packet, at)[0] if at < len(packet) else None
        except UNREADABLE as error:
            raise malformed("a connect response", error) from error
        return cls(timeout, session_id, password or b"", read_only, protocol)


class Done(NamedTuple):
    """It happened; there is nothing more to say."""

    def body(self) -> bytes:
        """Nothing."""
        return b""


class StatReply(NamedTuple):
    """A node's stat, after exists, setData or setACL."""

    stat: Stat

    def body(self) -> bytes:
        """Stat."""
        return put_stat(self.stat)


class Data(NamedTuple):
    """A node's data."""

    data: bytes | None
    stat: Stat

    def body(self) -> bytes:
        """Data, stat."""
        return put_buffer(self.data) + put_stat(self.stat)


class Children(NamedTuple):
    """Names of children, or paths of ephemeral nodes."""

    names: list[str]

    def body(self) -> bytes:
        """Names."""
        return put_texts(self.names)


class Children2(NamedTuple):
    """Names of children, and the stat of their parent."""

    names: list[str]
    stat: Stat

    def body(self) -> bytes:
        """Names, stat."""
        return put_texts(self.names) + put_stat(self.stat)


class Created(NamedTuple):
    """The path of a new node, or the path that was synced."""

    path: str

    def body(self) -> bytes:
        """Path."""
        return put_text(self.path)


class Created2(NamedTuple):
    """The path and stat of a new node."""

    path: str
    stat: Stat

    def body(self) -> bytes:
        """Path, stat."""
        return put_text(self.path) + put_stat(self.stat)


class AclReply(NamedTuple):
    """A node's ACL and stat."""

    acl: tuple[Acl, ...]
    stat: Stat

    def body(self) -> bytes:
        """ACL, stat."""
        return put_acls(self.acl) + put_stat(self.stat)


class Number(NamedTuple):
    """A count; addWatch answers with 0."""

    number: int

    def body(self) -> bytes:
        """Number."""
        return INT.pack(self.number)


class Identities(NamedTuple):
    """Who the server takes this connection for."""

    identities: list[Identity]

    def body(self) -> bytes:
        """Identities."""
        return put_list(self.identities, _put_identity)


class SaslReply(NamedTuple):
    """One token of a server in a login by SASL."""

    token: bytes | None

    def body(self) -> bytes:
        """Token."""
        return put_buffer(self.token)


class Failed(NamedTuple):
    """Within the results of a multi: this one failed, or was not tried (0 or -2)."""

    code: int

    def body(self) -> bytes:
        """Code."""
        return INT.pack(self.code)


class Deleted(NamedTuple):
    """Within the results of a multi: a delete that happened."""

    def body(self) -> bytes:
        """Nothing."""
        return b""


class Checked(NamedTuple):
    """Within the results of a multi: a check that held."""

    def body(self) -> bytes:
        """Nothing."""
        return b""


Result = Created | Created2 | Deleted | StatReply | Checked | Data | Children | Failed


class Results(NamedTuple):
    """The outcomes of a multi, in the order of its operations."""

    results: list[Result]

    def body(self) -> bytes:
        """Each behind a small header, then a last header that says so."""
        parts: list[bytes] = []
        for result in self.results:
            error = result.code if isinstance(result, Failed) else 0
            parts += (multi_result(_RESULT_OPS[type(result)], error), result.body())
        parts.append(_MULTI_END)
        return b"".join(parts)


class Event(NamedTuple):
    """What a watch saw: an `EventType` on a path."""

    kind: int
    path: str
    state: int = KeeperState.SYNC_CONNECTED

    def body(self) -> bytes:
        """Kind, state, path."""
        return _EVENT.pack(self.kind, self.state) + put_text(self.path)


class ReplyHeader(NamedTuple):
    """Which request is answered, the newest transaction that the server knew, and the error."""

    xid: int
    zxid: int
    error: int


def multi_result(op: int, error: int = 0) -> bytes:
    """The small header ahead of one result of a multi, for a server that packs results itself."""
    return _MULTI_HEADER.pack(op, False, error)  # noqa: FBT003 - a field of the wire


def multi_end() -> bytes:
    """The last header of a multi's results."""
    return _MULTI_END


def framed_reply(header: ReplyHeader | tuple[int, int, int], body: bytes = b"") -> bytes:
    """A reply as it goes out. A plain tuple will do for its header, and is quicker made."""
    return _FRAMED_HEADER.pack(len(body) + 16, *header) + body


def framed_event(zxid: int, event: Event) -> bytes:
    """A watch's event as it goes out."""
    return framed_reply(ReplyHeader(NOTIFICATION_XID, zxid, 0), event.body())


def reply_header(packet: bytes) -> ReplyHeader:
    """The header, from the whole packet; the body is behind it, at 16."""
    if len(packet) < 16:
        raise MalformedPacket(f"a reply of {len(packet)} bytes has no room for its header")
    return ReplyHeader._make(_HEADER.unpack_from(packet))


def reply_body(op: int, packet: bytes) -> Reply:
    """What the answer to this operation says, from the whole packet."""
    take = _TAKERS.get(op)
    if take is None:
        raise MalformedPacket(f"an answer to operation {op}, which no request can have asked for")
    try:
        return take(packet, 16)[0]
    except UNREADABLE as error:
        raise malformed("a reply", error) from error


def event_body(packet: bytes) -> Event:
    """What a watch saw, from the whole packet."""
    try:
        kind, state = _EVENT.unpack_from(packet, 16)
        return Event(kind, take_text(packet, 24)[0], state)
    except UNREADABLE as error:
        raise malformed("an event", error) from error


def _put_identity(identity: Identity) -> bytes:
    return put_text(identity.scheme) + put_text(identity.id)


def _take_identity(data: bytes, at: int) -> Decoded[Identity]:
    scheme, at = take_text(data, at)
    name, at = take_text(data, at)
    return Identity(scheme, name), at


def _take_nothing(reply: Reply) -> Callable[[bytes, int], Decoded[Reply]]:
    def take(_data: bytes, at: int) -> Decoded[Reply]:
        return reply, at

    return take


def _take_stat_reply(data: bytes, at: int) -> Decoded[Reply]:
    stat, at = take_stat(data, at)
    return StatReply(stat), at


def _take_data(data: bytes, at: int) -> Decoded[Reply]:
    content, at = take_buffer(data, at)
    stat, at = take_stat(data, at)
    return Data(content, stat), at


def _take_children(data: bytes, at: int) -> Decoded[Reply]:
    names, at = take_texts(data, at)
    return Children(names), at


def _take_children2(data: bytes, at: int) -> Decoded[Reply]:
    names, at = take_texts(data, at)
    stat, at = take_stat(data, at)
    return Children2(names, stat), at


def _take_created(data: bytes, at: int) -> Decoded[Reply]:
    path, at = take_text(data, at)
    return Created(path), at


def _take_created2(data: bytes, at: int) -> Decoded[Reply]:
    path, at = take_text(data, at)
    stat, at = take_stat(data, at)
    return Created2(path, stat), at


def _take_acl_reply(data: bytes, at: int) -> Decoded[Reply]:
    acl, at = take_acls(data, at)
    stat, at = take_stat(data, at)
    return AclReply(acl, stat), at


def _take_number(data: bytes, at: int) -> Decoded[Reply]:
    number, at = take_int(data, at)
    return Number(number), at


def _take_identities(data: bytes, at: int) -> Decoded[Reply]:
    identities, at = take_list(data, at, _take_identity)
    return Identities(identities), at


def _take_sasl_reply(data: bytes, at: int) -> Decoded[Reply]:
    token, at = take_buffer(data, at)
    return SaslReply(token), at


def _take_failed(data: bytes, at: int) -> Decoded[Reply]:
    code, at = take_int(data, at)
    return Failed(code), at


def _take_results(data: bytes, at: int) -> Decoded[Reply]:
    results: list[Result] = []
    while True:
        op, done, _ = _MULTI_HEADER.unpack_from(data, at)
        at += 9
        if done:
            return Results(results), at
        take = _RESULT_TAKERS.get(op)
        if take is None:
            raise MalformedPacket(f"a result of operation {op} in a multi")
        result, at = take(data, at)
        results.append(result)  # type: ignore[arg-type] # the table holds results only


_Taker = Callable[[bytes, int], Decoded[Reply]]
_RESULT_OPS: Final[Mapping[type[Result], int]] = {
    Created: OpCode.CREATE,
    Created2: OpCode.CREATE2,
    Deleted: OpCode.DELETE,
    StatReply: OpCode.SET_DATA,
    Checked: OpCode.CHECK,
    Data: OpCode.GET_DATA,
    Children: OpCode.GET_CHILDREN,
    Failed: OpCode.ERROR,
}
_RESULT_TAKERS: Final[Mapping[int, _Taker]] = {
    OpCode.CREATE: _take_created,
    OpCode.CREATE2: _take_created2,
    OpCode.DELETE: _take_nothing(Deleted()),
    OpCode.SET_DATA: _take_stat_reply,
    OpCode.CHECK: _take_nothing(Checked()),
    OpCode.GET_DATA: _take_data,
    OpCode.GET_CHILDREN: _take_children,
    OpCode.ERROR: _take_failed,
}
_TAKERS: Final[Mapping[int, _Taker]] = {
    OpCode.PING: _take_nothing(Done()),
    OpCode.AUTH: _take_nothing(Done()),
    OpCode.CLOSE_SESSION: _take_nothing(Done()),
    OpCode.DELETE: _take_nothing(Done()),
    OpCode.SET_WATCHES: _take_nothing(Done()),
    OpCode.SET_WATCHES2: _take_nothing(Done()),
    OpCode.REMOVE_WATCHES: _take_nothing(Done()),
    OpCode.CHECK_WATCHES: _take_nothing(Done()),
    OpCode.ADD_WATCH: _take_number,
    OpCode.EXISTS: _take_stat_reply,
    OpCode.SET_DATA: _take_stat_reply,
    OpCode.SET_ACL: _take_stat_reply,
    OpCode.CHECK: _take_nothing(Done()),
    OpCode.GET_DATA: _take_data,
    OpCode.GET_CHILDREN: _take_children,
    OpCode.GET_CHILDREN2: _take_children2,
    OpCode.GET_EPHEMERALS: _take_children,
    OpCode.CREATE: _take_created,
    OpCode.CREATE2: _take_created2,
    OpCode.CREATE_CONTAINER: _take_created2,
    OpCode.CREATE_TTL: _take_created2,
    OpCode.SYNC: _take_created,
    OpCode.GET_ACL: _take_acl_reply,
    OpCode.GET_ALL_CHILDREN_NUMBER: _take_number,
    OpCode.WHO_AM_I: _take_identities,
    OpCode.SASL: _take_sasl_reply,
    OpCode.MULTI: _take_results,
    OpCode.MULTI_READ: _take_results,
}
