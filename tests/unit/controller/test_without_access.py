"""Topics and brokers whose znodes cannot be read: they are as they were known, and tried again."""

from typing import Any

import pytest

from odradek.controller.events import DeletionAsked, HealthAsked, RetryIsDue, TreeChanged
from odradek.controller.tree_reading import TreeReading
from odradek.metadata.znodes.broker import BrokerIdsZnode, BrokerZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, TopicsZnode, TopicZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.zookeeper.client.errors import MultiFailed, NoAuth
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.jute_requests import (
    Delete,
    Exists,
    GetChildren2,
    GetData,
    Multi,
    Request,
)
from tests.unit.controller.conversation import Conversation

ORDERS = TopicZnode.path("orders")
ALL = "*"


def hide(talk: Conversation, *paths: str) -> None:
    """They may not be read any more, nor what is below be listed."""

    def refuse(request: Request) -> Answer | None:
        if isinstance(request, GetData | GetChildren2) and request.path in paths:
            return NoAuth(request.path)
        return None

    talk.tree.refuse = refuse


RESTORE = "odradek zookeeper restore-state orders 0 --leader BROKER --connect ZOOKEEPER"


def show(talk: Conversation) -> None:
    """All may be read again; of that no watch tells."""
    hide(talk)


def told(talk: Conversation) -> dict[str, Any]:
    """Effects by cause."""
    answer = talk.on(HealthAsked())
    return {problem["cause"]: problem["effects"] for problem in answer["problems"]}


def cannot_be_read(path: str) -> str:
    """As health says it."""
    return f"{path} in ZooKeeper cannot be read"


def state_cannot_be_read(path: str) -> str:
    """With what mends it."""
    return (
        f"{cannot_be_read(path)}: where its ACL hides it, mend that; where it makes no sense "
        f"{RESTORE} makes it again"
    )


def of_others(talk: Conversation) -> None:
    """A topic of three, made by a controller before."""
    talk.topic("orders", (2, 3))
    talk.write_state("orders", leader=2, leader_epoch=3, isr=(2, 3))


def test_a_topic_without_access_is_taken_over_once_there_is() -> None:
    """A controller that begins knows nothing of it; no event tells that it may be read."""
    talk = Conversation()
    of_others(talk)
    hide(talk, ORDERS)
    talk.begin()
    assert talk.context.image.topics == {}
    assert talk.notes.count("controller.znode_ignored") == 1
    assert told(talk) == {cannot_be_read(ORDERS): {"nothing is decided": {}}}
    assert talk.controller.has_to_try_again
    talk.on(RetryIsDue())
    assert talk.notes.count("controller.znode_ignored") == 1
    show(talk)
    talk.on(RetryIsDue())
    assert talk.leads("orders") == (2, (2, 3), 4)
    assert ("orders", 0) in talk.led(2)
    assert told(talk) == {}
    assert not talk.controller.has_to_try_again


def test_a_topic_that_makes_no_sense_is_named_until_it_does() -> None:
    """Its watch tells that somebody has written it."""
    talk = Conversation()
    of_others(talk)
    good = talk.tree.nodes[ORDERS].data
    talk.tree.put(ORDERS, b"{")
    talk.begin()
    assert told(talk) == {cannot_be_read(ORDERS): {"nothing is decided": {}}}
    talk.tree.put(ORDERS, good)
    talk.topics_changed("orders")
    assert talk.leads("orders") == (2, (2, 3), 4)
    assert told(talk) == {}
    assert not talk.controller.has_to_try_again


def test_a_topic_that_lost_its_access_is_as_it_was_known() -> None:
    """Its partitions get leaders; and what happened to it meanwhile is found later."""
    talk = Conversation().begin().make("orders", (2, 3))
    hide(talk, ORDERS)
    talk.on(TreeChanged(frozenset({ALL})))
    assert told(talk) == {cannot_be_read(ORDERS): {"as it was known before": {"orders": [0]}}}
    talk.brokers(1, 3)
    assert talk.leads("orders") == (3, (3,), 1)
    show(talk)
    talk.on(RetryIsDue())
    assert cannot_be_read(ORDERS) not in told(talk)
    assert talk.leads("orders") == (3, (3,), 1)


def test_a_topic_that_went_while_it_could_not_be_read_is_gone() -> None:
    """It is not asked for any more."""
    talk = Conversation().begin().make("orders", (2, 3))
    hide(talk, ORDERS)
    talk.on(TreeChanged(frozenset({ALL})))
    for path in [it for it in talk.tree.nodes if it.startswith(ORDERS)]:
        del talk.tree.nodes[path]
    show(talk)
    talk.on(RetryIsDue())
    assert talk.context.image.topics == {}
    assert not talk.controller.has_to_try_again


@pytest.mark.parametrize("path", [BrokerIdsZnode.PATH, BrokerZnode.path(BrokerId(2))])
def test_brokers_that_cannot_be_read_are_not_gone(path: str) -> None:
    """They lead on, until it can be read who has left."""
    talk = Conversation().begin().make("orders", (2, 3))
    hide(talk, path)
    talk.on(TreeChanged(frozenset({ALL})))
    assert talk.leads("orders") == (2, (2, 3), 0)
    assert set(talk.context.image.brokers) == {1, 2, 3}
    assert list(told(talk)) == [cannot_be_read(path)]
    del talk.tree.nodes[BrokerZnode.path(BrokerId(2))]
    show(talk)
    talk.on(RetryIsDue())
    assert talk.leads("orders") == (3, (3,), 1)
    assert not talk.controller.has_to_try_again


def test_a_broker_that_came_back_unreadable_is_another() -> None:
    """Its znode says when it was made, to everybody."""
    talk = Conversation().begin().make("orders", (2, 3))
    talk.register(2)
    hide(talk, BrokerZnode.path(BrokerId(2)))
    talk.on(TreeChanged(frozenset({ALL})))
    assert talk.leads("orders") == (3, (3,), 1)
    show(talk)
    talk.on(RetryIsDue())
    assert set(talk.context.image.brokers) == {1, 2, 3}


@pytest.mark.parametrize("path", [BrokerIdsZnode.PATH, TopicsZnode.PATH])
def test_a_controller_that_cannot_list_all_does_not_begin(path: str) -> None:
    """It would take all for dead, or for deleted."""
    reading = TreeReading()
    requests = reading.requests()
    with pytest.raises(NoAuth):
        reading.on_answers(
            [NoAuth(path) for it in requests if isinstance(it, GetChildren2) and it.path == path]
            * len(requests)
        )


def test_topics_that_cannot_be_listed_stay() -> None:
    """Each that is known is read by itself."""
    talk = Conversation().begin().make("orders", (2, 3))
    hide(talk, TopicsZnode.PATH)
    talk.on(TreeChanged(frozenset({ALL})))
    assert set(talk.context.image.topics) == {"orders"}
    talk.topic("events", (1,))
    show(talk)
    talk.on(RetryIsDue())
    assert set(talk.context.image.topics) == {"orders", "events"}


def test_why_a_partition_without_a_state_has_no_leader_is_said() -> None:
    """Not that its brokers are behind: nobody can know."""
    talk = Conversation()
    of_others(talk)
    state = PartitionStateZnode.path(TopicPartition("orders", 0))
    hide(talk, state)
    talk.begin()
    assert told(talk) == {state_cannot_be_read(state): {"no leader": {"orders": [0]}}}
    lost = Conversation()
    of_others(lost)
    del lost.tree.nodes[state]
    lost.begin()
    cause = f"{state} in ZooKeeper is missing: {RESTORE} makes it again"
    assert told(lost) == {cause: {"no leader": {"orders": [0]}}}


def test_a_state_that_makes_no_sense_is_named_until_it_does() -> None:
    """A leader that is there leads on, and cannot drop who is gone: nothing else says why."""
    talk = Conversation().begin().make("orders", (2, 3))
    state = PartitionStateZnode.path(TopicPartition("orders", 0))
    good = talk.tree.nodes[state].data
    talk.tree.put(state, b"")
    talk.brokers(1, 2)
    talk.on(RetryIsDue())
    assert told(talk)[state_cannot_be_read(state)] == {"as it was known before": {"orders": [0]}}
    begun = Conversation()
    of_others(begun)
    begun.tree.put(state, b"{")
    begun.begin()
    assert told(begun) == {state_cannot_be_read(state): {"no leader": {"orders": [0]}}}
    talk.tree.put(state, good)
    talk.on(RetryIsDue())
    assert state_cannot_be_read(state) not in told(talk)
    assert talk.leads("orders") == (2, (2,), 1)
    assert not talk.controller.has_to_try_again


@pytest.mark.parametrize("path", ["/partitions", "/partitions/0", ""])
@pytest.mark.parametrize("is_made_meanwhile", [False, True])
def test_whether_a_state_was_lost_may_not_be_known(path: str, *, is_made_meanwhile: bool) -> None:
    """Then it may have been: nobody is elected, and no state is made."""
    talk = Conversation()
    if is_made_meanwhile:
        talk.begin()
    talk.topic("orders", (2, 3))
    state = PartitionStateZnode.path(TopicPartition("orders", 0))
    above = f"{ORDERS}{path}"
    if path:
        talk.tree.put(above)

    def refuse(request: Request) -> Answer | None:
        return NoAuth(above) if isinstance(request, Exists) and request.path == above else None

    talk.tree.refuse = refuse
    if is_made_meanwhile:
        talk.topics_changed()
    else:
        talk.begin()
    talk.on(RetryIsDue())
    assert state not in talk.tree.nodes
    assert talk.controller.has_to_try_again


def test_settings_that_cannot_be_read_are_named() -> None:
    """Of topics that there are."""
    talk = Conversation().begin().make("orders", (1,))
    talk.settings.unreadable_settings = ("orders", "gone")
    path = SettingsZnode.path(Entity(EntityType.TOPICS, "orders"))
    assert told(talk) == {cannot_be_read(path): {"as it was known before": {"orders": [0]}}}


def test_znodes_of_a_deleted_topic_that_may_not_go_are_tried_again() -> None:
    """All its replicas are deleted: nothing else would begin with it again."""
    talk = Conversation().begin().make("orders", (2, 3))

    def refuse(request: Request) -> Answer | None:
        if isinstance(request, Multi):
            for at, op in enumerate(request.ops):
                if isinstance(op, Delete) and op.path == ORDERS:
                    return MultiFailed(NoAuth(ORDERS), at)
        return None

    talk.tree.refuse = refuse
    talk.on(DeletionAsked(["orders"]))
    for broker in (2, 3):
        talk.stopped(broker)
    assert ORDERS in talk.tree.nodes
    assert talk.notes.count("topic.not_deleted") == 1
    show(talk)
    talk.on(RetryIsDue())
    assert ORDERS not in talk.tree.nodes
    assert not talk.controller.has_to_try_again
