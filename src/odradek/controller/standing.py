"""Whether a broker competes for /controller, or leaves it to another for a while (KIP-39).

    eligible         a preferred broker always; any other where the settings allow the fall-back
    abstains for X   X is ready, in the present epoch; or X is preferred and lives

An eligible broker abstains no longer than the lease: one that hangs holds the others up by that and
no more, so there is a controller as long as an eligible broker lives. Brokers whose process is
known to be gone hold up none.

A broker that is not eligible never competes. Where no eligible one is left the cluster waits, which
is what its operator has asked for; making any broker preferred ends it.
"""

from collections.abc import Collection
from typing import NamedTuple

from odradek.metadata.znodes.controller import Readiness
from odradek.model.ids import BrokerId
from odradek.model.positions import ControllerEpoch


class Standing(NamedTuple):
    """What the settings of this broker say, and what it has found out by itself."""

    is_preferred: bool = False
    has_fallback: bool = True
    gone: frozenset[BrokerId] = frozenset()  # their processes have ended
    lease_is_over: bool = False  # it has abstained for so long already

    @property
    def is_eligible(self) -> bool:
        """Whether it may be the controller at all."""
        return self.is_preferred or self.has_fallback


class Abstains(NamedTuple):
    """Another shall be the controller; or none may, if there is no other."""

    other: BrokerId | None
    is_bounded: bool  # it competes itself once the lease is over
    over_session: int = 0  # whose /controller is over, if there is one

    def __str__(self) -> str:
        if self.other is None:
            return "no preferred broker lives, and the settings allow no other"
        return f"broker {self.other} shall be the controller"


def abstains_for_ready(
    me: BrokerId, standing: Standing, ready: Readiness | None, epoch: ControllerEpoch
) -> Abstains | None:
    """Because of a broker that is ready."""
    if ready is None or ready.epoch != epoch or ready.broker in {me, *standing.gone}:
        return None
    if standing.is_eligible and standing.lease_is_over:
        return None
    return Abstains(ready.broker, standing.is_eligible)


def abstains_for_preferred(
    standing: Standing, live_preferred: Collection[BrokerId]
) -> Abstains | None:
    """Because of preferred brokers, of which this is none."""
    others = sorted(it for it in live_preferred if it not in standing.gone)
    if standing.has_fallback and (standing.lease_is_over or not others):
        return None
    return Abstains(others[0] if others else None, standing.has_fallback)
