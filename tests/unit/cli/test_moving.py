"""Whom the verbs ask that move replicas and leaders: the controller, which carries it out."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from odradek.cli.brokers.broker_demote import demoted
from odradek.cli.replicas import moving
from odradek.cli.replicas.cordon import cordon, cordoned, uncordon
from odradek.cli.replicas.moving import How, Placement, bounded, cancel, partitions_named
from odradek.cli.replicas.reassign import change_throttle
from odradek.cli.replicas.throttle import REPLICAS, rates
from odradek.cli.words.failing import Failed
from odradek.client.admin import admin
from odradek.client.admin.placement import Ongoing
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
        count, look, failed = await demoted(cluster, 1)
        return sorted(found), (count, look.led, failed)

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


STALE = {TopicPartition("orders", 0): Ongoing((1, 2), (2,), ())}
"""What a look has found that is over when the next request arrives."""


def test_a_cancel_that_comes_behind_the_end_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not failed: the move is done, and how to go back is named."""
    (where,) = STALE
    monkeypatch.setattr(moving, "former_of", lambda _: {where: (1,)})  # no files in this world

    async def conversation(cluster: Cluster) -> Any:
        await admin.create_topic(cluster, admin.NewTopic("orders", 1, 1))
        placement = Placement({where: (1, 2)}, {where: (1,)}, STALE)
        return await cancel(cluster, placement, dry_run=False)

    with Stage() as stage:
        ((row,), failed) = talk(stage, conversation)
    assert (row[-1], failed) == ("was done before the cancel", False)
    said = capsys.readouterr().err
    assert "1 partition had been moved before the cancel; back: odradek partition reassign" in said


def test_a_cancel_where_nothing_moves_tells_of_no_earlier_move(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has cancelled nothing: what was moved last week is no news."""
    (where,) = STALE
    monkeypatch.setattr(moving, "former_of", lambda _: {where: (1,)})  # no files in this world

    async def conversation(cluster: Cluster) -> Any:
        await admin.create_topic(cluster, admin.NewTopic("orders", 1, 1))
        return await cancel(cluster, Placement({where: (1, 2)}, {}, {}), dry_run=False)

    with Stage() as stage:
        assert talk(stage, conversation) == ([], False)
    assert capsys.readouterr().err == ""


def test_a_throttle_that_is_changed_behind_the_end_is_not_left() -> None:
    """The verb that has ended has taken it away already, and nobody else would."""

    async def conversation(cluster: Cluster) -> Any:
        await admin.create_topic(cluster, admin.NewTopic("orders", 1, 1))
        with pytest.raises(Failed, match="the moves have ended meanwhile"):
            await change_throttle(cluster, STALE, 1_000)
        settings = await admin.describe_settings(cluster, admin.TOPIC, "orders")
        named = [it.name for it in settings if it.name in REPLICAS and it.value]
        return (await rates(cluster)).moves, named

    with Stage() as stage:
        assert talk(stage, conversation) == ({}, [])
