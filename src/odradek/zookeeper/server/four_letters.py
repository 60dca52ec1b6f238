"""The four-letter words: what ZooKeeper tells anybody who sends four bytes instead of a packet.

Only those on the white list are answered, as in ZooKeeper, since they come without a session and
without a permission. The texts are laid out as monitoring tools expect them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from odradek import __version__
from odradek.zookeeper.server.connection import Connection
from odradek.zookeeper.server.outgoing import Outgoing
from odradek.zookeeper.server.settings import ServerSettings
from odradek.zookeeper.server.stats import ServerStats
from odradek.zookeeper.tree.database import Database
from odradek.zookeeper.tree.watches import Watches

VERSION: Final = f"3.9.0-odradek-{__version__}, built on 2025-01-01 00:00 UTC"


class Server(Protocol):
    """The server, as far as these words look at it."""

    database: Database
    settings: ServerSettings
    watches: Watches[Connection]
    stats: ServerStats
    connections: dict[Connection, None]
    outgoing: Outgoing


def four_letter_answer(server: Server, word: str) -> str:
    """What the server says to a word that it knows."""
    allowed = server.settings.four_letter_words
    if word not in allowed and "*" not in allowed and word != "srvr":
        return f"{word} is not executed because it is not in the whitelist.\n"
    return _ANSWERS[word](server)


def _ruok(_server: Server) -> str:
    return "imok"


def _isro(_server: Server) -> str:
    return "rw"


def _srvr(server: Server) -> str:
    return f"Zookeeper version: {VERSION}\n{_summary(server)}"


def _stat(server: Server) -> str:
    clients = "".join(f"{each.describe(brief=True)}\n" for each in server.connections)
    return f"Zookeeper version: {VERSION}\nClients:\n{clients}\n{_summary(server)}"


def _cons(server: Server) -> str:
    return "".join(f"{each.describe(brief=False)}\n" for each in server.connections) + "\n"


def _summary(server: Server) -> str:
    stats = server.stats
    return (
        f"Latency min/avg/max: 0/{stats.latency_mean:.4g}/{stats.latency_max}\n"
        f"Received: {stats.received}\n"
        f"Sent: {stats.sent}\n"
        f"Connections: {len(server.connections)}\n"
        f"Outstanding: {server.database.zxid - server.outgoing.durable_zxid}\n"
        f"Zxid: {server.outgoing.durable_zxid:#x}\n"
        "Mode: standalone\n"
        f"Node count: {len(server.database.tree.nodes)}\n"
    )


def _mntr(server: Server) -> str:
    stats, tree = server.stats, server.database.tree
    values = {
        "version": VERSION,
        "server_state": "standalone",
        "avg_latency": f"{stats.latency_mean:.4f}",
        "max_latency": stats.latency_max,
        "min_latency": 0,
        "packets_received": stats.received,
        "packets_sent": stats.sent,
        "num_alive_connections": len(server.connections),
        "outstanding_requests": server.database.zxid - server.outgoing.durable_zxid,
        "znode_count": len(tree.nodes),
        "watch_count": server.watches.count(),
        "ephemerals_count": sum(map(len, tree.ephemerals.values())),
        "approximate_data_size": tree.bytes,
        "global_sessions": len(server.database.sessions.open),
        "connection_rejected": stats.refused,
        "stale_sessions_expired": stats.expired,
    }
    return "".join(f"zk_{key}\t{value}\n" for key, value in values.items())


def _conf(server: Server) -> str:
    settings = server.settings
    return (
        f"tickTime={settings.tick_time}\n"
        f"maxClientCnxns={settings.connections_per_host_max}\n"
        f"minSessionTimeout={settings.negotiated(0)}\n"
        f"maxSessionTimeout={settings.negotiated(1 << 31)}\n"
        f"jute.maxbuffer={settings.packet_bytes_max}\n"
        "serverId=0\n"
    )


def _envi(_server: Server) -> str:
    return f"Environment:\nzookeeper.version={VERSION}\n"


def _dump(server: Server) -> str:
    sessions = sorted(server.database.sessions.open)
    lines = ["SessionTracker dump:", f"Global Sessions({len(sessions)}):"]
    lines += [
        f"{session_id:#x}\t{server.database.sessions.open[session_id].timeout}ms"
        for session_id in sessions
    ]
    ephemerals = server.database.tree.ephemerals
    lines += ["ephemeral nodes dump:", f"Sessions with Ephemerals ({len(ephemerals)}):"]
    for owner, paths in ephemerals.items():
        lines += [f"{owner:#x}:", *(f"\t{path}" for path in sorted(paths))]
    return "\n".join(lines) + "\n"


def _wchs(server: Server) -> str:
    watchers, paths, watches = server.watches.summary()
    return f"{watchers} connections watching {paths} paths\nTotal watches:{watches}\n\n"


def _wchc(server: Server) -> str:
    return _watched(server, lambda watcher, path: (watcher, path))


def _wchp(server: Server) -> str:
    return _watched(server, lambda watcher, path: (path, watcher))


def _watched(server: Server, order: Callable[[str, str], tuple[str, str]]) -> str:
    groups: dict[str, dict[str, None]] = {}
    for watcher, path in _armed(server):
        first, second = order(watcher, path)
        groups.setdefault(first, {})[second] = None
    lines = [
        line for head, tail in groups.items() for line in (head, *(f"\t{one}" for one in tail))
    ]
    return "\n".join(lines) + "\n\n"


def _armed(server: Server) -> Iterator[tuple[str, str]]:
    for table in (server.watches.data, server.watches.child):
        for connection, paths in table.by_watcher.items():
            session_id = connection.session.id if connection.session else 0
            for path in paths:
                yield f"{session_id:#x}", path


_ANSWERS: Final[Mapping[str, Callable[[Server], str]]] = {
    "conf": _conf,
    "cons": _cons,
    "dump": _dump,
    "envi": _envi,
    "isro": _isro,
    "mntr": _mntr,
    "ruok": _ruok,
    "srvr": _srvr,
    "stat": _stat,
    "wchc": _wchc,
    "wchp": _wchp,
    "wchs": _wchs,
}
WORDS: Final = frozenset(word.encode() for word in _ANSWERS)
