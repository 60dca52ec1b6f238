"""Faults by chance: they happen, in the seed's order, and each is healed."""

import threading
from collections.abc import Callable
from typing import Any, Final

from odradek.testing.chaos import Chaos
from odradek.testing.local import LocalCluster

SEED_OF_ALL: Final = 37
"""Its first eight draws have every fault."""
DRAWS: Final = 8
HEALED_BY: Final[dict[str, str | None]] = {
    "kill": "start",
    "stop": "start",
    "pause": "resume",
    "cut": "heal",
    "cut_clients": "heal",
    "slow_disk": "mend_disk",
    "expire_session": None,
}


def _noted(name: str) -> Callable[..., Any]:
    def call(cluster: "NotedCluster", *given: Any, **named: Any) -> Any:
        cluster.done.append(name)
        return getattr(LocalCluster, name)(cluster, *given, **named)

    return call


class NotedCluster(LocalCluster):
    """Notes what is done to it, and does it."""

    def __init__(self) -> None:
        super().__init__(3)
        self.done: list[str] = []

    for _step in (*HEALED_BY, *filter(None, HEALED_BY.values())):
        locals()[_step] = _noted(_step)


def _drawn(cluster: LocalCluster, count: int) -> list[str]:
    chaos = Chaos(cluster, SEED_OF_ALL)
    pause = threading.Event()
    while len(chaos.drawn) < count and chaos.failure is None:
        pause.wait(0.01)
    chaos.end()
    assert chaos.failure is None
    return chaos.drawn


def test_each_fault_that_is_drawn_happens_and_is_healed() -> None:
    """What is told is what was done; at the end all brokers serve, and a topic comes in sync."""
    with NotedCluster() as c:
        c.topic("orders")
        drawn = [it.partition("(")[0] for it in _drawn(c, DRAWS)]
        expected = [step for it in drawn for step in (it, HEALED_BY[it]) if step is not None]
        assert c.done == expected
        assert set(drawn) == HEALED_BY.keys()
        assert c.alive == c.brokers
        c.await_isr("orders")


def test_a_seed_draws_the_same_faults_again() -> None:
    """So a test that failed meets them once more."""
    with LocalCluster(3) as one:
        first = _drawn(one, 3)
    with LocalCluster(3) as other:
        assert _drawn(other, 3)[:3] == first[:3]
