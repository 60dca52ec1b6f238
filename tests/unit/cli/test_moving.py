"""Whom the verbs ask that move replicas and leaders: the controller, which carries it out."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from odradek.cli.broker_demote import demoted
from odradek.cli.cordon import cordon, cordoned, uncordon
from odradek.cli.moving import How, bounded, partitions_named
from odradek.cli.throttle import rates
from odradek.client import admin
from odradek.client.cluster import ClientDeps, Cluster
from odradek.model.ids import TopicPartition
from odradek.peers.errors import ConnectionGone
from odradek.wire.messages.metadata import MetadataResponse
from tests.unit.broker.stage import PORT, Stage


class NotHeardYet(Cluster):
    """The broker that happens to be asked knows no topic yet."""

    async def refresh(
        self, topics: Sequence[str] | None, *, make: bool = False
    ) -> MetadataResponse:
        """Without those that the controller has made."""
        told = await super().refresh(topics, make=make)
        told.topics = []
        return told


def talk(stage: Stage, conversation: Callable[[Cluster], Coroutine[Any, Any, Any]]) -> Any:
    """On the clients' machine, with a broker that has not heard yet."""
    machine = stage.clients
    cluster = NotHeardYet(ClientDeps(machine.network, machine.clock), [("broker", PORT)])
    try:
        return stage.world.ask("clients", conversation(cluster), seconds=120)
    finally:
        cluster.close()


def test_a_broker_that_has_not_heard_of_a_topic_hides_it_from_no_verb() -> None:
    """A plan that misses what the controller knows would be done by half, and called done."""

    async def conversation(cluster: Cluster) -> Any:
        await admin.create_topic(cluster, admin.NewTopic("orders", 2, 1))
        found = await partitions_named(cluster, ())
        return sorted(found), await demoted(cluster, 1)

    with Stage() as stage:
        found, ended = talk(stage, conversation)
    both = [TopicPartition("orders", number) for number in (0, 1)]
    assert found == both
    assert ended == (0, both, False)  # no other can lead them


@pytest.mark.parametrize("goes_on", [True, False])
def test_an_error_leaves_the_throttle_of_a_move_that_goes_on(*, goes_on: bool) -> None:
    """Without it the cluster would copy at full speed; where nothing was begun it goes."""
    where = TopicPartition("orders", 0)

    async def fail(cluster: Cluster) -> None:
        async with bounded(cluster, {where: (1,)}, {where: (1, 2)}, How(rate=1_000)) as bound:
            bound.goes_on = goes_on
            raise ConnectionGone("the broker that was asked has died")

    async def conversation(cluster: Cluster) -> Any:
        await admin.create_topic(cluster, admin.NewTopic("orders", 1, 1))
        with pytest.raises(ConnectionGone):
            await fail(cluster)
        return (await rates(cluster)).moves

    with Stage() as stage:
        assert talk(stage, conversation) == ({1: 1_000} if goes_on else {})


def test_the_mark_of_a_cordon_is_written_by_the_controller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It acts at once on what it has written, and a moment later on what others have."""

    async def any_broker(*_: object) -> Any:
        raise ConnectionGone("this broker would write it")

    async def conversation(cluster: Cluster) -> Any:
        monkeypatch.setattr(admin, "who_knows", any_broker)
        await cordon(cluster, 7)
        before = await cordoned(cluster, asks_controller=True)
        await uncordon(cluster, 7)
        return before, await cordoned(cluster, asks_controller=True)

    with Stage() as stage:
        assert talk(stage, conversation) == ([7], [])
