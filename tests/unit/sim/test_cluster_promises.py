"""What the simulated cluster's clients are believed, and what not."""

from contextlib import AbstractContextManager, nullcontext

import pytest

from odradek.model.ids import TopicId, TopicPartition
from odradek.sim.history import Event
from odradek.sim.invariants import Violation
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ZooKeeperMachine
from odradek.sim.worlds.broker.administrator_promises import DOUBT_MICROS
from odradek.sim.worlds.cluster.promises.insides import Copied, Copies
from odradek.sim.worlds.cluster.promises.leaderships import UncleanElectionsAreAllowed
from odradek.sim.worlds.cluster.promises.to_clients import (
    ClusterTellsOneStory,
    CommitsGoWithTheirTopic,
)
from odradek.sim.worlds.cluster.view import ClusterView, Place

WHERE = TopicPartition("payments", 0)


BELIEVED = pytest.raises(Violation, match="inconsistent")


@pytest.mark.parametrize(
    ("leader_epoch", "comes"), [(-1, nullcontext()), (4, nullcontext()), (5, BELIEVED)]
)
def test_a_leader_of_the_time_before_a_loss_is_not_believed(
    leader_epoch: int, comes: AbstractContextManager[object]
) -> None:
    """Its reader finds again what was lost, and another finds what was written in its place."""
    world = World(0)
    history = world.history
    view = ClusterView(ZooKeeperMachine(world), {})
    copies = Copies(view, history, synced=frozenset(), min_isr={})
    promise = ClusterTellsOneStory(copies)

    def fails(violation: BaseException) -> None:
        raise violation

    history.watch(promise.guarded(fails), promise.watches)
    history.note("producer", "client.sends", *WHERE, ("1/1",))
    history.note("producer", "client.acked", *WHERE, 0, ("1/1",))
    copies.of[Place(TopicId(bytes(16)), WHERE)] = Copied(since=1, since_epoch=4)
    history.note("world", "records.may_be_lost", WHERE.topic)
    history.note("producer", "client.sends", *WHERE, ("1/2",))
    history.note("reader", "client.found", *WHERE, 0)
    history.note("reader", "client.polled", *WHERE, ((0, "1/1"),), leader_epoch)
    with comes:
        history.note("producer", "client.acked", *WHERE, 0, ("1/2",))


def test_who_was_elected_uncleanly_must_have_been_allowed() -> None:
    """In this topic, at any time before: the end of it may be heard late."""
    promise = UncleanElectionsAreAllowed()
    promise.on(Event(1, "world", "unclean.may_be", ("orders",)))
    promise.on(Event(2, "world", "elected.uncleanly", ("orders", 0, 3)))
    with pytest.raises(AssertionError, match="payments"):
        promise.on(Event(3, "world", "elected.uncleanly", ("payments", 0, 3)))


def test_a_topic_that_is_new_has_no_commits_unless_one_may_be_on_its_way() -> None:
    """One that was answered is not."""
    promise = CommitsGoWithTheirTopic()
    promise.on(Event(1, "admin-1", "commit.tries", ("temporary-1-0",)))
    promise.on(Event(2, "admin-1", "commit.found", ("temporary-1-0", 4)))
    promise.on(Event(3, "admin-1", "commit.made", ("temporary-1-0",)))
    promise.on(Event(4, "admin-1", "commit.found", ("temporary-1-0", None)))
    with pytest.raises(AssertionError, match="at 4"):
        promise.on(Event(5, "admin-1", "commit.found", ("temporary-1-0", 4)))
    promise.on(Event(6, "admin-1", "commit.tries", ("temporary-1-0",)))
    with pytest.raises(AssertionError, match="at 4"):
        promise.on(Event(6 + DOUBT_MICROS, "admin-1", "commit.found", ("temporary-1-0", 4)))
