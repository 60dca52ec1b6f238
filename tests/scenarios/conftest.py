"""The stage of every conversation, for some seeds: a lesson holds whatever chance does."""

from collections.abc import Iterator

import pytest

from odradek.sim.scenarios.scenario import Scenario


@pytest.fixture(params=[1, 2, 3])
def t(request: pytest.FixtureRequest) -> Iterator[Scenario]:
    """A world of its own."""
    with Scenario(request.param) as scenario:
        yield scenario
