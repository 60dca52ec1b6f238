"""The image of a broker that is to be the next controller, loaded before, and kept up to date.

One watch covers the whole tree of topics, so a change of any state is told. ZooKeeper tells a
session of a change before it answers what the session has asked behind that change. So once the
broker has replaced the controller, whose writes end there, it has been told of all of them: it
reads again what is `changed`, and its image is whole.
"""

import re
from typing import Final

from odradek.controller.candidacy import FIRST_EPOCH, ControllerLease
from odradek.controller.context import ControllerContext, Policy
from odradek.controller.decisions.beginning import read_tree
from odradek.controller.steps import Note, Steps, read
from odradek.controller.tree_reading import Changed, TreeReading
from odradek.metadata.znodes.broker import BrokerIdsZnode
from odradek.metadata.znodes.topic import TopicsZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.zookeeper.protocol.codes import AddWatchMode, KeeperError, WatcherType
from odradek.zookeeper.protocol.jute_requests import AddWatch, RemoveWatches

ALL_PATHS: Final = "*"
NO_LEASE: Final = ControllerLease(FIRST_EPOCH, -1)
_STATE: Final = re.compile(r"([^/]+)/partitions/([0-9]{1,10})/state")
ROUNDS_MAX: Final = 20


class Standby:
    """Of one wish. Nothing here may write."""

    def __init__(self, me: BrokerId, wish: str, policy: Policy) -> None:
        self.wish = wish
        self.context: ControllerContext | None = None  # once it is loaded
        self.reading = TreeReading()
        self._me = me
        self._policy = policy
        self._lacks_all = True  # the connection was lost, or the tree is not watched
        self._brokers = False
        self._topics: dict[str, None] = {}
        self._states: dict[TopicPartition, None] = {}

    def on_path(self, path: str) -> None:
        """This has changed, or everything may have."""
        topics = f"{TopicsZnode.PATH}/"
        if path == ALL_PATHS:
            self._lacks_all = True
        elif path.startswith(BrokerIdsZnode.PATH):
            self._brokers = True
        elif path.startswith(topics):
            below = path.removeprefix(topics)
            state = _STATE.fullmatch(below)
            if state is not None:
                self._states[TopicPartition(state[1], int(state[2]))] = None
            elif "/" not in below:
                self._topics[below] = None

    def load(self) -> Steps[None]:
        """Everything, from now on watched."""
        (answer,) = yield from read(AddWatch(TopicsZnode.PATH, AddWatchMode.PERSISTENT_RECURSIVE))
        is_watched = not isinstance(answer, KeeperError)
        if not is_watched:
            yield Note("controller.cannot_watch", {"reason": str(answer)})
        self._lacks_all = not is_watched
        self._brokers, self._topics, self._states = False, {}, {}
        self.reading = yield from read_tree()
        self.context = ControllerContext(self._me, NO_LEASE, self.reading.image(), self._policy)

    def catch_up(self) -> Steps[ControllerContext]:
        """Reads what has changed, until nothing has."""
        for _ in range(ROUNDS_MAX):
            if self._lacks_all or self.context is None:
                break
            if not (self._brokers or self._topics or self._states):
                return self.context
            topics = tuple(self._topics)
            states = tuple(it for it in self._states if it.topic not in self._topics)
            changed = Changed(self._brokers, topics, states)
            self._brokers, self._topics, self._states = False, {}, {}
            yield from self._read(changed)
        self.reading = yield from read_tree()
        return ControllerContext(self._me, NO_LEASE, self.reading.image(), self._policy)

    def _read(self, changed: Changed) -> Steps[None]:
        assert self.context is not None, "it is loaded"
        news = TreeReading(changed)
        while requests := news.requests():
            news.on_answers((yield from read(*requests)))
        news.update(self.context, changed)
        self.reading.written_at |= news.written_at
        self.reading.topic_versions |= news.topic_versions
        self.reading.faults += news.faults


def stop_watching() -> Steps[None]:
    """The watch of the whole tree, which only a broker in waiting needs."""
    kind = WatcherType.PERSISTENT_RECURSIVE
    yield from read(RemoveWatches(TopicsZnode.PATH, kind))
