"""Three brokers and their ZooKeeper, for some seeds: a lesson holds whatever chance does."""

from collections.abc import Iterator

import pytest

from odradek.sim.cluster_scenario import ClusterScenario


@pytest.fixture(params=[1, 2, 3])
def t(request: pytest.FixtureRequest) -> Iterator[ClusterScenario]:
    """A world of its own."""
    with ClusterScenario(request.param) as scenario:
        yield scenario
