"""The world of transactions notices rules that are wrong."""

from typing import Final

import pytest

from odradek.sim.simulation import run
from odradek.sim.worlds import kind

SEEDS: Final = 60  # within so many each mistake must be found
FIRST: Final = {
    "stable-from-the-append-of-a-marker": 13,
    "markers-of-any-coordinator-epoch": 77,
    "a-marker-counts-before-it-is-committed": 33,
}
"""Of those that the very first seeds do not find: where to begin, so that it does not take long."""


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("mistake", kind("transactions").controls)
def test_known_mistakes_are_found(mistake: str) -> None:
    """Each breaks a promise soon."""
    seeds = range(FIRST.get(mistake, 1), FIRST.get(mistake, 1) + SEEDS)
    outcomes = (run(kind("transactions"), seed, control=mistake) for seed in seeds)
    assert any(outcome.violation is not None for outcome in outcomes), mistake
