"""A log of groups that cannot be read: its coordinator refuses, and health says so."""

import pytest

from odradek.cli.brokers import cluster_health
from odradek.cli.brokers.sick import Sick
from odradek.cli.reaching import naming
from odradek.client.admin import admin, transactions
from odradek.client.coordinators import TRANSACTION
from odradek.client.errors import UnreadableLog
from odradek.client.records import member
from odradek.client.retries import PATIENCE
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.model.units import SECOND
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.stage.clients import Client
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_groups import ListGroupsRequest
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from tests.scenarios.cluster.spoilt import spoil

ORDERS = TopicPartition("orders", 0)
ONE_COPY = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
}


def with_an_unreadable_log(t: ClusterScenario) -> tuple[Client, int]:
    """A client, and the broker that cannot read the groups' only log."""
    shop = t.client("shop")
    shop.make("orders")
    shop.does(member.commit(shop.cluster, "readers", {ORDERS: 10}))
    return shop, spoilt_at_a_start(t, GROUP_METADATA_TOPIC)


def spoilt_at_a_start(t: ClusterScenario, topic: str) -> int:
    """The broker that has this topic's only log, once it has tried in vain to read it."""
    alone = t.leader(topic)
    spoil(t, alone, 0, topic)
    t.broker(alone).stop()
    t.run(seconds=1)
    t.broker(alone).start()
    t.wait_until(lambda: t.state(topic).leader == alone, "it leads")
    t.run(seconds=3)
    return alone


@staged(settings=ONE_COPY)
def test_a_list_of_groups_says_that_some_cannot_be_read(t: ClusterScenario) -> None:
    """Not that they are still being read: a client would ask again until its time is over."""
    shop, alone = with_an_unreadable_log(t)
    connection = shop.does(shop.cluster.broker(BrokerId(alone)))
    answer = shop.does(connection.ask(ListGroupsRequest()))
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    began = t.world.loop.time()
    assert shop.refusal_of(admin.list_groups(shop.cluster)) is ErrorCode.KAFKA_STORAGE_ERROR
    assert t.world.loop.time() - began < PATIENCE / SECOND  # virtual: it gives up at once


@staged(settings={**ONE_COPY, "offsets.topic.num.partitions": "2"})
def test_who_lists_groups_sees_those_that_can_be_read(t: ClusterScenario) -> None:
    """And who has others; a name that may be one of these is not said to be unknown."""
    shop = t.client("shop")
    shop.make("orders")
    names = [f"readers-{number}" for number in range(8)]
    for name in names:
        shop.does(member.commit(shop.cluster, name, {ORDERS: 10}))
    alone = spoilt_at_a_start(t, GROUP_METADATA_TOPIC)
    told = shop.does(naming.groups_told(shop.cluster))
    assert [f"broker {alone} cannot" in str(it) for it in told.unreadable] == [True]
    known = naming.groups_among(told, [])
    assert 0 < len(known) < len(names)
    (lost, *_) = set(names) - set(known)
    assert shop.does(naming.groups_named(shop.cluster, known[:1])) == known[:1]
    for meant in ([lost], ["readers-*"], []):
        refused = shop.refusal_of(naming.groups_named(shop.cluster, meant))
        assert refused is ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(UnreadableLog):
        naming.groups_among(told, [lost])


@staged(settings=ONE_COPY)
def test_a_list_of_transactions_says_that_some_cannot_be_read(t: ClusterScenario) -> None:
    """Not that they are still being read, which ends by itself."""
    shop = t.client("shop")
    begin = InitProducerIdRequest("copier", 60_000)
    shop.does(shop.cluster.ask_coordinator("copier", begin, TRANSACTION, version=4))
    spoilt_at_a_start(t, TRANSACTION_STATE_TOPIC)
    began = t.world.loop.time()
    listing = transactions.list_transactions(shop.cluster)
    assert shop.refusal_of(listing) is ErrorCode.KAFKA_STORAGE_ERROR
    assert t.world.loop.time() - began < PATIENCE / SECOND


@staged(settings={**ONE_COPY, "transaction.state.log.num.partitions": "2"})
def test_who_lists_transactions_sees_those_that_can_be_read(t: ClusterScenario) -> None:
    """And who has others; what decides by the whole list is refused."""
    shop = t.client("shop")
    names = [f"copier-{number}" for number in range(8)]
    for name in names:
        begin = InitProducerIdRequest(name, 60_000)
        shop.does(shop.cluster.ask_coordinator(name, begin, TRANSACTION, version=4))
    alone = spoilt_at_a_start(t, TRANSACTION_STATE_TOPIC)
    every, request = [*map(BrokerId, t.brokers)], ListTransactionsRequest()
    told = shop.does(transactions.transactions_of(shop.cluster, every, request))
    assert [f"broker {alone} cannot" in str(it) for it in told.unreadable] == [True]
    assert 0 < len(told.found) < len(names)
    listing = transactions.list_transactions(shop.cluster)
    assert shop.refusal_of(listing) is ErrorCode.KAFKA_STORAGE_ERROR


@staged(settings=ONE_COPY)
def test_a_coordinator_that_refuses_is_named_with_its_reason(t: ClusterScenario) -> None:
    """Every partition has a leader, and still a group gets nothing but errors."""
    _, alone = with_an_unreadable_log(t)
    operator = t.client("operator")

    def refusing() -> list[Sick]:
        found = operator.does(cluster_health.sick(operator.cluster))
        return [it for it in found if it.problem == cluster_health.COORDINATOR_REFUSES]

    t.wait_until(refusing, "health says it")
    (told,) = refusing()
    assert told.partitions == {GROUP_METADATA_TOPIC: [0]}
    assert told.cause.startswith(f"broker {alone} cannot read the log: ")
