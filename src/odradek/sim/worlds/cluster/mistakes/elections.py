"""Wrong rules of who is the controller, of a hand-over, and of how one begins."""

from collections.abc import Mapping
from typing import Any, Final

from odradek.broker.control import controller_loop
from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.controller import controller, standing
from odradek.controller.controller_znodes import ControllerZnodes
from odradek.controller.decisions import beginning, campaign, handover, liveness
from odradek.controller.decisions.campaign import Candidate
from odradek.controller.standing import Standing
from odradek.controller.steps import Steps
from odradek.metadata.znodes.controller import Wish
from odradek.sim.simulation import Knob


def _ready_for_any(znodes: ControllerZnodes, wish: Wish) -> bool:
    """Who is ready is ready, for whichever wish."""
    return znodes.readiness is not None and znodes.readiness.broker == wish.broker


def _no_steps(*_: object) -> Steps[None]:
    """What a mistake does instead."""
    yield from ()


def _never_refused(*_: object) -> str:
    """A broker that an operator wishes for is waited for, whatever is wrong with it."""
    return ""


def _everybody(_policy: ControllerPolicy) -> bool:
    """Any broker may be the controller."""
    return True


def _to_nobody(_candidate: Candidate, _znodes: ControllerZnodes) -> Steps[None]:
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


def _as_long_as_it_takes(me: Any, own: Standing, *of: Any) -> Any:
    """Who is ready is waited for."""
    return _abstains_for_ready(me, own._replace(lease_is_over=False), *of)


def _also_for_the_dead(me: Any, own: Standing, *of: Any) -> Any:
    """Who was ready is ready."""
    return _abstains_for_ready(me, own._replace(gone=frozenset()), *of)


_abstains_for_ready = standing.abstains_for_ready

ELECTION_MISTAKES: Final[Mapping[str, Knob]] = {
    "readiness-for-any-wish": Knob(handover, "_is_ready", _ready_for_any),
    "no-wish-is-refused": Knob(handover, "_refusal", _never_refused),
    "a-wish-is-waited-for-without-end": Knob(controller, "on_wish_due", _no_steps),
    "any-broker-may-be-the-controller": Knob(
        ControllerPolicy, "has_fallback", property(_everybody)
    ),
    "all-compete-with-who-is-ready": Knob(campaign, "_abstention", _to_nobody),
    "a-new-controller-trusts-all-who-live": Knob(beginning, "former_lives", _no_former),
    "a-warm-beginning-repairs-nothing": Knob(beginning, "_repair", _no_steps),
    "what-was-begun-is-not-resumed": Knob(beginning, "_resume", _no_steps),
    "marks-of-before-are-not-read": Knob(beginning, "mark_deletions", _nothing),
    "a-candidate-that-dies-is-waited-for": Knob(liveness, "on_candidate_gone", _no_steps),
    "who-is-ready-is-waited-for": Knob(campaign, "abstains_for_ready", _as_long_as_it_takes),
    "the-dead-are-ready": Knob(campaign, "abstains_for_ready", _also_for_the_dead),
    "the-lease-is-not-looked-at-again": Knob(controller_loop, "still_holds", _still_holds),
}
"""By name."""
