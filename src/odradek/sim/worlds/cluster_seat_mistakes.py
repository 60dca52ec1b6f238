"""Wrong rules of who is the controller, of a hand-over, and of how one begins."""

from collections.abc import Mapping
from typing import Any, Final

from odradek.broker.control import controller_loop
from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.controller import controller
from odradek.controller.decisions import beginning, campaign, handover
from odradek.controller.decisions.campaign import Candidate
from odradek.controller.seat import Seat
from odradek.controller.steps import Steps
from odradek.metadata.znodes.controller import Wish
from odradek.sim.simulation import Knob


def _ready_for_any(seat: Seat, wish: Wish) -> bool:
    """Who is ready is ready, for whichever wish."""
    return seat.readiness is not None and seat.readiness.broker == wish.broker


def _no_steps(*_: object) -> Steps[None]:
    """What a mistake does instead."""
    yield from ()


def _never_refused(*_: object) -> str:
    """A wish is a wish: whoever is wished for is waited for."""
    return ""


def _everybody(_policy: ControllerPolicy) -> bool:
    """Any broker may be the controller."""
    return True


def _to_nobody(_candidate: Candidate, _seat: Seat) -> Steps[None]:
    """Who finds no controller competes."""
    yield from ()


def _no_former(*_: object) -> dict[Any, Any]:
    """A broker that is registered was never away."""
    return {}


def _nothing(*_: object) -> None:
    """What a mistake does instead."""


def _still_holds(*_: object) -> Steps[bool]:
    """A connection that was lost changes nothing."""
    yield from ()
    return True


SEAT_MISTAKES: Final[Mapping[str, Knob]] = {
    "readiness-for-any-wish": Knob(handover, "_is_ready", _ready_for_any),
    "no-wish-is-refused": Knob(handover, "_refusal", _never_refused),
    "a-wish-is-waited-for-without-end": Knob(controller, "on_wish_due", _no_steps),
    "any-broker-may-be-the-controller": Knob(
        ControllerPolicy, "has_fallback", property(_everybody)
    ),
    "nobody-is-left-the-seat": Knob(campaign, "_abstention", _to_nobody),
    "a-new-controller-trusts-all-who-live": Knob(beginning, "_former_lives", _no_former),
    "a-warm-beginning-repairs-nothing": Knob(beginning, "_repair", _no_steps),
    "what-was-begun-is-not-resumed": Knob(beginning, "_resume", _no_steps),
    "marks-of-before-are-not-read": Knob(beginning, "_mark_deletions", _nothing),
    "the-lease-is-not-looked-at-again": Knob(controller_loop, "still_holds", _still_holds),
}
"""By name."""
