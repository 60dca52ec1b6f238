"""The end of a transaction among several replicas: the test is the coordinator of transactions."""

from typing import Any

from odradek.client.records.offsets import LATEST
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.stage.clients import Client
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.wire.messages.produce import ProduceRequest
from tests.samples.transactions import one_marker, one_record

PRODUCER = 7
UNVERIFIED = {"transaction.partition.verification.enable": "false"}
READ_COMMITTED = 1


async def ask(who: Client, broker: int, request: Any, version: int) -> Any:
    """One broker, whatever it leads."""
    connection = await who.cluster.broker(BrokerId(broker))
    return await connection.ask(request, version)


async def produce(who: Client, broker: int, sequence: int, epoch: int = 0) -> ErrorCode:
    """One record of the producer's transaction."""
    request = ProduceRequest("copier", -1, 10_000, one_record(sequence, epoch=epoch))
    answer = await ask(who, broker, request, 11)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


async def end(who: Client, broker: int, *, committed: bool, epoch: int = 1) -> ErrorCode:
    """The marker, in version 2."""
    answer = await ask(who, broker, one_marker(epoch=epoch, committed=committed), 2)
    return ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)


def first_leader(t: ClusterScenario) -> int:
    """Of a topic just made, once it has heard that it leads."""
    leader = t.leader("orders")
    t.wait_until(lambda: t.broker(leader).log("orders"), f"broker {leader} leads")
    return leader


async def last_stable(who: Client, broker: int) -> int:
    """Up to where everything is decided, says the leader as soon as it knows."""
    topic = ListOffsetsTopic("orders", [ListOffsetsPartition(0, timestamp=LATEST)])
    while True:
        answer = await ask(who, broker, ListOffsetsRequest(-1, READ_COMMITTED, [topic]), 7)
        row = answer.topics[0].partitions[0]
        if row.error_code != ErrorCode.OFFSET_NOT_AVAILABLE:
            assert not row.error_code, row
            return int(row.offset)


@staged(settings=UNVERIFIED)
def test_a_leader_that_dies_with_a_marker_that_it_alone_has(t: ClusterScenario) -> None:
    """Its marker never counted: readers wait, the coordinator sends it to the next leader.

    The former one comes back, gives up its own, and has that of the others.
    """
    shop, mover = t.client("shop"), t.client("mover")
    shop.make("orders", replicas=3)
    old = first_leader(t)
    assert mover.does(produce(mover, old, 0)) is ErrorCode.NONE
    for other in t.others(old):
        t.cut(other.number, old)
        t.cut(old, other.number)
    begun = mover.begins(end(mover, old, committed=True))
    t.wait_until(lambda: t.broker(old).log_end("orders") == 2, "the marker is not written")
    assert not begun.done()
    t.broker(old).kill()
    new = t.await_new_leader("orders", old)
    t.heal()
    assert t.broker(new).log_end("orders") == 1
    assert shop.does(last_stable(shop, new)) == 0
    assert shop.does(end(shop, new, committed=True)) is ErrorCode.NONE
    assert shop.does(last_stable(shop, new)) == 2
    assert shop.does(end(shop, new, committed=True)) is ErrorCode.NONE  # it is there
    t.broker(old).start()
    t.await_isr("orders", 1, 2, 3)
    assert {it.log_end("orders") for it in t.brokers.values()} == {2}
    for broker in t.brokers.values():
        found = broker.log("orders")
        assert found is not None
        assert not found.producers.open_transactions


@staged(settings=UNVERIFIED)
def test_the_next_leader_goes_on_with_an_open_transaction(t: ClusterScenario) -> None:
    """It has it open, takes what comes behind, and ends it: readers skip what was aborted."""
    shop = t.client("shop")
    shop.make("orders", replicas=3)
    old = first_leader(t)
    assert shop.does(produce(shop, old, 0)) is ErrorCode.NONE
    t.broker(old).kill()
    new = t.await_new_leader("orders", old)
    assert shop.does(produce(shop, new, 0)) is ErrorCode.NONE  # a repeat: its answer was lost
    assert shop.does(produce(shop, new, 1)) is ErrorCode.NONE
    assert shop.does(last_stable(shop, new)) == 0
    assert shop.does(end(shop, new, committed=False)) is ErrorCode.NONE
    assert shop.does(last_stable(shop, new)) == 3
    late = shop.does(produce(shop, new, 2))
    assert late is ErrorCode.INVALID_PRODUCER_EPOCH
    t.broker(old).start()
    t.await_isr("orders", 1, 2, 3)
    for broker in t.brokers.values():
        found = broker.log("orders")
        assert found is not None
        (aborted,) = found.segments[-1].aborted.entries
        assert (aborted.first_offset, aborted.last_offset) == (0, 2)
