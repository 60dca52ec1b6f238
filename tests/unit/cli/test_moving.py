"""Whom the verbs ask that move replicas and leaders: the controller, which carries it out."""

from collections.abc import Sequence
from typing import Any

from odradek.cli.broker_demote import demoted
from odradek.cli.moving import partitions_named
from odradek.client import admin
from odradek.client.cluster import ClientDeps, Cluster
from odradek.model.ids import TopicPartition
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


def test_a_broker_that_has_not_heard_of_a_topic_hides_it_from_no_verb() -> None:
    """A plan that misses what the controller knows would be done by half, and called done."""

    async def conversation(cluster: Cluster) -> Any:
        await admin.create_topic(cluster, admin.NewTopic("orders", 2, 1))
        found = await partitions_named(cluster, ())
        return sorted(found), await demoted(cluster, 1)

    with Stage() as stage:
        machine = stage.clients
        cluster = NotHeardYet(ClientDeps(machine.network, machine.clock), [("broker", PORT)])
        found, ended = stage.world.ask("clients", conversation(cluster), seconds=120)
        cluster.close()
    both = [TopicPartition("orders", number) for number in (0, 1)]
    assert found == both
    assert ended == (0, both, False)  # no other can lead them
