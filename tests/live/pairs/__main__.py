"""python -m tests.live.pairs --minutes 60 [--seed N]: pairs of faults, drawn, until time is over.

A line for each pair. It ends with 1 when a promise is broken, and says where the brokers' logs are.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from odradek.model.ids import TopicPartition
from tests.live.mounted_disks import why_not
from tests.live.pairs.arena import Arena
from tests.live.pairs.faults import Fault, Heals
from tests.live.pairs.kinds import DISKS, FAULTS
from tests.live.pairs.load import PARTITIONS, Load

BETWEEN_SECONDS: Final = (0.0, 0.02, 0.1, 0.3, 1.0, 2.0)
TOGETHER_SECONDS: Final = (0.1, 0.5, 1.0, 2.5, 5.0)
PAIRS_A_LOAD: Final = 8


def draw(arena: Arena, partition: TopicPartition, before: list[Fault]) -> Fault:
    """One of another kind than those before it, near the same partition."""
    kinds = [it for it in FAULTS if (it not in DISKS or arena.disks)]
    kinds = [it for it in kinds if it not in map(type, before)]
    if any(it.destroys for it in before):
        kinds = [it for it in kinds if not it.destroys]
    return arena.random.choice(kinds)(arena, arena.place(partition))


def strike_both(arena: Arena, load: Load) -> None:
    """Two, the second near the first; then everything is whole again."""
    chance = arena.random
    partition = TopicPartition(chance.choice(load.topics), chance.randrange(PARTITIONS))
    faults: list[Fault] = []
    for seconds in (BETWEEN_SECONDS, TOGETHER_SECONDS):
        fault = draw(arena, partition, faults)
        fault.strike()
        faults.append(fault)
        print(fault, end="; ", flush=True)
        time.sleep(chance.choice(seconds))
    begun = time.monotonic()
    for fault in sorted(faults, key=lambda it: it.heals):
        if fault.heals is Heals.LAST:
            arena.start_again()
        fault.heal()
    arena.start_again()
    load.is_whole()
    print(f"whole after {time.monotonic() - begun:.1f} s, gap {load.gap:.1f} s", flush=True)


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    until = time.monotonic() + 60 * chosen.minutes
    pairs = acknowledged = 0
    folder = Path(tempfile.mkdtemp(prefix="pairs-"))
    with Arena(folder / "cluster", random.Random(chosen.seed)) as arena:
        if not arena.disks:
            print(f"disks do not fail here: {why_not()}")
        while time.monotonic() < until:
            try:
                struck, more = run_load(arena, PAIRS_A_LOAD, until)
            except BaseException:
                print(f"\nbroken behind pair {pairs}: logs are in {folder}", flush=True)
                (folder / "brokers.log").write_text(arena.cluster.logs())
                raise
            pairs, acknowledged = pairs + struck, acknowledged + more
            print(f"{pairs} pairs, {acknowledged} acknowledged: nothing lost, doubled, undone")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
