"""What is asked of a cluster so that a name is found."""

from collections.abc import Sequence

import pytest

from odradek.cli.reaching.naming import silence, topics_named
from odradek.cli.words.failing import Failed
from odradek.client.admin import admin
from odradek.client.cluster import ClientDeps, Cluster
from odradek.peers.errors import ConnectionGone, connecting_failed
from odradek.wire.messages.metadata import MetadataResponse
from tests.unit.broker.stage import PORT, Stage


class Remembering(Cluster):
    """What was asked for."""

    def __init__(self, stage: Stage) -> None:
        machine = stage.clients
        super().__init__(ClientDeps(machine.network, machine.clock), [("broker", PORT)])
        self.asked: list[Sequence[str] | None] = []

    async def refresh(
        self, topics: Sequence[str] | None, *, make: bool = False
    ) -> MetadataResponse:
        """And it is asked."""
        self.asked.append(topics)
        return await super().refresh(topics, make=make)


def test_who_names_a_topic_does_not_wait_for_all_others() -> None:
    """There may be ten thousand partitions; they are asked for where a name is not known."""

    async def conversation(cluster: Remembering) -> None:
        for name in ("orders", "refunds"):
            await admin.create_topic(cluster, admin.NewTopic(name, 2, 1))
        cluster.asked.clear()
        found = await topics_named(cluster, ["refunds", "orders", "refunds"])
        assert [(it.name, len(it.partitions)) for it in found] == [("refunds", 2), ("orders", 2)]
        assert cluster.asked == [["refunds", "orders"]]
        assert [it.name for it in await topics_named(cluster, ["ord*"])] == ["orders"]
        with pytest.raises(Failed, match="order"):
            await topics_named(cluster, ["order"])
        assert cluster.asked[1:] == [None, ["order"], None]

    with Stage() as stage:
        cluster = Remembering(stage)
        try:
            stage.world.ask("clients", conversation(cluster), seconds=120)
        finally:
            cluster.close()


def test_why_a_broker_does_not_answer_is_plain_text() -> None:
    """Asyncio's own is a number and the address once more, and a time-out's is nothing."""
    error = OSError(111, "Connect call failed ('127.0.0.1', 27094)")
    gone = connecting_failed(("127.0.0.1", 27094), error)
    with pytest.raises(ConnectionGone) as raised:
        raise gone from error
    said = "127.0.0.1:27094: connection refused"
    assert silence(raised.value) == said
    assert silence(ConnectionGone(str(gone))) == said  # as a broker tells of another one
    assert silence(TimeoutError()) == "nothing came back within 5 s"
