"""The world of several brokers notices rules that are wrong."""

from typing import Final

import pytest

from odradek.sim.simulation import run
from odradek.sim.worlds import kind
from odradek.sim.worlds.cluster_mistakes import MISTAKES

SEEDS: Final = 20  # within so many each mistake must be found
FIRST: Final = {
    "a-bounce-is-nothing": 11,
    "page-cache-trusted": 9,
    "unclean-logs-forgotten": 9,
}
"""Of those seeds, where it is not 1: so that the test need not look for long."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_known_mistakes_are_found(mistake: str) -> None:
    """Each breaks a promise soon."""
    cluster = kind("cluster")
    first = FIRST.get(mistake, 1)
    outcomes = (run(cluster, seed, control=mistake) for seed in range(first, first + SEEDS))
    assert any(outcome.violation is not None for outcome in outcomes), mistake
