"""A bit has turned on a disk: the batch is fetched again from another broker, and not served."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.scenarios.cluster.spoilt import a_follower_is_sent_what_is_spoilt, bytes_of, spoil

NAMED_TOPICS = 12
"""The last version of a fetch that has the names of topics."""
AT_REST = 12
"""Seconds: a log that is not written to for so long gives back its memory and its files."""


def fetched(t: ClusterScenario, number: int, offset: int) -> ErrorCode:
    """What this broker answers to a consumer that may read from followers."""
    client = t.client(f"asks-{number}-{offset}")
    topic = FetchTopic(topic="orders", partitions=[FetchPartition(0, -1, offset, -1, -1, 1 << 20)])
    request = FetchRequest(max_bytes=1 << 20, topics=[topic], session_epoch=-1, rack_id="here")
    connection = client.does(client.cluster.broker(BrokerId(number)))
    answer = client.does(connection.ask(request, NAMED_TOPICS))
    return ErrorCode(answer.responses[0].partitions[0].error_code)


@pytest.mark.usefixtures("_nothing_is_cached")
def test_a_leader_with_a_corrupt_batch_resigns_and_fetches_it_again(t: ClusterScenario) -> None:
    """The consumer that met it reads everything, from the next leader."""
    shop = t.client("shop")
    shop.make("orders")
    for value in ("a", "b", "c"):
        shop.produce("orders", value)
    old = t.leader("orders")
    spoil(t, old, 1)
    assert shop.read("orders") == ["a", "b", "c"]
    assert t.leader("orders") != old
    shop.produce("orders", "d")
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=1)
    assert bytes_of(t, old) == bytes_of(t, t.leader("orders"))


@pytest.mark.usefixtures("_nothing_is_cached")
def test_a_follower_with_a_corrupt_batch_stays_in_sync_and_fetches_it_again(
    t: ClusterScenario,
) -> None:
    """Whoever reads from it is not served the batch; the leader stays."""
    shop = t.client("shop")
    shop.make("orders")
    for value in ("a", "b", "c"):
        shop.produce("orders", value)
    t.run(seconds=1)
    leader, sick = t.leader("orders"), t.followers("orders")[0]
    spoil(t, sick, 1)
    assert fetched(t, sick, 1) is ErrorCode.CORRUPT_MESSAGE
    shop.produce("orders", "d")
    t.wait_until(
        lambda: fetched(t, sick, 1) is ErrorCode.NONE and sick in t.state("orders").isr,
        "it has the batch again, and is in sync",
    )
    t.run(seconds=1)
    assert t.leader("orders") == leader
    assert bytes_of(t, sick) == bytes_of(t, leader)


@pytest.mark.usefixtures("_nothing_is_cached")
def test_a_batch_that_is_nowhere_else_cannot_be_read_and_the_others_can(
    t: ClusterScenario,
) -> None:
    """There is no other replica: its leader goes on, and takes records, too."""
    shop = t.client("shop")
    shop.make("orders", replicas=1)
    for value in ("a", "b", "c"):
        shop.produce("orders", value, acks=1)
    alone = t.leader("orders")
    spoil(t, alone, 1)
    assert fetched(t, alone, 0) is ErrorCode.NONE
    assert fetched(t, alone, 1) is ErrorCode.CORRUPT_MESSAGE
    assert fetched(t, alone, 2) is ErrorCode.NONE
    shop.produce("orders", "d", acks=1)
    assert t.leader("orders") == alone


def test_a_follower_that_is_sent_a_corrupt_batch_asks_again_and_the_leader_resigns(
    t: ClusterScenario,
) -> None:
    """It was in the leader's page cache, so it went out; who asks again may know better."""
    a_follower_is_sent_what_is_spoilt(t, ["a", "b", "c"], 1)


@pytest.mark.usefixtures("_nothing_is_cached")
def test_a_member_with_a_corrupt_batch_keeps_the_rest_and_hands_over_when_it_can(
    t: ClusterScenario,
) -> None:
    """The leader dies before it was asked for the batch; nothing was cut, so nothing is lost."""
    shop = t.client("shop")
    shop.make("orders", min_insync_replicas="2")
    leader = t.leader("orders")
    sick, away = t.followers("orders")
    t.broker(away).kill()
    t.await_isr("orders", leader, sick)
    for value in ("a", "b", "c"):
        shop.produce("orders", value)
    t.run(seconds=1)
    t.cut(leader, sick)
    spoil(t, sick, 1)
    assert fetched(t, sick, 1) is ErrorCode.CORRUPT_MESSAGE
    t.broker(leader).kill()
    t.run(seconds=20)
    assert t.broker(sick).log_end("orders") == 3
    t.heal()
    t.broker(leader).start()
    t.await_isr("orders", leader, sick)
    t.wait_until(lambda: t.leader("orders") == leader, "it has handed over")
    assert shop.read("orders") == ["a", "b", "c"]


def test_a_log_at_rest_is_checked_when_a_reader_asks_again(t: ClusterScenario) -> None:
    """A reader at its beginning has its index read by a job, whatever is in the page cache."""
    shop = t.client("shop")
    shop.make("orders", index_interval_bytes="0")
    for value in ("a", "b", "c"):
        shop.produce("orders", value)
    t.run(seconds=AT_REST)
    leader = t.leader("orders")
    spoil(t, leader, 0)
    assert shop.read("orders") == ["a", "b", "c"]
    assert t.leader("orders") != leader


def test_a_log_that_was_put_to_rest_meanwhile_is_checked_when_a_reader_asks_again(
    t: ClusterScenario,
) -> None:
    """One consumer fetched it while memory knew the way; it asks again, and a job looks for it."""
    shop = t.client("shop")
    shop.make("orders", index_interval_bytes="0")
    for value in ("a", "b", "c"):
        shop.produce("orders", value)
    t.run(seconds=1)
    leader = t.leader("orders")
    spoil(t, leader, 1)
    connection = shop.does(shop.cluster.broker(BrokerId(leader)))
    topic = FetchTopic(topic="orders", partitions=[FetchPartition(0, -1, 1, -1, -1, 1 << 20)])
    first = FetchRequest(max_bytes=1 << 20, topics=[topic], session_epoch=0)
    answer = shop.does(connection.ask(first, NAMED_TOPICS))
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE
    t.run(seconds=AT_REST)
    again = FetchRequest(max_bytes=1 << 20, session_id=answer.session_id, session_epoch=1)
    shop.does(connection.ask(again, NAMED_TOPICS))
    t.run(seconds=1)
    assert t.leader("orders") != leader
