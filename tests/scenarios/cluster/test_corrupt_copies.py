"""Whoever meets a batch that its disk has spoilt makes a whole copy take over, and mends this one.

Here it is not met by a fetch: a coordinator that loads, compaction, a move between disks, and a
search for a time read logs, too.
"""

import pytest

from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.member import committed
from odradek.client.records.transactional_producer import TransactionalProducer
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import Timestamp
from odradek.records.record import Record
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from tests.scenarios.cluster.spoilt import LAST_BYTE, MAGIC_AT, bytes_of, spoil

GROUPS = "__consumer_offsets"
ORDERS = TopicPartition("orders", 0)
GROUPS_OF_THREE = {
    "offsets.topic.num.partitions": "1",
    "auto.leader.rebalance.enable": "false",
}
GROUPS_OF_ONE = {**GROUPS_OF_THREE, "offsets.topic.replication.factor": "1"}


def has_mended(t: ClusterScenario, number: int, topic: str = "orders") -> None:
    """Until all replicas have the same bytes, and are in sync."""
    t.await_isr(topic, 1, 2, 3)
    t.wait_until(
        lambda: len({bytes_of(t, each, topic) for each in (1, 2, 3)}) == 1, f"{number} is mended"
    )


@pytest.mark.parametrize("at", [MAGIC_AT, LAST_BYTE])
@staged(settings=GROUPS_OF_THREE)
def test_a_coordinator_with_a_corrupt_log_hands_over_to_one_with_a_whole_log(
    t: ClusterScenario, at: int
) -> None:
    """Its groups go on there; else they would wait as long as it leads."""
    shop = t.client("shop")
    shop.make("orders")
    member = shop.member("shop", "orders")
    member.joins()
    assert member.commits("orders", 0, 1) is ErrorCode.NONE
    t.await_isr(GROUPS, 1, 2, 3)
    t.run(seconds=1)
    old = t.leader(GROUPS)
    sick = next(number for number in t.operator().replicas(GROUPS) if number != old)
    spoil(t, sick, 0, GROUPS, at=at)
    t.broker(old).stop()
    t.broker(old).start()
    assert shop.committed("shop") == {ORDERS: 1}
    assert t.leader(GROUPS) != sick
    has_mended(t, sick, GROUPS)


@staged(settings=GROUPS_OF_ONE)
def test_a_coordinator_whose_log_is_nowhere_whole_says_so(t: ClusterScenario) -> None:
    """Nobody waits for ever; when the log can be read again, the groups go on."""
    shop = t.client("shop")
    shop.make("orders")
    member = shop.member("shop", "orders")
    member.joins()
    assert member.commits("orders", 0, 1) is ErrorCode.NONE
    alone = t.leader(GROUPS)
    path, at = spoil(t, alone, 0, GROUPS)
    t.broker(alone).stop()
    t.broker(alone).start()
    asked = shop.refusal_of(committed(shop.cluster, "shop"))
    assert asked is ErrorCode.KAFKA_STORAGE_ERROR
    disk = t.broker(alone).machine.disk(t.broker(alone).disk_of(GROUPS))
    t.broker(alone).stop()
    disk.flip(path, at, 0)  # as it was
    t.broker(alone).start()
    assert shop.committed("shop") == {ORDERS: 1}


@pytest.mark.parametrize("at", [MAGIC_AT, LAST_BYTE])
def test_a_leader_that_finds_no_record_by_its_time_hands_over(t: ClusterScenario, at: int) -> None:
    """The search reads batches whole: the next leader is asked again, and finds it."""
    shop = t.client("shop")
    shop.make("orders")
    sick = t.leader("orders")
    shop.produce("orders", "a")
    t.run(seconds=1)
    second = t.broker(sick).machine.clock.wall()
    shop.produce("orders", "b")
    shop.produce("orders", "c")
    t.run(seconds=1)
    spoil(t, sick, 1, at=at)
    assert shop.does(offsets_at(shop.cluster, [ORDERS], second)) == {ORDERS: 1}
    t.await_new_leader("orders", sick)
    has_mended(t, sick)


def test_compaction_that_meets_a_corrupt_batch_has_it_mended(t: ClusterScenario) -> None:
    """It goes on with this log afterwards, and with others meanwhile."""
    operator = t.operator()
    operator.sets_brokers({"log.cleaner.backoff.ms": "1000"})
    operator.places("orders", (1, 2, 3), segment_bytes="300", min_cleanable_dirty_ratio="0.01")
    for value in "abcdefgh":
        operator.produce("orders", value * 50)
    t.run(seconds=1)
    sick = t.followers("orders")[0]
    spoil(t, sick, 1)
    operator.sets("orders", cleanup_policy="compact")
    t.wait_until(lambda: _was_mended(t, sick), "it is mended")


def _was_mended(t: ClusterScenario, number: int) -> bool:
    log = t.broker(number).log("orders")
    assert log is not None
    return log.cuts > 0 and log.corrupt is None and log.log_end_offset == 8


@pytest.mark.parametrize("at", [MAGIC_AT, LAST_BYTE])
def test_a_move_between_disks_that_meets_a_corrupt_batch_has_it_mended(
    t: ClusterScenario, at: int
) -> None:
    """The move is given up; the next one succeeds."""
    shop = t.client("shop")
    shop.make("orders")
    for value in ("a", "b", "c"):
        shop.produce("orders", value)
    t.run(seconds=1)
    sick = t.broker(t.leader("orders"))
    other = sick.other_disk("orders")
    spoil(t, sick.number, 1, at=at)
    assert shop.move(sick.number, "orders", sick.path_of(other)) is ErrorCode.NONE
    t.await_new_leader("orders", sick.number)
    has_mended(t, sick.number)
    assert shop.move(sick.number, "orders", sick.path_of(other)) is ErrorCode.NONE
    t.wait_until(lambda: sick.disk_of("orders") == other, "it has moved")
    assert shop.read("orders") == ["a", "b", "c"]


@pytest.mark.usefixtures("_nothing_is_cached")
def test_a_leader_that_was_alone_with_a_corrupt_batch_hands_over_when_another_has_joined(
    t: ClusterScenario,
) -> None:
    """Who has the batch whole had been away when it was met."""
    shop = t.client("shop")
    shop.make("orders")
    for value in ("a", "b", "c"):
        shop.produce("orders", value)
    t.run(seconds=1)
    alone = t.leader("orders")
    for broker in t.others(alone):
        broker.kill()
    t.await_isr("orders", alone)
    spoil(t, alone, 1)
    assert shop.refusal_of(shop.reading("orders")) is ErrorCode.CORRUPT_MESSAGE
    assert t.leader("orders") == alone
    for broker in t.others(alone):
        broker.start()
    t.await_new_leader("orders", alone)
    assert shop.read("orders") == ["a", "b", "c"]
    has_mended(t, alone)


@pytest.mark.usefixtures("_nothing_is_cached")
def test_two_spoilt_copies_mend_each_other(t: ClusterScenario) -> None:
    """What is whole in the first stays there until the other one has it."""
    operator = t.operator()
    operator.places("orders", (1, 2))
    for value in "abcdef":
        operator.produce("orders", value)
    t.run(seconds=1)
    first = t.leader("orders")
    second = ({1, 2} - {first}).pop()
    whole = bytes_of(t, first)
    spoil(t, first, 1)
    spoil(t, second, 4)
    for _ in range(2):  # the second is alone when it meets its own batch
        operator.refusal_of(operator.reading("orders"))
        t.await_isr("orders", 1, 2)
        t.run(seconds=1)
    assert operator.read("orders") == list("abcdef")
    t.wait_until(lambda: bytes_of(t, first) == bytes_of(t, second) == whole, "both are mended")


@pytest.mark.usefixtures("_nothing_is_cached")
def test_leaders_do_not_hand_over_what_the_other_cannot_read_either(t: ClusterScenario) -> None:
    """Each would resign for the other for ever; one of them goes on, and says what is lost."""
    operator = t.operator()
    operator.places("orders", (1, 2))
    for value in "abc":
        operator.produce("orders", value)
    t.run(seconds=1)
    for number in (1, 2):
        spoil(t, number, 1)
    assert operator.refusal_of(operator.reading("orders")) is ErrorCode.CORRUPT_MESSAGE
    t.run(seconds=40)
    epoch = t.state("orders").leader_epoch
    assert operator.refusal_of(operator.reading("orders")) is ErrorCode.CORRUPT_MESSAGE
    t.run(seconds=60)
    assert t.state("orders").leader_epoch == epoch
    t.await_isr("orders", 1, 2)


@pytest.mark.parametrize("offset", [1, 3], ids=["the first record", "the marker"])
@staged()
def test_what_a_start_passes_over_is_fetched_again_and_counted(
    t: ClusterScenario, offset: int
) -> None:
    """Who aborted what, and what is decided, is built from batches: no reader looks for these."""
    shop, copier = t.operator(), t.client("copier")
    shop.places("orders", (1, 2, 3), flush_messages="1")
    producer = TransactionalProducer(copier.cluster, "copier")
    shop.produce("orders", "a")
    copier.does(producer.begin())
    for value in (b"b", b"c"):
        copier.does(producer.send({ORDERS: [Record(0, Timestamp(1), None, value)]}))
    copier.does(producer.abort())
    t.wait_until(lambda: t.broker(2).log_end("orders") == 4, "the marker is there")
    shop.produce("orders", "d")
    t.run(seconds=70)  # all is flushed, and noted
    spoil(t, 2, offset)
    t.broker(2).kill()
    t.await_isr("orders", 1, 3)
    t.broker(2).start()
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=5)
    whole, mended = t.broker(1).log("orders"), t.broker(2).log("orders")
    assert whole is not None
    assert mended is not None
    assert bytes_of(t, 2) == bytes_of(t, 1)
    assert mended.last_stable_offset == mended.high_watermark == 5
    between = Offset(0), Offset(5)
    assert mended.aborted_between(*between) == whole.aborted_between(*between) != []
