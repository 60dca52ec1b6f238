"""Reads: from a request to the bytes of its answer, in the order of ZooKeeper's checks.

They look at the database as it is now, ahead of the journal; the server sees to it that what they
say waits for it. A watch is armed by the read that succeeds, and by `exists` also where there is
nothing yet.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from odradek.zookeeper.protocol.codes import (
    AddWatchMode,
    KeeperCode,
    KeeperError,
    MalformedPacket,
    OpCode,
    Permission,
    WatcherType,
)
from odradek.zookeeper.protocol.jute import INT, Identity, put_acls, put_buffer, put_text, put_texts
from odradek.zookeeper.protocol.jute_replies import Identities, multi_end, multi_result
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    CheckWatches,
    Exists,
    GetAcl,
    GetAllChildrenNumber,
    GetChildren,
    GetChildren2,
    GetData,
    GetEphemerals,
    MultiRead,
    RemoveWatches,
    SetWatches,
    SetWatches2,
    Sync,
    WhoAmI,
)
from odradek.zookeeper.protocol.paths import path_fault
from odradek.zookeeper.server.connection import Connection
from odradek.zookeeper.server.settings import ServerSettings
from odradek.zookeeper.tree.access import check_access, shown_acl, user_of
from odradek.zookeeper.tree.database import Database
from odradek.zookeeper.tree.tree import Node
from odradek.zookeeper.tree.watches import Mode, Watches, missed


class Readable(Protocol):
    """What of the server a read needs."""

    database: Database
    watches: Watches[Connection]
    settings: ServerSettings

    def tell(self, connection: Connection, kind: int, path: str) -> None:
        """Queues an event that the connection missed."""
        ...


def _get_data(server: Readable, connection: Connection, request: GetData) -> bytes:
    path, watch = request
    node = _readable(server, connection, path)
    if watch:
        _arm(server, path, connection, data=True)
    return put_buffer(node.data) + node.stat_bytes()


def _exists(server: Readable, connection: Connection, request: Exists) -> bytes:
    path, watch = request
    node = server.database.tree.nodes.get(path)
    if node is not None:
        check_access(node.acl, Permission.READ, connection.identities, path)
    elif "\0" in path:
        raise KeeperError(KeeperCode.BADARGUMENTS, path_fault(path) or "")
    if watch:
        _arm(server, path, connection, data=True)
    if node is None:
        raise KeeperError(KeeperCode.NONODE, path)
    return node.stat_bytes()


def _get_children(server: Readable, connection: Connection, request: GetChildren) -> bytes:
    path, watch = request
    node = _readable(server, connection, path)
    if watch:
        _arm(server, path, connection, data=False)
    return put_texts(list(node.children))


def _get_children2(server: Readable, connection: Connection, request: GetChildren2) -> bytes:
    path, watch = request
    node = _readable(server, connection, path)
    if watch:
        _arm(server, path, connection, data=False)
    return put_texts(list(node.children)) + node.stat_bytes()


def _get_acl(server: Readable, connection: Connection, request: GetAcl) -> bytes:
    wanted = Permission.READ | Permission.ADMIN
    node = _readable(server, connection, request.path, wanted)
    return put_acls(shown_acl(node.acl, connection.identities)) + node.stat_bytes()


def _count_below(server: Readable, connection: Connection, request: GetAllChildrenNumber) -> bytes:
    _readable(server, connection, request.path)
    return INT.pack(sum(1 for _ in server.database.tree.below(request.path)))


def _get_ephemerals(server: Readable, connection: Connection, request: GetEphemerals) -> bytes:
    assert connection.session is not None
    mine = server.database.tree.ephemerals.get(connection.session.id, {})
    prefix = request.prefix.strip()
    return put_texts([path for path in mine if path.startswith(prefix)])


def _sync(server: Readable, connection: Connection, request: Sync) -> bytes:
    del server, connection  # one server is always in step with itself
    return put_text(request.path)


def _who_am_i(server: Readable, connection: Connection, request: WhoAmI) -> bytes:
    del server, request
    shown = [Identity(own.scheme, user_of(own)) for own in connection.identities]
    return Identities(shown).body()


def _multi_read(server: Readable, connection: Connection, request: MultiRead) -> bytes:
    parts = []
    room: int = server.settings.multi_read_bytes_max
    for op in request.ops:
        if room < 0:
            raise KeeperError(KeeperCode.MARSHALLINGERROR, "the answers would be too large")
        try:
            body = READERS[type(op)](server, connection, op)
            number = OpCode.GET_DATA if isinstance(op, GetData) else OpCode.GET_CHILDREN
            parts.append(multi_result(number) + body)
            room -= len(body)
        except KeeperError as error:
            code = error.keeper_code
            parts.append(multi_result(OpCode.ERROR, code) + INT.pack(code))
    parts.append(multi_end())
    return b"".join(parts)


def _add_watch(server: Readable, connection: Connection, request: AddWatch) -> bytes:
    path, number = request
    if number not in AddWatchMode._value2member_map_:
        raise MalformedPacket(f"unknown watch mode {number}")
    fault = path_fault(path)
    if fault is not None:
        raise KeeperError(KeeperCode.BADARGUMENTS, fault)
    _check_watches_room(server, connection)
    recursive = number == AddWatchMode.PERSISTENT_RECURSIVE
    server.watches.add(path, connection, Mode.RECURSIVE if recursive else Mode.PERSISTENT)
    return INT.pack(0)


def _remove_watches(server: Readable, connection: Connection, request: RemoveWatches) -> bytes:
    path, kind = request
    _check_kind(kind)
    if not server.watches.remove(path, connection, kind):
        raise KeeperError(KeeperCode.NOWATCHER, path)
    return b""


def _check_watches(server: Readable, connection: Connection, request: CheckWatches) -> bytes:
    path, kind = request
    _check_kind(kind)
    if not server.watches.has(path, connection, kind):
        raise KeeperError(KeeperCode.NOWATCHER, path)
    return b""


def _set_watches(
    server: Readable, connection: Connection, request: SetWatches | SetWatches2
) -> bytes:
    """Arms what a session had on another connection; what it missed it hears now, before that."""
    persistent: Iterable[str] = ()
    recursive: Iterable[str] = ()
    if isinstance(request, SetWatches2):
        persistent, recursive = request.persistent, request.persistent_recursive
    tree, since, watches = server.database.tree, request.relative_zxid, server.watches
    groups = (
        (request.data, WatcherType.DATA, watches.data),
        (request.exist, WatcherType.ANY, watches.data),
        (request.child, WatcherType.CHILDREN, watches.child),
    )
    for paths, kind, table in groups:
        _check_paths(paths)
        for path, event in missed(tree, since, paths, kind=kind):
            if event is None:
                _check_watches_room(server, connection)
                table.add(path, connection, Mode.STANDARD)
            else:
                server.tell(connection, event, path)
    for lasting, mode in ((persistent, Mode.PERSISTENT), (recursive, Mode.RECURSIVE)):
        _check_paths(lasting)
        for path in lasting:
            _check_watches_room(server, connection)
            watches.add(path, connection, mode)
    return b""


def _readable(
    server: Readable, connection: Connection, path: str, wanted: int = Permission.READ
) -> Node:
    node = server.database.tree.nodes.get(path)
    if node is None:
        raise KeeperError(KeeperCode.NONODE, path)
    check_access(node.acl, wanted, connection.identities, path)
    return node


def _arm(server: Readable, path: str, connection: Connection, *, data: bool) -> None:
    _check_watches_room(server, connection)
    table = server.watches.data if data else server.watches.child
    table.add(path, connection, Mode.STANDARD)


def _check_watches_room(server: Readable, connection: Connection) -> None:
    watches, settings = server.watches, server.settings
    if watches.count() >= settings.watches_max:
        sentence = f"{settings.watches_max} watches are all there may be"
    elif watches.count_of(connection) >= settings.watches_per_connection_max:
        sentence = f"{settings.watches_per_connection_max} watches are all that one client may have"
    else:
        return
    raise KeeperError(KeeperCode.QUOTAEXCEEDED, sentence)


def _check_paths(paths: Iterable[str]) -> None:
    for path in paths:
        fault = path_fault(path)
        if fault is not None:
            raise KeeperError(KeeperCode.BADARGUMENTS, fault)


def _check_kind(kind: int) -> None:
    if kind not in WatcherType._value2member_map_:
        raise MalformedPacket(f"unknown watch type {kind}")


READERS: Final[Mapping[type, Callable[..., bytes]]] = {
    GetData: _get_data,
    Exists: _exists,
    GetChildren: _get_children,
    GetChildren2: _get_children2,
    GetAcl: _get_acl,
    GetAllChildrenNumber: _count_below,
    GetEphemerals: _get_ephemerals,
    Sync: _sync,
    WhoAmI: _who_am_i,
    MultiRead: _multi_read,
    AddWatch: _add_watch,
    RemoveWatches: _remove_watches,
    CheckWatches: _check_watches,
    SetWatches: _set_watches,
    SetWatches2: _set_watches,
}
