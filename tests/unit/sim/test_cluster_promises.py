"""What the simulated cluster's clients are believed, and what not."""

from contextlib import AbstractContextManager, nullcontext

import pytest

from odradek.model.ids import TopicId, TopicPartition
from odradek.sim.invariants import Violation
from odradek.sim.world import World
from odradek.sim.worlds.cluster_insides import Copied, Copies
from odradek.sim.worlds.cluster_promises import ClusterTellsOneStory
from odradek.sim.worlds.cluster_view import ClusterView, Place
from odradek.sim.zookeeper_machine import ZooKeeperMachine

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
