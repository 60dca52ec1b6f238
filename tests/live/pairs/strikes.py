"""Faults that are drawn: one, or two near each other, until everything is whole again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from odradek.model.ids import TopicPartition
from tests.live.pairs.arena import Arena
from tests.live.pairs.faults import Fault, Heals
from tests.live.pairs.kinds import DISKS

BETWEEN_SECONDS: Final = (0.0, 0.02, 0.1, 0.3, 1.0, 2.0)
TOGETHER_SECONDS: Final = (0.1, 0.5, 1.0, 2.5, 5.0)

Kinds = Sequence[type[Fault]]


def fits(kind: type[Fault], other: type[Fault]) -> bool:
    """Whether both may strike at a time."""
    if kind is other or (kind.destroys and other.destroys):
        return False
    return not any(a.needs_all and not b.is_of_clients for a, b in ((kind, other), (other, kind)))


def draw(arena: Arena, partition: TopicPartition, kinds: Kinds, before: Sequence[Fault]) -> Fault:
    """One that fits to those before it, near the same partition."""
    kinds = [it for it in kinds if it not in DISKS or arena.disks]
    kinds = [it for it in kinds if all(fits(it, type(other)) for other in before)]
    return arena.random.choice(kinds)(arena, arena.place(partition))


def strike(
    arena: Arena,
    partition: TopicPartition,
    kinds: Kinds,
    count: int,
    *,
    until_whole: Callable[[], str],
) -> list[Fault]:
    """So many, the second near the first; then everything is whole again."""
    faults: list[Fault] = []
    pauses = [*[BETWEEN_SECONDS] * (count - 1), TOGETHER_SECONDS]
    for seconds in pauses:
        fault = draw(arena, partition, kinds, faults)
        fault.strike()
        faults.append(fault)
        print(fault, end="; ", flush=True)
        time.sleep(arena.random.choice(seconds))
    begun = time.monotonic()
    for fault in sorted(faults, key=lambda it: it.heals):
        if fault.heals is Heals.LAST:
            arena.start_again()
        fault.heal()
    arena.start_again()
    said = until_whole()
    print(f"whole after {time.monotonic() - begun:.1f} s, {said}", flush=True)
    return faults
