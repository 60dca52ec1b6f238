"""python -m tests.live.pairs --minutes 60 [--seed N]: pairs of faults, drawn, until time is over.

A line for each pair. It ends with 1 when a promise is broken, and says where the brokers' logs are.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from odradek.model.ids import TopicPartition
from tests.live.pairs.arena import Arena
from tests.live.pairs.hour import until_over
from tests.live.pairs.kinds import FAULTS
from tests.live.pairs.load import PARTITIONS, Load
from tests.live.pairs.strikes import strike

PAIRS_A_LOAD: Final = 8


def strike_both(arena: Arena, load: Load) -> None:
    """Two, the second near the first; then everything is whole again."""

    def until_whole() -> str:
        load.is_whole()
        return f"gap {load.gap:.1f} s"

    chance = arena.random
    partition = TopicPartition(chance.choice(load.topics), chance.randrange(PARTITIONS))
    strike(arena, partition, FAULTS, 2, until_whole=until_whole)


def run_load(arena: Arena, pairs: int, until: float) -> tuple[int, int]:
    """Some pairs, and what must be true behind them: how many, and how much was acknowledged."""
    struck = 0
    with Load(arena) as load:
        while struck < pairs and (not struck or time.monotonic() < until):
            strike_both(arena, load)
            struck += 1
        load.ends()
    for topic in load.topics:
        arena.cluster.drop(topic)
    return struck, load.acknowledged


def main() -> int:
    """Runs until the time is over."""
    pairs = acknowledged = 0

    def load(arena: Arena, until: float) -> str:
        nonlocal pairs, acknowledged
        struck, more = run_load(arena, PAIRS_A_LOAD, until)
        pairs, acknowledged = pairs + struck, acknowledged + more
        return f"{pairs} pairs, {acknowledged} acknowledged: nothing lost, doubled, undone"

    return until_over(str(__doc__), Arena, load)


if __name__ == "__main__":
    sys.exit(main())
