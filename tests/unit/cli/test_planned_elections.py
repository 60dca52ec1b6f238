"""What a plan of elections says of each partition."""

from odradek.cli.replicas.partition import WAITS, planned_state
from odradek.wire.messages.metadata import MetadataResponsePartition


def row(leader: int, offline: list[int], isr: list[int]) -> MetadataResponsePartition:
    """With replicas on brokers 3 and 1."""
    return MetadataResponsePartition(
        leader_id=leader, replica_nodes=[3, 1], isr_nodes=isr, offline_replicas=offline
    )


def test_what_cannot_be_elected_is_not_planned() -> None:
    """A partition without a leader has members that are dead."""
    assert planned_state(row(1, [], [3, 1]), unclean=False) == "planned"
    assert planned_state(row(1, [], [1]), unclean=False) == WAITS
    assert planned_state(row(-1, [3], [3]), unclean=False) == WAITS
    assert planned_state(row(-1, [3], [3]), unclean=True) == "planned"
    assert planned_state(row(-1, [3, 1], [3]), unclean=True) == "no replica is alive"
