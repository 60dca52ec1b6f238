"""The tables of phases, against the rules that they stand for."""

from odradek.controller.phases import (
    PARTITION_PREDECESSORS,
    REPLICA_PREDECESSORS,
    PartitionPhase,
    ReplicaPhase,
)


def test_every_phase_can_be_reached_and_left() -> None:
    """A phase without a way in would be dead, one without a way out a trap."""
    assert set(PARTITION_PREDECESSORS) == set(PartitionPhase)
    assert set(REPLICA_PREDECESSORS) == set(ReplicaPhase)
    assert set().union(*PARTITION_PREDECESSORS.values()) == set(PartitionPhase)
    assert set().union(*REPLICA_PREDECESSORS.values()) == set(ReplicaPhase)


def test_nothing_is_deleted_or_led_out_of_turn() -> None:
    """A partition has a leader only after it was assigned, and goes only after it is offline."""
    assert PartitionPhase.NON_EXISTENT not in PARTITION_PREDECESSORS[PartitionPhase.ONLINE]
    assert PARTITION_PREDECESSORS[PartitionPhase.NON_EXISTENT] == {PartitionPhase.OFFLINE}
    assert REPLICA_PREDECESSORS[ReplicaPhase.NON_EXISTENT] == {ReplicaPhase.DELETION_SUCCESSFUL}
    assert REPLICA_PREDECESSORS[ReplicaPhase.DELETION_STARTED] == {ReplicaPhase.OFFLINE}
    assert ReplicaPhase.DELETION_STARTED not in REPLICA_PREDECESSORS[ReplicaPhase.ONLINE]
