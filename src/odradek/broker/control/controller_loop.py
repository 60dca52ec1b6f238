"""This broker's turns as controller: one queue of events, dealt with one at a time.

ZooKeeper's watches, the network and time only post. The core says which steps follow from an
event; they are carried out here, and after each it is looked whether the lease still holds: a
controller that was replaced, or whose session is over, stops in the middle. What was written
stands, and the next controller reads it. Brokers are never waited for.

When anything is in doubt this broker resigns at once, and its own ephemeral goes with it: a node
that names a controller which does not act would keep all others from being elected.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import structlog

from odradek.broker.control.broker_channels import BrokerChannels
from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.broker.control.event_times import EventTimes
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.doors import Doors
from odradek.broker.settings import Settings
from odradek.config.rows import replication
from odradek.controller.candidacy import ControllerLease
from odradek.controller.context import ControllerContext
from odradek.controller.controller import Controller
from odradek.controller.decisions.beginning import read_tree
from odradek.controller.decisions.campaign import (
    Candidate,
    Won,
    campaign,
    step_down,
    still_holds,
)
from odradek.controller.decisions.liveness import strike_session
from odradek.controller.decisions.tree_changes import ALL_PATHS
from odradek.controller.events import (
    ControllerChanged,
    Event,
    RebalanceIsDue,
    RetryIsDue,
    SettingsChanged,
    TreeChanged,
)
from odradek.controller.guarded_writes import GuardedWrites
from odradek.controller.steps import (
    Attempt,
    Commit,
    Connect,
    Note,
    Read,
    Send,
    StatesWritten,
    Step,
    Steps,
    TopicIsGone,
    TopicIsMade,
    WriteStates,
)
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.cluster import ControllerEpochZnode, ControllerZnode
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.units import SECOND, Micros, Millis
from odradek.zookeeper.client.errors import (
    AuthFailed,
    MultiFailed,
    OutcomeUnknown,
    SessionClosed,
    SessionExpired,
)
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Results
from odradek.zookeeper.protocol.jute_requests import Check, Multi, Request

FIRST_REBALANCE: Final = Millis(5 * SECOND)
PAUSE_AFTER_FAILURE: Final = Millis(1 * SECOND)
"""Before this broker competes again when it could not write: another shall have the first try."""
RETRY_PAUSE: Final = Millis(10 * SECOND)
PAUSE_WITHOUT_ANY: Final = Millis(5 * SECOND)
"""Before it tries again where no broker can be elected."""

R = TypeVar("R")
log = structlog.get_logger()


class NotController(BrokerError):
    """This broker is not the controller."""

    code = ErrorCode.NOT_CONTROLLER


class _LeaseIsOverError(Exception):
    """This broker may not act as the controller any more."""


class _Item(NamedTuple):
    """An event, and who waits for its answer."""

    event: Event
    answer: "asyncio.Future[Any] | None" = None
    wanted: Callable[[], bool] | None = None  # whether somebody still waits, just before it begins
    posted: Micros = Micros(0)


class ControllerLoop:
    """Whether this broker is the controller, and what it does as such."""

    def __init__(
        self, client: ZooKeeperClient, doors: Doors, settings: Settings, cluster: MetadataCache
    ) -> None:
        self.controller: Controller | None = None  # while this broker is
        self.policy = ControllerPolicy(settings, doors.random)
        self.times = EventTimes(doors.clock)
        self.new_channels: Callable[[ControllerLease], BrokerChannels] | None = None
        self._client = client
        self._doors = doors
        self._settings = settings
        self._cluster = cluster
        self._lease: ControllerLease | None = None  # from the election on
        self._channels: BrokerChannels | None = None
        self._queue: deque[_Item] = deque()
        self._changed: set[str] = set()  # paths of the one TreeChanged that waits
        self._has_some = asyncio.Event()
        self._tasks: asyncio.TaskGroup | None = None
        settings.topic_watchers.append(lambda name: self.post(SettingsChanged(name)))
        settings.broker_watchers.append(lambda _: self.post(SettingsChanged(None)))

    # What happens is posted

    def on_tree_changed(self, paths: frozenset[str]) -> None:
        """The tree has changed at these paths; at all, if the connection was lost."""
        if paths & {ALL_PATHS, ControllerZnode.PATH, ControllerEpochZnode.PATH}:
            self._put(_Item(ControllerChanged()))
        if not self._changed:
            self._put(_Item(TreeChanged(frozenset())))
        self._changed |= paths

    def on_session_over(self) -> None:
        """What rested on the session has ended with it."""
        self.resign("the ZooKeeper session is over")

    def on_controller_gone(self, broker: BrokerId) -> None:
        """The process of the controller is known to be dead: it is replaced at once.

        Which life of it that was tells the session that owns /controller.
        """
        self._put(_Item(ControllerChanged(broker)))

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

    def resign(self, reason: str = "the broker stops") -> None:
        """Stops acting, at once; those who wait for answers are told."""
        lease, self._lease, self.controller = self._lease, None, None
        if lease is None:
            return
        log.info("controller.resigned", epoch=lease.epoch, reason=reason)
        if self._channels is not None:
            self._channels.close()
            self._channels = None
        for item in self._queue:
            _refuse(item)

    # One event at a time

    async def run(self) -> None:
        """Deals with events, until it is cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            self._tasks.create_task(self._keep_balance())
            self._tasks.create_task(self._keep_trying())
            while True:
                while self._queue:
                    item = self._queue.popleft()
                    self.times.begin(type(item.event).__name__, item.posted)
                    await self._deal(item)
                    self.times.end()
                self._has_some.clear()
                await self._has_some.wait()

    async def _deal(self, item: _Item) -> None:
        event = item.event
        if item.answer is not None and item.answer.done():
            return  # its client is gone, or it was refused when this broker resigned
        try:
            if isinstance(event, ControllerChanged):
                await self._look_who_is_controller(event.gone)
                return
            if isinstance(event, TreeChanged):
                paths, self._changed = self._changed, set()
                event = TreeChanged(frozenset(paths))
            if self.controller is None or (item.wanted is not None and not item.wanted()):
                _refuse(item)
                return
            answer = await self._take(self.controller.on(event))
        except (_LeaseIsOverError, KeeperError) as over:
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

    async def _keep_balance(self) -> None:
        clock, pause = self._doors.clock, FIRST_REBALANCE
        while True:
            await clock.sleep_until(Millis(clock.monotonic() + pause))
            if self._settings.broker[replication.AUTO_LEADER_REBALANCE_ENABLE]:
                self.post(RebalanceIsDue())
            pause = self._settings.broker[replication.LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS]

    async def _keep_trying(self) -> None:
        """A dir that hung when its broker was asked to delete may have been there all the time."""
        clock = self._doors.clock
        while True:
            await clock.sleep_until(Millis(clock.monotonic() + RETRY_PAUSE))
            if self.controller is not None and self.controller.context.deletions:
                self.post(RetryIsDue())

    # The lease

    async def _look_who_is_controller(self, gone: BrokerId | None) -> None:
        """Competes if there is no controller; a connection that was only lost changes nothing."""
        session = self._client.session_id
        if self._lease is not None:
            if await self._take(still_holds(self._lease, session)):
                return
            self.resign("another was elected, or the znodes were changed")
        candidate = Candidate(self._cluster.me, session, self._doors.clock.wall(), gone)
        outcome = await self._take(campaign(candidate))
        if isinstance(outcome, Won):
            await self._begin(outcome, gone)
        elif outcome.controller is not None:
            log.info("controller.is_another", controller=outcome.controller)
        elif self._tasks is not None:
            self._tasks.create_task(self._compete_later())

    async def _compete_later(self) -> None:
        """No broker could be elected, for a reason that may pass."""
        await self._doors.clock.sleep_until(
            Millis(self._doors.clock.monotonic() + PAUSE_WITHOUT_ANY)
        )
        self._put(_Item(ControllerChanged()))

    async def _begin(self, won: Won, gone: BrokerId | None) -> None:
        """Reads all, decides what is to be decided, and tells everybody."""
        begun_at = self._doors.clock.monotonic()
        self._lease = lease = won.lease
        if gone is not None and won.replaced_session:
            await self._take(strike_session(gone, won.replaced_session))
        reading = await self._take(read_tree())
        context = ControllerContext(self._cluster.me, lease, reading.image(), self.policy)
        self.controller = controller = Controller(context)
        assert self.new_channels is not None, "a controller needs channels"
        assert self._tasks is not None, "it is elected by its own task"
        self._channels = self.new_channels(lease)
        self._tasks.create_task(self._channels.run())
        log.info("controller.elected", epoch=lease.epoch, topics=len(context.image.topics))
        await self._take(controller.begin(reading))
        log.info("controller.begun", millis=self._doors.clock.monotonic() - begun_at)

    async def _end_lease(self, reason: str) -> None:
        """Gives up what it has, so that others may try; then competes again itself."""
        if self._lease is None:
            return  # it has resigned: the session is over, or the broker stops
        self.resign(reason)
        try:
            await self._take(step_down(self._client.session_id))
        except (_LeaseIsOverError, KeeperError) as over:
            log.warning("controller.ephemeral_stays", reason=str(over))
        await self._doors.clock.sleep_until(
            Millis(self._doors.clock.monotonic() + PAUSE_AFTER_FAILURE)
        )
        self._put(_Item(ControllerChanged()))

    # Steps

    async def _take(self, steps: Steps[R]) -> R:
        """Carries them out, one after the other, while the lease holds."""
        lease, outcome, times = self._lease, None, self.times
        times.resume()
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                times.spent()
                result: R = end.value
                return result
            times.spent()
            outcome = await self._carry_out(step)
            times.spent(step)
            if lease is not self._lease:
                raise _LeaseIsOverError("the controller resigned meanwhile")

    async def _carry_out(self, step: Step) -> Any:
        match step:
            case Read(requests):
                return await self._read(requests)
            case Attempt(multi):
                return (await self._batch([multi]))[0]
            case WriteStates(writes):
                assert self._lease is not None, step
                return await self._write(GuardedWrites(self._lease, writes))
            case Commit(multis):
                assert self._lease is not None, step
                return await self._commit(self._lease, multis)
            case Connect(brokers):
                if self._channels is not None:
                    self._channels.set_brokers(brokers)
            case Send(messages):
                for receivers, message in messages:
                    if self._channels is not None:
                        self._channels.send(receivers, message)
            case TopicIsMade(name, settings):
                self._settings.on_entity(Entity(EntityType.TOPICS, name), settings)
            case TopicIsGone(name):
                self._settings.forget_topic(name)
            case Note(event, fields):
                log.info(event, **fields)
        return None

    async def _batch(self, requests: Sequence[Request]) -> list[Answer]:
        answers = await self._client.batch(requests)
        for answer in answers:
            if isinstance(answer, SessionExpired | SessionClosed | AuthFailed):
                raise _LeaseIsOverError(str(answer))
        return answers

    async def _read(self, requests: Sequence[Request]) -> list[Answer]:
        """Reads are asked again until there is an answer."""
        answers = await self._batch(requests)
        while unknown := [at for at, it in enumerate(answers) if isinstance(it, OutcomeUnknown)]:
            again = await self._batch([requests[at] for at in unknown])
            for at, answer in zip(unknown, again, strict=True):
                answers[at] = answer
        return answers

    async def _write(self, rounds: GuardedWrites) -> StatesWritten:
        while requests := rounds.requests():
            rounds.on_answers(await self._batch(requests))
        if rounds.stopped is not None:
            raise _LeaseIsOverError(rounds.stopped)
        return StatesWritten(tuple(rounds.written), rounds.conflicts, rounds.failed)

    async def _commit(self, lease: ControllerLease, multis: Sequence[Multi]) -> list[Answer]:
        guard = Check(ControllerEpochZnode.PATH, lease.epoch_version)
        answers = await self._batch([Multi((guard, *multi.ops)) for multi in multis])
        return [_without_guard(answer) for answer in answers]


def _without_guard(answer: Answer) -> Answer:
    """As if the multi had not begun with the check of the epoch."""
    if isinstance(answer, MultiFailed) and answer.index is not None:
        if answer.index == 0:
            raise _LeaseIsOverError(f"another controller has taken over: {answer.cause}")
        return MultiFailed(answer.cause, answer.index - 1)
    if isinstance(answer, Results):
        return Results(answer.results[1:])
    assert isinstance(answer, KeeperError), answer
    return answer


def _refuse(item: _Item) -> None:
    if item.answer is not None and not item.answer.done():
        item.answer.set_exception(NotController())
