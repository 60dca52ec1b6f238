"""The states of a group, and which may follow which."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from odradek.model.units import Millis


@dataclass(slots=True)
class Empty:
    """No members; there may be offsets, and members to come."""

    name = "Empty"


@dataclass(slots=True)
class InitialDelay:
    """A group that was empty waits a while for more members before it shares anything out."""

    step: Millis  # how long it waits at the moment
    left: Millis  # how much more it may wait if members keep arriving
    newcomers: bool = False  # whether one arrived in this step


@dataclass(slots=True)
class PreparingRebalance:
    """All members must join anew; who does not in time is left behind."""

    initial: InitialDelay | None = None
    name = "PreparingRebalance"


@dataclass(slots=True)
class CompletingRebalance:
    """There is a new generation; its leader works out who gets what."""

    storing: Mapping[str, bytes] | None = None  # the assignments, while they are being written
    name = "CompletingRebalance"


@dataclass(slots=True)
class Stable:
    """Every member has its assignment, or can ask for it."""

    name = "Stable"


@dataclass(slots=True)
class Dead:
    """There is no such group, or it was here and is gone."""

    name = "Dead"


State = Empty | PreparingRebalance | CompletingRebalance | Stable | Dead

PREDECESSORS: Final[Mapping[type[State], frozenset[type[State]]]] = MappingProxyType(
    {
        Empty: frozenset({PreparingRebalance}),
        PreparingRebalance: frozenset({Stable, CompletingRebalance, Empty}),
        CompletingRebalance: frozenset({PreparingRebalance}),
        Stable: frozenset({CompletingRebalance}),
        Dead: frozenset({Empty}),
    }
)
"""A group that is loaded begins in Empty or in Stable. Only an empty one can be deleted."""
