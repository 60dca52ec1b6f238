"""This broker while another is the controller: when it competes, and how it gets ready.

It knows for whom it abstains, since when, and whose process has ended meanwhile. What follows
from that is decided in `controller.standing` and `controller.decisions.readiness`.
"""

from collections.abc import Callable, Collection
from typing import Final

import structlog

from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.step_runner import StepRunner
from odradek.controller.candidacy import Lost
from odradek.controller.context import ControllerContext
from odradek.controller.controller_znodes import read_controller_znodes
from odradek.controller.decisions.beginning import read_tree
from odradek.controller.decisions.campaign import Candidate, NotRegistered, Outcome, Won
from odradek.controller.decisions.readiness import (
    GetReady,
    GiveUp,
    SayReady,
    TakeOver,
    decide_part,
    say_no_more,
    say_ready,
)
from odradek.controller.standby import NO_LEASE, Standby, stop_watching
from odradek.controller.standing import Abstains, Standing
from odradek.controller.tree_reading import TreeReading
from odradek.model.ids import BrokerId
from odradek.model.units import SECOND, Millis
from odradek.ports import Clock

PAUSE_WITHOUT_ANY: Final = Millis(5 * SECOND)
"""Before it tries again where no broker can be elected."""
PAUSE_UNREGISTERED: Final = Millis(SECOND // 2)
"""Before it tries again where its registration is missing: it is being made, or gone for good."""

log = structlog.get_logger()


class StandingBy:
    """Of one broker, for all its life."""

    def __init__(
        self, cluster: MetadataCache, clock: Clock, runner: StepRunner, policy: ControllerPolicy
    ) -> None:
        self.abstains: Abstains | None = None  # why it does not compete, while there is none
        self.on_awaited: list[Callable[[Collection[BrokerId]], None]] = []
        self._elected: BrokerId | None = None
        self._ready: BrokerId | None = None
        self._cluster = cluster
        self._clock = clock
        self._runner = runner
        self._policy = policy
        self._since = Millis(0)  # it abstains
        self._gone: dict[BrokerId, None] = {}  # their processes have ended
        self._standby: Standby | None = None
        self._watches_all = False  # for it

    @property
    def is_withheld(self) -> bool:
        """Whether the cluster has no controller because the settings allow none that lives."""
        return self.abstains is not None and self.abstains.other is None

    # It competes

    def candidate(self, session_id: int, gone: BrokerId | None) -> Candidate:
        """As it would compete now."""
        now = self._clock.monotonic()
        over_session = 0
        if self.abstains is not None:
            over_session = self.abstains.over_session
        standing = self._standing()._replace(
            gone=frozenset(self._gone),
            lease_is_over=self.abstains is not None
            and now - self._since >= self._policy.handover_lease,
        )
        me, wall = self._cluster.me, self._clock.wall()
        return Candidate(me, session_id, wall, gone, over_session, standing)

    def on_gone(self, broker: BrokerId) -> None:
        """Its process has ended: nothing is left to it until it has another."""
        self._gone[broker] = None
        self._watch(self._elected, self._ready)

    def on_there(self, broker: BrokerId) -> None:
        """It has one."""
        if broker in self._gone:
            del self._gone[broker]
            self._watch(self._elected, self._ready)

    def _standing(self) -> Standing:
        return Standing(self._policy.is_preferred, self._policy.has_fallback)

    def on_outcome(self, outcome: Outcome) -> Millis | None:
        """How long to wait before it competes again; None: until something happens."""
        if isinstance(outcome, NotRegistered):
            return PAUSE_UNREGISTERED
        if not isinstance(outcome, Abstains):
            self.abstains = None
        if isinstance(outcome, Won):
            self._watch(None, None)
            return None
        if isinstance(outcome, Lost):
            self._watch(outcome.controller, self._ready)
            if outcome.controller is None:
                return PAUSE_WITHOUT_ANY
            log.info("controller.is_another", controller=outcome.controller)
            return None
        now = self._clock.monotonic()
        if self.abstains is None:
            self._since = now
        if self.abstains is None or self.abstains.other != outcome.other:
            log.warning("controller.is_left_to_another", reason=str(outcome))
        self.abstains = outcome
        self._watch(outcome.other, self._ready)
        if not outcome.is_bounded:
            return PAUSE_WITHOUT_ANY
        return Millis(max(self._since + self._policy.handover_lease - now, 1))

    def _watch(self, elected: BrokerId | None, ready: BrokerId | None) -> None:
        """The end of their processes concerns this broker, from before they are needed.

        So does the return of those whose process has ended.
        """
        self._elected, self._ready = elected, ready
        brokers = [it for it in (elected, ready, *self._gone) if it is not None]
        for awaited in self.on_awaited:
            awaited(brokers)

    # It gets ready

    def on_path(self, path: str) -> None:
        """A watch has fired."""
        if self._standby is not None:
            self._standby.on_path(path)

    def on_session_over(self) -> None:
        """With it went its watches, and what it had said."""
        self._standby, self._watches_all = None, False

    async def look(self, session_id: int) -> bool:
        """The wish has changed, or who is ready: does its part; whether it may take over now."""
        znodes = await self._runner.take(read_controller_znodes())
        candidate, standby = self.candidate(session_id, None), self._standby
        loaded_for = None if standby is None else standby.wish
        self._watch(self._elected, None if znodes.readiness is None else znodes.readiness.broker)
        part = decide_part(candidate, znodes, loaded_for)
        match part:
            case GetReady(wish):
                self._standby = standby = Standby(candidate.broker, wish.id, self._policy)
                self._watches_all = True
                await self._runner.take(standby.load())
                await self._runner.take(say_ready(wish, znodes))
            case SayReady(wish):
                await self._runner.take(say_ready(wish, znodes))
            case GiveUp():
                await self.tidy(session_id)
        return isinstance(part, TakeOver)

    async def image(self) -> tuple[ControllerContext, TreeReading]:
        """What the tree holds, as this broker begins to be the controller: it is used once."""
        standby = self._standby
        if standby is None:
            reading = await self._runner.take(read_tree())
            image = reading.image()
            return ControllerContext(self._cluster.me, NO_LEASE, image, self._policy), reading
        try:
            return await self._runner.take(standby.catch_up()), standby.reading
        finally:
            self._standby = None  # its context is that of a controller from now on

    async def tidy(self, session_id: int) -> None:
        """It stands by no more: it was elected, or another is wished for."""
        self._standby = None
        if self._watches_all:
            self._watches_all = False
            await self._runner.take(stop_watching())
        await self._runner.take(say_no_more(session_id))
