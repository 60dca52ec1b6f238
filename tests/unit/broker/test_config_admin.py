"""Settings are changed while their topic is deleted and made again under the same name."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from odradek.broker.doors import Doors
from odradek.broker.settings import Settings
from odradek.broker.topics.config_admin import ConfigAdmin
from odradek.config.broker import BrokerConfig, Layers, read
from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import TopicsZnode, TopicZnode
from odradek.model.ids import TopicId
from odradek.sim.doors.chance import SeededRandom
from odradek.testing.journal import MemoryJournal
from odradek.zookeeper.client.errors import BadVersion, MultiFailed
from odradek.zookeeper.protocol.jute_replies import Data, StatReply
from odradek.zookeeper.protocol.jute_requests import Check, SetData, WriteOp
from tests.unit.broker.ground import ME
from tests.unit.broker.group_desk import Known
from tests.unit.controller.znode_stats import stat

ORDERS = Entity(EntityType.TOPICS, "orders")
EARLIER, LATER = 0, 1
DOORS = Doors(None, SeededRandom(33, "salt"), None, (), "here", MemoryJournal)  # type: ignore[arg-type]


async def no_stores(_: BrokerConfig) -> None:
    """There is nothing to be tried."""


def topic(life: int) -> bytes:
    """Its znode in one of its lives."""
    topic_id = TopicId(bytes([life]) + b"orders".ljust(15))
    return TopicZnode.encode(TopicAssignment({0: Assignment((ME,))}, topic_id))


class Tree:
    """What a client of ZooKeeper finds; all znodes are of version 0, in either life."""

    def __init__(self, change: Callable[["Tree"], None], behind: str) -> None:
        self.life = EARLIER
        self.settings: Mapping[str, str] = {"retention.ms": "5"}
        self._change: Callable[[Tree], None] | None = change
        self._behind = behind

    async def get(self, path: str) -> Data:
        """A znode; behind one of them the topic becomes another one."""
        if path == TopicsZnode.PATH:
            return Data(b"", stat(self.life))  # each deletion writes to it
        settings = SettingsZnode.encode(self.settings)
        data = topic(self.life) if path == TopicZnode.path("orders") else settings
        if path == self._behind and self._change is not None:
            change, self._change = self._change, None
            change(self)
        return Data(data, stat(0))

    async def multi(self, operations: Sequence[WriteOp]) -> list[Any]:
        """The versions are what they were, but for that above the topics."""
        for index, operation in enumerate(operations):
            if operation.path == TopicsZnode.PATH and operation != Check(
                TopicsZnode.PATH, self.life
            ):
                raise MultiFailed(BadVersion(), index)
        first = operations[0]
        assert isinstance(first, SetData), first
        self.settings = SettingsZnode.decode(ORDERS, first.data or b"")
        return [StatReply(stat(1))]


@pytest.mark.parametrize("behind", [TopicZnode.path("orders"), SettingsZnode.path(ORDERS)])
def test_settings_of_an_earlier_topic_are_not_written_into_a_later_one(behind: str) -> None:
    """The later one keeps its own, whatever of the earlier one was read before it was made."""
    known = Known(orders=1)

    def make_again(tree: Tree) -> None:
        tree.life, tree.settings = LATER, {"segment.ms": "7000"}
        known.remove("orders")
        known.add("orders", 1, LATER)

    tree = Tree(make_again, behind)
    settings = Settings(read(Layers())[0])
    admin = ConfigAdmin(tree, settings, known, DOORS, try_out=no_stores)  # type: ignore[arg-type]
    set_one = admin.make(ORDERS, lambda it: {**it, "max.message.bytes": "9"}, validate_only=False)
    asyncio.run(set_one)
    assert tree.settings == {"segment.ms": "7000", "max.message.bytes": "9"}


def test_the_event_names_what_was_changed_and_nothing_that_stays() -> None:
    """Settings of one entity are one znode, which is written whole."""
    known = Known(orders=1)
    tree = Tree(lambda _: None, "")
    tree.settings = {"retention.ms": "5", "segment.ms": "7", "max.message.bytes": "9"}
    settings = Settings(read(Layers())[0])
    admin = ConfigAdmin(tree, settings, known, DOORS, try_out=no_stores)  # type: ignore[arg-type]
    wanted = {"retention.ms": "5", "segment.ms": "8", "cleanup.policy": "delete"}
    with capture_logs() as events:
        asyncio.run(admin.make(ORDERS, lambda _: wanted, validate_only=False))
    (event,) = [it for it in events if it["event"] == "settings.altered"]
    assert event["names"] == ["cleanup.policy", "max.message.bytes", "segment.ms"]
