"""A batch that was refused for a while, and those that follow it on their way."""

import errno

from odradek.client.cluster import Cluster
from odradek.client.connection import Connection
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.stage.clients import Client
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest
from tests.samples.transactions import one_record

NONE, NOT_LEADER = ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER
TOO_FEW, OUT_OF_ORDER = ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
NO_ROOM = ErrorCode.KAFKA_STORAGE_ERROR
PIPELINED = 11
LONELY = {"default.replication.factor": "1", "min.insync.replicas": "1"}


async def connected(cluster: Cluster, broker: int) -> Connection:
    """One connection, for all batches."""
    return await cluster.broker(BrokerId(broker))


async def sent(connection: Connection, sequence: int, epoch: int = 0) -> ErrorCode:
    """What a batch of one record is answered."""
    records = one_record(sequence, epoch=epoch, transactional=False)
    answer = await connection.ask(ProduceRequest(None, -1, 10_000, records), PIPELINED)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


async def sent_to_both(connection: Connection, sequence: int) -> list[ErrorCode]:
    """What a batch to each of two partitions is answered."""
    records = one_record(sequence, transactional=False)
    (first,) = records[0].partition_data
    records[0].partition_data = [first, PartitionProduceData(1, first.records)]
    answer = await connection.ask(ProduceRequest(None, -1, 10_000, records), PIPELINED)
    return [ErrorCode(it.error_code) for it in answer.responses[0].partition_responses]


def led_by_another(t: ClusterScenario, who: Client) -> tuple[Connection, int]:
    """A connection to a follower, which becomes the leader after it has refused two batches."""
    leader, follower = t.leader("orders"), t.followers("orders")[0]
    assert who.does(sent(who.does(connected(who.cluster, leader)), 0)) is NONE
    t.await_isr("orders", 1, 2, 3)
    connection = who.does(connected(who.cluster, follower))
    assert [who.does(sent(connection, it)) for it in (1, 2)] == [NOT_LEADER] * 2
    for number in {1, 2, 3} - {follower}:
        t.broker(number).kill()
    t.broker(({1, 2, 3} - {leader, follower}).pop()).start()
    t.wait_until(lambda: t.leader("orders") == follower, "it leads")
    return connection, follower


@staged(settings={"min.insync.replicas": "1"})
def test_what_follows_a_refused_batch_is_refused_like_it(t: ClusterScenario) -> None:
    """Out of order would make librdkafka begin an epoch, and send again what a leader has."""
    shop = t.client("shop")
    shop.make("orders")
    connection, _ = led_by_another(t, shop)
    assert [shop.does(sent(connection, it)) for it in (3, 4)] == [NOT_LEADER] * 2
    assert [shop.does(sent(connection, it)) for it in (1, 2, 3, 4, 5)] == [NONE] * 5
    t.run(seconds=5)
    assert shop.does(sent(connection, 7)) is OUT_OF_ORDER


@staged(settings={"min.insync.replicas": "1"})
def test_what_was_sent_to_the_leader_of_before_is_waited_for(t: ClusterScenario) -> None:
    """One batch was on its way to that one, the next came here: told of a gap, librdkafka doubles.

    For as long as it may be sent again; then what is missing is lost, and that is said.
    """
    shop = t.client("shop")
    shop.make("orders")
    _, follower = led_by_another(t, shop)
    connection = shop.does(connected(shop.cluster, follower))
    assert [shop.does(sent(connection, it)) for it in (2, 3)] == [TOO_FEW] * 2
    assert [shop.does(sent(connection, it)) for it in (1, 2, 3)] == [NONE] * 3
    another = shop.does(connected(t.client("another").cluster, follower))
    assert shop.does(sent(another, 3, epoch=1)) is TOO_FEW
    t.run(seconds=5)
    assert shop.does(sent(connection, 5)) is OUT_OF_ORDER


@staged(settings={"min.insync.replicas": "1"})
def test_a_gap_behind_a_refused_batch_is_a_gap(t: ClusterScenario) -> None:
    """One that was never sent, or is of another epoch."""
    shop = t.client("shop")
    shop.make("orders")
    connection, _ = led_by_another(t, shop)
    t.run(seconds=5)
    assert shop.does(sent(connection, 4)) is OUT_OF_ORDER
    assert shop.does(sent(connection, 3, epoch=1)) is OUT_OF_ORDER
    assert shop.does(sent(connection, 3)) is OUT_OF_ORDER, "the line had its end"


@staged(settings={"min.insync.replicas": "2"})
def test_a_producer_of_which_nothing_is_known_does_not_begin_in_the_middle(
    t: ClusterScenario,
) -> None:
    """Its first batch was refused while too few replicas were there: it comes again, and first."""
    shop = t.client("shop")
    shop.make("orders")
    leader = t.leader("orders")
    for other in t.followers("orders"):
        t.broker(other).kill()
    t.await_isr("orders", leader)
    connection = shop.does(connected(shop.cluster, leader))
    assert shop.does(sent(connection, 0)) is TOO_FEW
    for number in {1, 2, 3} - {leader}:
        t.broker(number).start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.does(sent(connection, 1)) is TOO_FEW
    assert [shop.does(sent(connection, it)) for it in (0, 1, 2)] == [NONE] * 3


@staged(settings={"min.insync.replicas": "1"})
def test_a_topic_is_made_again_between_a_refused_batch_and_the_next(t: ClusterScenario) -> None:
    """Its log knows nothing of the producer, and would take what comes first for the beginning."""
    shop = t.client("shop")
    shop.make("orders")
    leader, follower = t.leader("orders"), t.followers("orders")[0]
    assert shop.does(sent(shop.does(connected(shop.cluster, leader)), 0)) is NONE
    connection = shop.does(connected(shop.cluster, follower))
    assert [shop.does(sent(connection, it)) for it in (1, 2)] == [NOT_LEADER] * 2
    shop.delete("orders")
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    t.operator().places("orders", [follower, leader])
    t.wait_until(lambda: t.leader("orders") == follower, "it leads")
    assert [shop.does(sent(connection, it)) for it in (3, 4)] == [NOT_LEADER] * 2
    assert [shop.does(sent(connection, it)) for it in (1, 2, 3, 4, 5)] == [NONE] * 5
    found = t.broker(follower).log("orders")
    assert found is not None
    assert found.log_end_offset == 5


def without_room_once(t: ClusterScenario) -> Fault:
    """The next write to the log finds a full disk."""
    broker = t.broker(1)
    full = Fault(errno.ENOSPC, frozenset({"write"}), "orders-0/*.log", times=1)
    broker.machine.disk(broker.disk_of("orders")).faults.rows.append(full)
    return full


@staged(brokers=1, settings=LONELY)
def test_what_follows_a_batch_without_room_is_refused_like_it(t: ClusterScenario) -> None:
    """Room came back before the second: it is not out of order."""
    shop = t.client("shop")
    shop.make("orders")
    connection = shop.does(connected(shop.cluster, 1))
    assert shop.does(sent(connection, 0)) is NONE
    full = without_room_once(t)
    assert [shop.does(sent(connection, it)) for it in (1, 2, 3)] == [NO_ROOM] * 3
    assert full.hits == 1
    assert [shop.does(sent(connection, it)) for it in (1, 2, 3)] == [NONE] * 3


@staged(brokers=1, settings=LONELY)
def test_what_follows_the_first_batch_without_room_is_not_taken_for_the_beginning(
    t: ClusterScenario,
) -> None:
    """Told that the second is stored, librdkafka would count the first as stored as well."""
    shop = t.client("shop")
    shop.make("orders")
    connection = shop.does(connected(shop.cluster, 1))
    without_room_once(t)
    assert [shop.does(sent(connection, it)) for it in (0, 1, 2)] == [NO_ROOM] * 3
    assert [shop.does(sent(connection, it)) for it in (0, 1, 2)] == [NONE] * 3


@staged(brokers=1, settings=LONELY)
def test_batches_of_two_partitions_without_room_hold_up_what_follows_them(
    t: ClusterScenario,
) -> None:
    """One request with both goes the general way."""
    shop = t.client("shop")
    shop.make("orders", partitions=2)
    connection = shop.does(connected(shop.cluster, 1))
    without_room_once(t)
    assert shop.does(sent_to_both(connection, 0)) == [NO_ROOM, NONE]
    assert shop.does(sent_to_both(connection, 1)) == [NO_ROOM, NONE]
    assert shop.does(sent(connection, 0)) is NONE
    assert shop.does(sent(connection, 1)) is NONE
