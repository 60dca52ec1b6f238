"""A ZooKeeper server that is behind its ensemble, for some of the machines that are connected.

A follower of an ensemble answers reads from what it has heard of so far, and tells events when it
hears of them. What its client writes it has heard of before it answers that, with all that was
before; so it has when its client asks it to sync. Otherwise nothing bounds how old it is. Here one
server plays both: for a machine that is behind it answers reads from a tree of then.
"""

from typing import Final, NamedTuple

from odradek.zookeeper.protocol.codes import EventType, OpCode, WatcherType
from odradek.zookeeper.protocol.jute_request_reader import request_body, request_header
from odradek.zookeeper.protocol.jute_requests import Exists, GetChildren, GetChildren2, GetData
from odradek.zookeeper.server.connection import Connection
from odradek.zookeeper.server.server import Server
from odradek.zookeeper.tree.database import Database
from odradek.zookeeper.tree.tree import Node
from odradek.zookeeper.tree.watches import missed

READS: Final = frozenset(
    {
        OpCode.EXISTS,
        OpCode.GET_DATA,
        OpCode.GET_CHILDREN,
        OpCode.GET_CHILDREN2,
        OpCode.GET_ACL,
    }
)


class Then(NamedTuple):
    """What a server knows that has heard of nothing since."""

    nodes: dict[str, Node]
    zxid: int


def now_of(database: Database) -> Then:
    """As it is; names of children are changed in place where there are many."""
    nodes = {
        path: node._replace(children=dict(node.children))
        if isinstance(node.children, dict)
        else node
        for path, node in database.tree.nodes.items()
    }
    return Then(nodes, database.zxid)


class Lag:
    """Which machines are behind; it outlives the server's lives, of which each begins without."""

    def __init__(self) -> None:
        self.behind: dict[str, Then] = {}  # by host
        self._events: dict[Connection, dict[tuple[EventType | int, str], int]] = {}
        self._watched: dict[Connection, dict[tuple[WatcherType, str], int]] = {}

    def forget(self) -> None:
        """Another life of the server."""
        self.behind.clear()
        self._events.clear()
        self._watched.clear()

    def is_held(self, connection: Connection, kind: int, path: str, zxid: int) -> bool:
        """An event is told later to who is behind."""
        if connection.peer[0] not in self.behind:
            return False
        self._events.setdefault(connection, {})[kind, path] = zxid
        return True

    def reads_then(self, connection: Connection, packet: bytes) -> Then | None:
        """What this request is answered from, if not from what is so now."""
        then = self.behind.get(connection.peer[0])
        if then is None or request_header(packet)[1] not in READS:
            return None
        request = request_body(request_header(packet)[1], packet)
        if isinstance(request, GetData | Exists | GetChildren | GetChildren2) and request.watch:
            is_of_children = isinstance(request, GetChildren | GetChildren2)
            kind = WatcherType.CHILDREN if is_of_children else WatcherType.DATA
            if request.path not in then.nodes:
                kind = WatcherType.ANY
            self._watched.setdefault(connection, {})[kind, request.path] = then.zxid
        return then

    def catch_up(self, host: str, server: Server) -> None:
        """Its server hears of everything, and tells what it owes."""
        if host not in self.behind:
            return
        del self.behind[host]
        for connection in [it for it in server.connections if it.peer[0] == host]:
            events = self._events.pop(connection, {})
            for (watcher, path), since in self._watched.pop(connection, {}).items():
                ((_, event),) = missed(server.database.tree, since, [path], kind=watcher)
                if event is not None:
                    events.setdefault((event, path), server.database.zxid)
            for (kind, path), zxid in events.items():
                server.tell(connection, kind, path, zxid)
