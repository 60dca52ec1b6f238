"""python -m tests.live.copiers --minutes 60 [--seed N]: copiers under faults, drawn, one or two.

A line for each time that faults strike, and every minute or so, when all that was copied has been
judged, what there was so far. It ends with 1 when a promise is broken, and says where the logs are.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Final

from odradek.model.ids import TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from tests.live.copiers.kinds import FAULTS, CopierArena
from tests.live.copiers.load import Counts, Load
from tests.live.copiers.orders import COORDINATORS, PARTITIONS
from tests.live.pairs.hour import until_over
from tests.live.pairs.strikes import Kinds, strike

LOAD_SECONDS: Final = 45
"""During which faults strike, before all is judged."""


def strike_some(arena: CopierArena, load: Load, kinds: Kinds, count: int) -> list[str]:
    """So many, near a partition of a topic, or of what coordinators keep."""
    chance = arena.random
    places = [TopicPartition(it, at) for it in load.topics for at in range(PARTITIONS)]
    for topic in (TRANSACTION_STATE_TOPIC, GROUP_METADATA_TOPIC):
        places += [TopicPartition(topic, at) for at in range(COORDINATORS)]
    struck = strike(arena, chance.choice(places), kinds, count, until_whole=load.is_whole)
    return [type(it).__name__ for it in struck]


class Totals:
    """What there was so far."""

    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.counts = Counts()

    def run_load(self, arena: CopierArena, until: float) -> str:
        """Faults for a while, and what must be true behind them."""
        with Load(arena) as load:
            while time.monotonic() < until:
                count = arena.random.choice((1, 2))
                self.faults.update(strike_some(arena, load, FAULTS, count))
            self.counts = self.counts.plus(load.ends())
        self.ended.update(load.fleet.ended)
        for topic in load.topics:
            arena.cluster.drop(topic)
        return str(self)

    def __str__(self) -> str:
        committed, aborted, records = self.counts
        return (
            f"{self.faults.total()} faults, {committed} transactions committed, {aborted} aborted, "
            f"{records} records: nothing lost, doubled, torn, out of order, aborted yet seen"
        )


def main() -> int:
    """Runs until the time is over."""
    totals = Totals()

    def load(arena: CopierArena, until: float) -> str:
        return totals.run_load(arena, min(until, time.monotonic() + LOAD_SECONDS))

    status = until_over(str(__doc__), CopierArena, load)
    print("faults:", dict(totals.faults.most_common()))
    print("copiers that had to begin anew:", dict(totals.ended.most_common()))
    return status


if __name__ == "__main__":
    sys.exit(main())
