"""The world of several brokers notices rules that are wrong."""

from typing import Final

import pytest

from odradek.sim.simulation import run
from odradek.sim.worlds import kind

SEEDS: Final = 60  # within so many each mistake must be found
FIRST: Final = {
    "truncate-to-high-watermark": 4,
    "committed-by-the-leader-alone": 1,
    "no-minimum-of-replicas": 3,
    "a-bounce-is-nothing": 9,
    "page-cache-trusted": 9,
    "unclean-logs-forgotten": 6,
    "deleted-before-all-replicas-are": 52,
    "read-beyond-the-high-watermark": 11,
    "settings-outlive-their-topic": 1,
    "unclean-before-whole": 1,
    "max-bytes-of-each-partition": 2,
    "nothing-below-the-active-segment-goes": 1,
    "every-registration-is-our-own": 6,
    "leaders-need-not-be-whole": 1,
    "controller-after-its-lease": 18,
    "past-controllers-are-obeyed": 18,
    "no-fence-at-brokers": 18,
    "no-fence-in-the-tree": 18,
    "clean-marker-stays": 9,
    "committed-isr-only": 15,
}
"""The first of those seeds, so that the test need not look for long. Of the other mistakes
docs/simulation.md says how long they were looked for; unit tests and conversations find them."""


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("mistake", FIRST)
def test_known_mistakes_are_found(mistake: str) -> None:
    """Each breaks a promise soon."""
    cluster = kind("cluster")
    first = FIRST[mistake]
    outcomes = (run(cluster, seed, control=mistake) for seed in range(first, first + SEEDS))
    assert any(outcome.violation is not None for outcome in outcomes), mistake
