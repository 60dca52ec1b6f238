"""What the doctor concludes from what a broker tells of itself."""

from typing import Any

import pytest

from odradek import __version__
from odradek.cli.diagnosing import doctor_broker
from odradek.cli.diagnosing.doctor_broker import Told
from odradek.cli.diagnosing.doctor_finding import Level


def told(*, ahead: float = 0, doubt: float = 1, **said: object) -> Told:
    """A broker that said this."""
    reached: Any = None
    return Told(reached, {"version": __version__, **said}, ahead, doubt)


@pytest.mark.parametrize(
    ("ahead", "doubt", "level", "words"),
    [
        (0, 1, Level.OK, "within 1 ms"),
        (990, 5, Level.OK, "within 990 ms"),
        (1_400, 500, Level.OK, "within 1400 ms"),
        (1_600, 500, Level.WARNING, "1.6 s ahead of"),
        (-3_600_000, 2, Level.WARNING, "3600.0 s behind"),
    ],
)
def test_a_clock_is_wrong_by_more_than_the_answer_took(
    ahead: float, doubt: float, level: Level, words: str
) -> None:
    """A slow answer is no wrong clock."""
    (found,) = doctor_broker._clock("broker 1", told(ahead=ahead, doubt=doubt))
    assert found.level is level
    assert words in found.cause
    assert bool(found.next_step) == (level is not Level.OK)


@pytest.mark.parametrize(
    ("most", "used", "level"),
    [(65_536, 100, Level.OK), (1_024, 100, Level.WARNING), (100_000, 90_000, Level.ERROR)],
)
def test_open_files_are_compared_with_their_limit(most: int, used: int, level: Level) -> None:
    """The limit may be too low, and it may be nearly reached."""
    figures = {"process_max_fds": most, "process_open_fds": used}
    (found,) = doctor_broker._limits("broker 1", told(figures=figures))
    assert found.level is level


def test_versions_are_compared() -> None:
    """Another one is no error: brokers are upgraded one at a time."""
    (same,) = doctor_broker._version("broker 1", told())
    (other,) = doctor_broker._version("broker 1", told(version="0.0.9"))
    (kafka,) = doctor_broker._version("broker 1", Told(told().reached, {}))
    assert [same.level, other.level, kafka.level] == [Level.OK, Level.NOTE, Level.NOTE]
    assert "0.0.9" in other.cause
