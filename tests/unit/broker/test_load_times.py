"""How long partitions of coordinators took to load."""

from odradek.broker.coordinators.load_times import WINDOW, LoadTimes
from odradek.model.units import Millis


def test_the_last_half_minute_counts() -> None:
    """The longest and the mean; what was loaded before is forgotten."""
    times = LoadTimes()
    assert times.longest_and_mean(Millis(0)) == (0, 0.0)
    times.note(Millis(0), Millis(400))
    times.note(Millis(400), Millis(500))
    assert times.longest_and_mean(Millis(1_000)) == (400, 250.0)
    assert times.longest_and_mean(Millis(450 + WINDOW)) == (100, 100.0)
    assert times.longest_and_mean(Millis(501 + WINDOW)) == (0, 0.0)
