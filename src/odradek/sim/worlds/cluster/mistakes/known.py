"""All wrong rules that the world of several brokers knows, and its conversations."""

from collections.abc import Mapping
from typing import Final

from odradek.sim.simulation import Knob
from odradek.sim.worlds.cluster.mistakes.copying import COPY_MISTAKES
from odradek.sim.worlds.cluster.mistakes.disks import DISK_MISTAKES
from odradek.sim.worlds.cluster.mistakes.elections import ELECTION_MISTAKES
from odradek.sim.worlds.cluster.mistakes.fences import FENCE_MISTAKES
from odradek.sim.worlds.cluster.mistakes.logs import LOG_MISTAKES
from odradek.sim.worlds.cluster.mistakes.moves import MOVE_MISTAKES
from odradek.sim.worlds.cluster.mistakes.replication import MISTAKES
from odradek.sim.worlds.cluster.mistakes.states import STATE_MISTAKES

_ALL: Final[Mapping[str, Knob | tuple[Knob, ...]]] = {
    **MISTAKES,
    **FENCE_MISTAKES,
    **DISK_MISTAKES,
    **MOVE_MISTAKES,
    **ELECTION_MISTAKES,
    **STATE_MISTAKES,
    **LOG_MISTAKES,
    **COPY_MISTAKES,
}

KNOWN: Final = tuple(_ALL)
"""By name."""


def knobs_of(mistake: str) -> tuple[Knob, ...]:
    """What is turned for it; for none, nothing."""
    found = _ALL[mistake] if mistake else ()
    return (found,) if isinstance(found, Knob) else found
