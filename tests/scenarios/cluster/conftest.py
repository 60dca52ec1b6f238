"""Three brokers and their ZooKeeper, for some seeds: a lesson holds whatever chance does."""

from collections.abc import Iterator

import pytest

from odradek.sim.scenarios.cluster import STAGED, ClusterScenario


@pytest.fixture(params=[1, 2, 3])
def t(request: pytest.FixtureRequest) -> Iterator[ClusterScenario]:
    """A world of its own, as the conversation wants it."""
    how = vars(request.function).get(STAGED, {})
    with ClusterScenario(request.param, **how) as scenario:
        yield scenario


@pytest.fixture
def _nothing_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the page cache is believed until somebody asks for it again."""
    monkeypatch.setattr("odradek.sim.doors.disk.SimulatedFile.is_cached", lambda *_: False)
