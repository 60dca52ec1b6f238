"""How many files a request passes may only become less: who follows it has to read each."""

from typing import Final

import pytest

from tests.scenarios.cluster import ways

CEILINGS: Final = {
    ("CreateTopics", 1): 115,
    ("CreateTopics", 3): 156,
    ("Produce", 1): 33,
    ("Produce", 3): 53,
    ("Fetch", 1): 36,
    ("Fetch", 3): 36,
    ("dead leader", 3): 162,
    ("failed disk", 3): 171,
}
"""Whoever makes a way shorter lowers them; docs/architecture.md says what each layer adds."""


@pytest.mark.parametrize(("way", "replicas"), CEILINGS)
def test_no_way_becomes_longer(way: str, replicas: int) -> None:
    """A layer that is added says in its commit what for. Of three seeds one has no timer beside."""
    shortest = min((ways.of(way, replicas, seed) for seed in (1, 2, 3)), key=len)
    assert len(shortest) <= CEILINGS[way, replicas], sorted(shortest)
