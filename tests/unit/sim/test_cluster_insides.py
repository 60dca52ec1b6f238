"""What the promises of the simulated cluster allow."""

from odradek.sim.worlds.cluster_insides import Bounds


def test_bounds_fall_no_further_than_to_what_is_committed() -> None:
    """A log of which retention had deleted all follows one that lost the end, and starts there."""
    assert Bounds(8, 8).kept(8) == (8, 8)
    assert Bounds(3, 8).kept(5) == (3, 5)
    assert Bounds(8, 8).kept(4) == (4, 4)
