"""What health tells, and what of it may last."""

from odradek.cli import cluster_health
from odradek.controller import health


def test_warnings_are_called_as_the_controller_calls_them() -> None:
    """One under another name would hold up every rolling restart."""
    ours = {health.CAPPED, health.DELETION_WAITS, health.REASSIGNMENT_WAITS}
    assert ours < cluster_health.WARNINGS
    grave = {health.NO_LEADER, health.OUT_OF_SYNC, health.BELOW_MIN_ISR, health.RECORDS_LOST}
    assert not grave & cluster_health.WARNINGS
