"""The world of several brokers notices rules that are wrong."""

from typing import Final

import pytest

from odradek.sim.simulation import run
from odradek.sim.stage.zookeeper_refusals import REFUSED, TURNED_AWAY
from odradek.sim.worlds import kind

SEEDS: Final = 60  # within so many each mistake must be found
FIRST: Final = {
    "truncate-to-high-watermark": 4,
    "committed-by-the-leader-alone": 1,
    "no-minimum-of-replicas": 3,
    "a-bounce-is-nothing": 9,
    "page-cache-trusted": 3,
    "unclean-logs-forgotten": 3,
    "read-beyond-the-high-watermark": 32,
    "settings-outlive-their-topic": 1,
    "unclean-before-whole": 3,
    "max-bytes-of-each-partition": 3,
    "nothing-below-the-active-segment-goes": 5,
    "every-registration-is-our-own": 6,
    "leaders-need-not-be-whole": 5,
    "controller-after-its-lease": 18,
    "past-controllers-are-obeyed": 18,
    "no-fence-at-brokers": 32,
    "no-fence-in-the-tree": 18,
    "an-incarnation-outlives-a-cut": 5,
    "the-controller-knows-what-is-lost": 5,
    "eligible-is-never-emptied": 3,
    "the-newest-of-a-key-goes": 7,
    "jobs-lend-nothing": 3,
    "a-move-lends-nothing": 4,
    "published-on-the-disks-thread": 3,
    "the-high-watermark-goes-back": 50,
    "a-leader-changes-the-isr-itself": 3,
    "all-is-one": 3,
    "no-server-lags": 12,
    "settings-are-of-a-name": 1,
}
"""The first of those seeds, so that the test need not look for long. Of the other mistakes
docs/simulation.md says how long they were looked for; conversations find them."""
BY_COMMAND: Final = {
    "clean-marker-stays": 5,
    "a-start-is-told-before-it-is-durable": 3,
    "made-while-a-dir-is-offline": 1,
    "what-is-deleted-keeps-its-name": 3,
    "what-was-begun-is-not-resumed": 1,
    "nobody-is-eligible": 3,
    "preferred-before-in-sync": 3,
    "who-is-removed-stays-in-the-isr": 8,
    "unclean-elections-are-allowed": 3,
    "deletions-are-not-resumed": 3,
    "epochs-outlive-a-cut": 3,
    "each-epoch-ends-at-the-end": 3,
    "retention-looks-at-the-log-itself": 3,
    "readers-look-at-the-log-itself": 3,
    "a-move-looks-at-the-log-itself": 4,
    "times-are-looked-for-in-the-log-itself": 3,
    "cut-without-lending": 3,
    "a-majority-commits": 3,
    "acknowledged-by-who-led": 7,
    "logs-never-part": 3,
    "what-was-found-was-told": 3,
    "a-coordinator-reads-nothing-first": 4,
    "a-server-that-does-not-serve-is-kept": 19,
}
"""So do these; a conversation finds most of them sooner, so they are tried by
`./dev sim --scenario cluster --mistakes` alone. By none before the seed that stands there; where
that is the first which finds it, docs/simulation.md says so."""


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("mistake", FIRST)
def test_known_mistakes_are_found(mistake: str) -> None:
    """Each breaks a promise soon."""
    cluster = kind("cluster")
    first = FIRST[mistake]
    outcomes = (run(cluster, seed, control=mistake) for seed in range(first, first + SEEDS))
    assert any(outcome.violation is not None for outcome in outcomes), mistake


def test_zookeeper_refuses_in_some_worlds() -> None:
    """Requests, and who comes anew; all promises hold even so."""
    outcome = run(kind("cluster"), 800_003)
    assert outcome.passed, outcome.violation
    assert outcome.under_faults[REFUSED] > 0
    assert outcome.under_faults[TURNED_AWAY] > 0
