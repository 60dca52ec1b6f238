"""The world of several brokers notices rules that are wrong."""

from typing import Final

import pytest

from odradek.sim.simulation import run
from odradek.sim.worlds import kind

SEEDS: Final = 60  # within so many each mistake must be found
FIRST: Final = {
    "truncate-to-high-watermark": 1,
    "committed-by-the-leader-alone": 1,
    "no-minimum-of-replicas": 1,
    "a-bounce-is-nothing": 7,
    "page-cache-trusted": 3,
    "unclean-logs-forgotten": 3,
    "deleted-before-all-replicas-are": 41,
    "read-beyond-the-high-watermark": 3,
    "settings-outlive-their-topic": 1,
    "unclean-before-whole": 3,
    "max-bytes-of-each-partition": 2,
    "nothing-below-the-active-segment-goes": 3,
    "every-registration-is-our-own": 6,
    "leaders-need-not-be-whole": 3,
    "controller-after-its-lease": 18,
    "past-controllers-are-obeyed": 4,
    "no-fence-at-brokers": 16,
    "no-fence-in-the-tree": 18,
    "clean-marker-stays": 11,
    "committed-isr-only": 9,
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
