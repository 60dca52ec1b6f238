"""Which nodes go by themselves: those whose TTL is over, and containers that are empty.

A node with a TTL goes when it has no children and was not written for so long. A container goes
when it has had children and has none any more; for the first one it waits for ever. Only a look
decides: what is due by then may have been written, or have got a child.
"""

from collections.abc import Iterator

from odradek.model.units import Millis, Timestamp
from odradek.zookeeper.tree.buckets import Buckets
from odradek.zookeeper.tree.transactions import NodeCreated
from odradek.zookeeper.tree.tree import Tree, ttl_of

LOOK_EVERY = Millis(1_000)
GONE_AT_ONCE_MAX = 1_000  # the others go at the next look: no request waits long behind them


class Reaper:
    """Looks after one tree. Times are those of the wall: so are the nodes'."""

    def __init__(self, tree: Tree, interval: Millis) -> None:
        self._tree = tree
        self._interval = interval
        self._ttls: Buckets[str] = Buckets(LOOK_EVERY)
        self._containers_due = 0
        for path in tree.ttls:
            self._wait(path)

    def note(self, change: NodeCreated) -> None:
        """A node came; if it goes by itself, and did not go at once, it is looked after."""
        if ttl_of(change.owner) is not None and change.path in self._tree.nodes:
            self._wait(change.path)

    def due(self, now: Timestamp) -> list[str]:
        """The nodes that go now."""
        gone = list(dict.fromkeys(self._over(now)))  # a name that was used again may be due twice
        if now >= self._containers_due:
            self._containers_due = now + self._interval
            gone += self._empty()
        for path in gone[GONE_AT_ONCE_MAX:]:
            self._ttls.put(path, now)
            self._containers_due = now
        return gone[:GONE_AT_ONCE_MAX]

    def next_look(self) -> int | None:
        """When `due` may have something to say."""
        containers = self._containers_due if self._tree.containers else None
        moments = (self._ttls.next(), containers)
        return min((moment for moment in moments if moment is not None), default=None)

    def _wait(self, path: str) -> None:
        node = self._tree.nodes[path]
        self._ttls.put(path, node.mtime + (ttl_of(node.owner) or 0))

    def _over(self, now: Timestamp) -> Iterator[str]:
        for path in list(self._ttls.due(now)):
            node = self._tree.nodes.get(path)
            ttl = ttl_of(node.owner) if node is not None else None
            if node is None or ttl is None:
                continue
            if node.children:
                self._ttls.put(path, now + min(ttl, self._interval))
            elif node.mtime + ttl > now:
                self._ttls.put(path, node.mtime + ttl)
            else:
                yield path

    def _empty(self) -> Iterator[str]:
        for path in self._tree.containers:
            node = self._tree.nodes[path]
            if node.creations and not node.children:
                yield path
