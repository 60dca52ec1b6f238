"""What a run looks like, drawn from its history."""

import re

from odradek.sim.history import Event
from odradek.sim.picture import STATE, picture

SECOND = 1_000_000


def drawn() -> str:
    """Two brokers, of which one is struck, dies, and is replaced."""
    return picture(
        [
            Event(0, "broker-1", "starts", (1,)),
            Event(0, "broker-2", "starts", (1,)),
            Event(SECOND, "world", STATE, ("orders-0", 1, 0, (1, 2))),
            Event(2 * SECOND, "world", "strikes", ("kill", "broker-1")),
            Event(2 * SECOND, "broker-1", "killed", ()),
            Event(3 * SECOND, "world", STATE, ("orders-0", 2, 1, (2,))),
            Event(4 * SECOND, "broker-2", "pauses", ()),
            Event(5 * SECOND, "world", "heals", ()),
            Event(10 * SECOND, "broker-2", "resumes", ()),
        ]
    )


def titles(svg: str) -> list[str]:
    """What is said of each thing."""
    return re.findall(r"<title>([^<]*)</title>", svg)


def test_a_life_is_a_bar_in_the_lane_of_its_machine() -> None:
    """From its start to its end, and what stood still lies above it."""
    found = titles(drawn())
    assert "broker-1, life 1, killed" in found
    assert "broker-2, life 1, to the end" in found
    assert "paused" in found


def test_leaders_are_darker_than_other_members_of_the_isr() -> None:
    """A band at each member, until the tree says something else."""
    svg = drawn()
    bands = [it for it in titles(svg) if "orders-0" in it]
    assert len(bands) == 3
    assert bands[0] == "1.000 orders-0: 1 leads in epoch 0, ISR [1, 2]"
    assert svg.count("65% 38%") == 2
    assert svg.count("65% 80%") == 1


def test_a_fault_is_a_mark_at_whom_it_struck() -> None:
    """The moment at which all healed is a line through everybody."""
    svg = drawn()
    assert svg.count("class='hit'") == 1
    assert svg.count("class='heals'") == 1


def test_nothing_happened() -> None:
    """There is nothing to draw."""
    assert picture([]) == ""
