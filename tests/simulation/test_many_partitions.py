"""One topic of very many partitions, while brokers and ZooKeeper fail."""

import pytest

from odradek.sim import report
from odradek.sim.simulation import run
from odradek.sim.worlds import LARGE, kind
from odradek.sim.worlds.many_partitions.ten_thousand import TenThousandPartitions
from odradek.sim.worlds.many_partitions.thousand import ThousandPartitions

MISTAKE_SEEDS = range(1, 7)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_partitions_come_back_after_every_fault(seed: int) -> None:
    """Nothing that was acknowledged is lost, and each has its leader and all its replicas again."""
    outcome = run(kind(LARGE[0]), seed)
    assert outcome.passed, report.failure(outcome)


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("mistake", kind(LARGE[0]).controls)
def test_known_mistakes_are_found(mistake: str) -> None:
    """Each breaks a promise soon."""
    outcomes = (run(kind(LARGE[0]), seed, control=mistake) for seed in MISTAKE_SEEDS)
    assert any(outcome.violation is not None for outcome in outcomes), mistake


def test_ten_thousand_are_a_scenario_of_their_own() -> None:
    """The same world, for who has minutes."""
    assert kind(LARGE[1]) is TenThousandPartitions
    assert ThousandPartitions.partitions * 10 == TenThousandPartitions.partitions
