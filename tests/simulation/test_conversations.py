"""Conversations notice wrong rules that a world would find late, or cannot find."""

from typing import Final

import pytest

from odradek.sim.conversations import KNOWN, converse
from tests.simulation.test_cluster import FIRST

SEEDS: Final = 5  # within so many each mistake must be found
FOUND_IN: Final = {
    "one-comparison-is-enough": "kip-279-an-epoch-that-the-leader-never-had",
    "committed-isr-only": "an-expansion-is-written-and-its-answer-lost-before-the-leader-changes",
    "clean-marker-stays": "a-mark-of-a-clean-shutdown-counts-once",
    "isr-of-another-life": "kip-903-a-member-of-an-earlier-life-joins-no-isr",
    "states-without-versions": "a-state-that-another-has-written-is-read-before-it-is-replaced",
    "conflicts-are-not-read": "a-state-that-another-has-written-is-read-before-it-is-replaced",
    "past-controllers-are-obeyed": "a-controller-that-was-replaced-changes-nothing",
    "words-for-an-earlier-life-are-obeyed": "a-controller-that-was-replaced-changes-nothing",
    "leader-epochs-do-not-fence": "a-leadership-that-is-told-late-changes-nothing",
    "stopped-in-any-leader-epoch": "kip-570-a-word-to-stop-that-was-overtaken-deletes-nothing",
    "append-behind-a-failed-write": "a-write-behind-one-that-failed-is-not-written",
    "snapshot-without-this-turn": "who-wrote-the-end-of-a-full-segment-is-known-after-a-start",
    "group-sync-skips-what-was-begun": (
        "a-segment-that-an-acknowledged-write-began-outlives-a-loss-of-power"
    ),
    "no-answer-is-a-failure": "an-election-is-written-and-its-answer-lost",
    "no-resignation": "a-controller-that-is-refused-by-zookeeper-begins-anew",
    "an-expiry-tells-nobody": "a-controller-whose-session-is-over-answers-as-one-no-more",
}


@pytest.mark.parametrize("mistake", FOUND_IN)
def test_known_mistakes_are_found_in_conversations(mistake: str) -> None:
    """Each goes against a lesson soon, which holds without it."""
    told = FOUND_IN[mistake]
    seeds = range(1, 1 + SEEDS)
    found = (seed for seed in seeds if not converse(told, seed, control=mistake).passed)
    first = next(found, None)
    assert first is not None, mistake
    assert converse(told, first).passed


def test_every_known_mistake_is_looked_for() -> None:
    """By a world, or by a conversation."""
    assert {*KNOWN} == {*FIRST, *FOUND_IN}
