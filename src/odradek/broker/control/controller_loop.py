"""This broker's turns as controller: one queue of events, dealt with one at a time.

ZooKeeper's watches, the network and time only post. The core says which steps follow from an
event; `step_runner` carries them out. While this broker is not the controller `standing_by` says
what it has to do with who is. A controller that has handed over deals with nothing but that: what
else happens waits until it is replaced, or has taken the wish back.

When anything is in doubt this broker resigns at once, and its own ephemeral goes with it: a node
that names a controller which does not act would keep all others from being elected.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import structlog

from odradek.broker.control.broker_channels import BrokerChannels, Post
from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.broker.control.controller_watch import OnProcess
from odradek.broker.control.event_times import EventTimes
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.standing_by import StandingBy
from odradek.broker.control.step_runner import LeaseIsOverError, StepRunner
from odradek.broker.doors import Doors
from odradek.broker.settings import Settings
from odradek.config.rows import controller as rows
from odradek.config.rows import replication
from odradek.config.setting import BrokerSetting
from odradek.controller.candidacy import ControllerLease
from odradek.controller.controller import Controller
from odradek.controller.decisions.campaign import Won, campaign, step_down, still_holds
from odradek.controller.decisions.liveness import strike_session
from odradek.controller.decisions.tree_changes import ALL_PATHS
from odradek.controller.events import (
    ControllerChanged,
    Event,
    PreferenceIsDue,
    ProcessIsGone,
    RebalanceIsDue,
    RetryIsDue,
    SettingsChanged,
    StopAsked,
    TreeChanged,
    WishChanged,
    WishIsDue,
)
from odradek.controller.steps import Remind
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.cluster import ControllerEpochZnode, ControllerZnode
from odradek.metadata.znodes.controller import NextControllerZnode, ReadyToServeZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicId
from odradek.model.units import SECOND, Micros, Millis
from odradek.zookeeper.protocol.codes import KeeperError

FIRST_REBALANCE: Final = Millis(5 * SECOND)
PAUSE_AFTER_FAILURE: Final = Millis(1 * SECOND)
"""Before this broker competes again when it could not write: another shall have the first try."""
RETRY_PAUSE: Final = Millis(10 * SECOND)
PREFERENCE_LOOK: Final = Millis(1 * SECOND)
LEAVE_PATIENCE: Final = Millis(5 * SECOND)
"""How long a broker that stops waits for another to be the controller."""
LEAVE_LOOK: Final = Millis(10)

log = structlog.get_logger()


class NotController(BrokerError):
    """This broker is not the controller."""

    code = ErrorCode.NOT_CONTROLLER


class _Item(NamedTuple):
    """An event, and who waits for its answer."""

    event: Event
    answer: "asyncio.Future[Any] | None" = None
    wanted: Callable[[], bool] | None = None  # whether somebody still waits, just before it begins
    posted: Micros = Micros(0)


class ControllerDeps(NamedTuple):
    """What a broker that is elected controller needs besides ZooKeeper."""

    policy: ControllerPolicy
    new_channels: Callable[[ControllerLease, Post], BrokerChannels]
    read_settings: Callable[[Mapping[str, TopicId]], Awaitable[None]]  # of topics not read yet


class ControllerLoop:
    """Whether this broker is the controller, and what it does as such."""

    def __init__(
        self,
        client: ZooKeeperClient,
        doors: Doors,
        settings: Settings,
        cluster: MetadataCache,
        *,
        deps: ControllerDeps,
    ) -> None:
        self.controller: Controller | None = None  # while this broker is
        self.policy = deps.policy
        self.times = EventTimes(doors.clock)
        self._deps = deps
        self._client = client
        self._doors = doors
        self._settings = settings
        self._cluster = cluster
        self._runner = StepRunner(client, settings, self.times, self._remind)
        self.standing_by = StandingBy(cluster, doors.clock, self._runner, self.policy)
        self._queue: deque[_Item] = deque()
        self._held: deque[_Item] = deque()  # while this controller hands over
        self._changed: set[str] = set()  # paths of the one TreeChanged that waits
        self._has_some = asyncio.Event()
        self._tasks: asyncio.TaskGroup | None = None

    # What happens is posted

    def on_tree_changed(self, paths: frozenset[str]) -> None:
        """The tree has changed at these paths; at all, if the connection was lost."""
        if paths & {ALL_PATHS, ControllerZnode.PATH, ControllerEpochZnode.PATH}:
            self._put(_Item(ControllerChanged()))
        if paths & {ALL_PATHS, NextControllerZnode.PATH, ReadyToServeZnode.PATH}:
            self._put(_Item(WishChanged()))
        if not self._changed:
            self._put(_Item(TreeChanged(frozenset())))
        self._changed |= paths

    def on_watch(self, path: str) -> None:
        """A watch has fired, or all may have: in the order in which ZooKeeper tells it."""
        self.standing_by.on_path(path)

    def on_session_over(self) -> None:
        """What rested on the session has ended with it."""
        self.standing_by.on_session_over()
        self.resign("the ZooKeeper session is over")

    @property
    def on_process_news(self) -> OnProcess:
        """Who hears that the process of a broker has ended, or is there again."""
        return OnProcess(self._on_controller_gone, self.standing_by.on_there)

    def _on_controller_gone(self, broker: BrokerId) -> None:
        """The process of the controller, or of the next one, is known to be dead.

        It is replaced, or not waited for; another life of it may be the controller by then.
        """
        self.standing_by.on_gone(broker)
        self._put(_Item(ControllerChanged(broker)))

    def on_topic_settings(self, name: str) -> None:
        """They are another for a topic."""
        self.post(SettingsChanged(name))

    def on_settings(self, changed: tuple[BrokerSetting[object], ...]) -> None:
        """Of this broker, or of all."""
        self.post(SettingsChanged(None))
        if {rows.PREFERRED_CONTROLLER, rows.ALLOW_PREFERRED_CONTROLLER_FALLBACK} & {*changed}:
            self._put(_Item(ControllerChanged()))

    def post(self, event: Event) -> None:
        """Something has happened that only a controller cares for."""
        if self.controller is not None:
            self._put(_Item(event))

    async def ask(self, event: Event, wanted: Callable[[], bool] | None = None) -> Any:
        """The event's answer; NotController if this broker is not, or is no more."""
        if self.controller is None:
            raise NotController
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(_Item(event, future, wanted))
        return await future

    def _put(self, item: _Item) -> None:
        self._queue.append(item._replace(posted=self.times.now))
        self._has_some.set()

    @property
    def backlog(self) -> int:
        """How many events wait."""
        return len(self._queue)

    def backlogs(self) -> Mapping[BrokerId, int]:
        """The count of partitions that each broker is still to be told of."""
        channels = self._runner.channels
        return {} if channels is None else channels.backlogs()

    def resign(self, reason: str = "the broker stops") -> None:
        """Stops acting, at once; those who wait for answers are told."""
        lease, self._runner.lease, self.controller = self._runner.lease, None, None
        if lease is None:
            return
        log.info("controller.resigned", epoch=lease.epoch, reason=reason)
        if self._runner.channels is not None:
            self._runner.channels.close()
            self._runner.channels = None
        self._queue.extendleft(reversed(self._held))
        self._held.clear()
        for item in self._queue:
            _refuse(item)

    async def leave(self) -> None:
        """This broker stops: where another can be the controller it is that first."""
        if self.controller is None:
            return
        clock = self._doors.clock
        with suppress(TimeoutError, BrokerError):
            async with asyncio.timeout(LEAVE_PATIENCE / 1_000):
                wish = await self.ask(StopAsked())
                while wish and self._stands(wish):
                    await clock.sleep_until(Millis(clock.monotonic() + LEAVE_LOOK))

    def _stands(self, wish_id: str) -> bool:
        wish = None if self.controller is None else self.controller.context.handover.wish
        return wish is not None and wish.id == wish_id

    # One event at a time

    async def run(self) -> None:
        """Deals with events, until it is cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            self._tasks.create_task(self._keep_balance())
            self._tasks.create_task(self._keep_trying())
            self._tasks.create_task(self._keep_preference())
            while True:
                while self._queue:
                    item = self._queue.popleft()
                    if self._must_wait(item.event):
                        self._held.append(item)
                        continue
                    self.times.begin(type(item.event).__name__, item.posted)
                    await self._deal(item)
                    self.times.end()
                    if self._held and not self._hands_over:
                        self._queue.extendleft(reversed(self._held))
                        self._held.clear()
                self._has_some.clear()
                await self._has_some.wait()

    @property
    def _hands_over(self) -> bool:
        return self.controller is not None and self.controller.context.handover.is_handing_over

    def _must_wait(self, event: Event) -> bool:
        """Whether it is none of those that a hand-over may end with."""
        if not self._hands_over or self.controller is None:
            return False
        if isinstance(event, ProcessIsGone):
            wish = self.controller.context.handover.wish
            return wish is None or wish.broker != event.broker
        return not isinstance(event, ControllerChanged | WishChanged | WishIsDue)

    async def _deal(self, item: _Item) -> None:
        event = item.event
        if item.answer is not None and item.answer.done():
            return  # its client is gone, or it was refused when this broker resigned
        try:
            if isinstance(event, ControllerChanged):
                await self._look_who_is_controller(event.gone)
                return
            if isinstance(event, WishChanged) and self._runner.lease is None:
                if await self.standing_by.look(self._client.session_id):
                    await self._look_who_is_controller(None)
                return
            if isinstance(event, TreeChanged):
                paths, self._changed = self._changed, set()
                event = TreeChanged(frozenset(paths))
            if self.controller is None or (item.wanted is not None and not item.wanted()):
                _refuse(item)
                return
            answer = await self._runner.take(self._at_its_time().on(event))
        except asyncio.CancelledError:  # the broker stops, and waits for its requests to end
            _refuse(item)
            raise
        except (LeaseIsOverError, KeeperError) as over:
            _refuse(item)
            await self._end_lease(str(over))
        except BrokerError as error:
            if item.answer is None:
                raise
            if not item.answer.done():
                item.answer.set_exception(error)
        else:
            if item.answer is not None and not item.answer.done():
                item.answer.set_result(answer)

    def _at_its_time(self) -> Controller:
        assert self.controller is not None, "only a controller deals with events"
        context, clock = self.controller.context, self._doors.clock
        context.now, context.time = clock.wall(), clock.monotonic()
        return self.controller

    def _remind(self, step: Remind) -> None:
        lease = self._runner.lease
        if not step.after:
            self._put(_Item(step.event))
        elif self._tasks is not None and lease is not None:
            self._tasks.create_task(self._post_later(step, lease))

    async def _post_later(self, step: Remind, lease: ControllerLease) -> None:
        await self._pause(step.after)
        if self._runner.lease is lease:
            self._put(_Item(step.event))

    async def _pause(self, millis: Millis) -> None:
        await self._doors.clock.sleep_until(Millis(self._doors.clock.monotonic() + millis))

    async def _keep_preference(self) -> None:
        while True:
            await self._pause(PREFERENCE_LOOK)
            self.post(PreferenceIsDue())

    async def _keep_balance(self) -> None:
        pause = FIRST_REBALANCE
        while True:
            await self._pause(pause)
            if self._settings.broker[replication.AUTO_LEADER_REBALANCE_ENABLE]:
                self.post(RebalanceIsDue())
            pause = self._settings.broker[replication.LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS]

    async def _keep_trying(self) -> None:
        """A dir that hung when its broker was to delete, or a state without access, is there."""
        clock = self._doors.clock
        while True:
            await clock.sleep_until(Millis(clock.monotonic() + RETRY_PAUSE))
            if self.controller is not None and self.controller.has_to_try_again:
                self.post(RetryIsDue())

    # The lease

    async def _look_who_is_controller(self, gone: BrokerId | None) -> None:
        """Competes if there is no controller; a connection that was only lost changes nothing."""
        session = self._client.session_id
        if self._runner.lease is not None:
            if await self._runner.take(still_holds(self._runner.lease, session)):
                return
            self.resign("another was elected, or the znodes were changed")
        candidate = self.standing_by.candidate(session, gone)
        outcome = await self._runner.take(campaign(candidate))
        pause = self.standing_by.on_outcome(outcome)
        if isinstance(outcome, Won):
            await self._begin(outcome)
        elif pause is not None and self._tasks is not None:
            self._tasks.create_task(self._compete_later(pause))

    async def _compete_later(self, pause: Millis) -> None:
        """It could not be elected, for a reason that may pass."""
        await self._pause(pause)
        if self._runner.lease is None:
            self._put(_Item(ControllerChanged()))

    async def _begin(self, won: Won) -> None:
        """Finds out what is not known yet, decides what is to be decided, and tells everybody."""
        begun_at = self._doors.clock.monotonic()
        self._runner.lease = lease = won.lease
        if won.replaced is not None:
            await self._runner.take(strike_session(*won.replaced))
        context, reading = await self.standing_by.image()
        ids = {it.name: it.topic_id or NO_TOPIC_ID for it in context.image.topics.values()}
        await self._runner.wait_for(self._deps.read_settings(ids))  # it knows those it holds
        context.lease = lease
        self.controller = Controller(context)
        assert self._tasks is not None, "it is elected by its own task"
        self._runner.channels = channels = self._deps.new_channels(lease, self.post)
        self._tasks.create_task(channels.run())
        topics = len(context.image.topics)
        log.info("controller.elected", epoch=lease.epoch, topics=topics, why=won.why)
        controller = self._at_its_time()
        if won.wish is None:
            await self._runner.take(controller.begin(reading))
        else:
            await self._runner.take(controller.begin_warm(reading, won.wish.facts or ()))
        log.info("controller.begun", millis=self._doors.clock.monotonic() - begun_at)
        await self._runner.take(controller.record(won.why, won.wish))
        await self.standing_by.tidy(self._client.session_id)

    async def _end_lease(self, reason: str) -> None:
        """Gives up what it has, so that others may try; then competes again itself."""
        if self._runner.lease is None:
            return  # it has resigned: the session is over, or the broker stops
        self.resign(reason)
        try:
            await self._runner.take(step_down(self._client.session_id))
        except (LeaseIsOverError, KeeperError) as over:
            log.warning("controller.ephemeral_stays", reason=str(over))
        await self._pause(PAUSE_AFTER_FAILURE)
        self._put(_Item(ControllerChanged()))


def _refuse(item: _Item) -> None:
    if item.answer is not None and not item.answer.done():
        item.answer.set_exception(NotController())
