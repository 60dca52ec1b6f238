"""The world of several brokers notices rules that are wrong."""

from typing import Final

import pytest

from odradek.sim.simulation import run
from odradek.sim.worlds import kind
from odradek.sim.worlds.cluster_mistakes import MISTAKES

SEEDS: Final = 10  # within so many each mistake must be found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_known_mistakes_are_found(mistake: str) -> None:
    """Each breaks a promise soon, and so does nothing else: kept seeds have none."""
    cluster = kind("cluster")
    outcomes = (run(cluster, seed, control=mistake) for seed in range(1, 1 + SEEDS))
    assert any(outcome.violation is not None for outcome in outcomes), mistake
