"""Quotas in a cluster: brokers have none, and every broker hears of a change."""

from typing import Any

from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.clients import Client
from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)


def limits(client: Client, broker: int, **values: float) -> None:
    """Of all clients, told to one broker."""
    ops = [OpData(name, value, remove=False) for name, value in values.items()]
    request = AlterClientQuotasRequest([RequestEntryData([EntityData("client-id", None)], ops)])

    async def ask() -> Any:
        return await (await client.cluster.broker(BrokerId(broker))).ask(request)

    (row,) = client.does(ask()).entries
    assert not row.error_code, row


def is_limited(t: ClusterScenario) -> set[bool]:
    """Whether brokers know of a limit."""
    return {
        it.process.broker.socket_server.quotas.is_on
        for it in t.brokers.values()
        if it.process.broker is not None
    }


def test_followers_fetch_as_fast_as_ever(t: ClusterScenario) -> None:
    """Under a limit of a byte a second for all clients; a consumer feels it."""
    operator = t.operator()
    operator.places("orders", (1, 2, 3))
    limits(operator, 1, consumer_byte_rate=1, request_percentage=1)
    t.wait_until(lambda: is_limited(t) == {True}, "every broker has heard of it")
    values = [f"{number}-{'x' * 500}" for number in range(50)]
    for value in values:
        operator.produce("orders", value)
    t.await_isr("orders", 1, 2, 3)
    ends = {it.log_end("orders") for it in t.brokers.values()}
    assert ends == {50}
    t.broker(t.leader("orders")).kill()
    t.run(1)
    assert is_limited(t) == {True}


def test_a_change_that_a_broker_did_not_hear_of_counts_once_it_is_back(t: ClusterScenario) -> None:
    """It reads all that is set; what was taken away meanwhile counts no more."""
    operator = t.operator(1)
    operator.places("orders", (1, 2, 3))
    limits(operator, 1, producer_byte_rate=1)
    t.wait_until(lambda: is_limited(t) == {True}, "every broker has heard of it")
    t.broker(3).stop()
    ops = [OpData("producer_byte_rate", 0, remove=True)]
    request = AlterClientQuotasRequest([RequestEntryData([EntityData("client-id", None)], ops)])

    async def ask() -> Any:
        return await (await operator.cluster.broker(BrokerId(1))).ask(request)

    assert not operator.does(ask()).entries[0].error_code
    t.broker(3).start()
    t.wait_until(lambda: is_limited(t) == {False}, "none has one any more")


def test_a_change_while_zookeeper_cannot_be_reached_counts_later(t: ClusterScenario) -> None:
    """A broker that is cut off from the tree goes on with the last it knew."""
    operator = t.operator(1)
    operator.places("orders", (1, 2, 3))
    t.cut(3, "zookeeper")
    t.cut("zookeeper", 3)
    limits(operator, 1, producer_byte_rate=1)
    t.run(1)
    assert is_limited(t) == {True, False}
    t.heal()
    t.wait_until(lambda: is_limited(t) == {True}, "it has heard of it")
