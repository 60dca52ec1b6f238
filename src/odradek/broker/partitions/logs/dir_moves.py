"""Replicas that move between the log dirs of this broker while they are served (KIP-113).

The steps of a move are decided in `storage.dirs.moves`; here they are sent to the workers of both
dirs. One move at a time fills a dir, at the pace that the throttle allows. Near the end of the log
the move takes the lane of the current dir: appends wait for the moment that the swap takes, and its
last steps have a time limit, so that a target that hangs does not hold up the other dir.

A move that fails is given up, and its copy is deleted; but if the dir of the current log has
failed, the copy stays where it is: it may be the best that is left. After a restart it is resumed.
"""

import asyncio
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, TypeVar

import structlog

from odradek.broker.jobs import begin, drained, off_loop
from odradek.broker.partitions.logs.copy_pace import CopyPace
from odradek.broker.partitions.logs.lanes import Lane
from odradek.broker.partitions.logs.local_logs import LocalLogs
from odradek.broker.settings import SettingsSource
from odradek.config.rows.replication import REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.model.units import MIB, SECOND, Millis
from odradek.ports import Clock
from odradek.storage.compacting.compaction import Throttle
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.dirs.moves import Move, Step, begin_move
from odradek.storage.errors import StorageError
from odradek.storage.logs.log import PartitionLog

SWAP_PATIENCE: Final = Millis(2 * SECOND)
"""How long one step of a swap may take before the move is given up."""
REST_PIECE: Final = Millis(SECOND)
"""So often a copy that rests looks whether its throttle has been altered."""
CLOSE_PATIENCE: Final = Millis(SECOND)

T = TypeVar("T")

log = structlog.get_logger()


class Roles(Protocol):
    """The roles of this broker's replicas, as far as a move concerns them."""

    def hold(self, partition: TopicPartition) -> None:
        """A follower fetches nothing until it is released."""
        ...

    def release(self, partition: TopicPartition) -> None:
        """It is served again, from the log that is the current one now."""
        ...


class _Staying:
    """A job for the worker of a log's dir: a move has ended, and the log is where it was."""

    def __init__(self, move: Move) -> None:
        self._move = move

    def run(self) -> None:
        """On the worker."""
        self._move.stay()

    def done(self, error: Exception | None) -> None:
        """On the loop. A disk that cannot note it has failed, and serves nothing from now on."""
        if error is not None:
            log.error("move.not_noted", partition=str(self._move.partition), error=str(error))


class DirMoves:
    """All moves of a broker."""

    def __init__(
        self,
        logs: LocalLogs,
        lanes: Mapping[str, Lane],
        roles: Roles,
        *,
        clock: Clock,
        settings: SettingsSource,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._logs = logs
        self._lanes = lanes
        self._roles = roles
        self._clock = clock
        self._settings = settings
        self._tasks = tasks
        self._beginning: set[TopicPartition] = set()
        self._waiting: dict[str, deque[Move]] = {}  # of dirs that are being filled
        self._rate = 0
        self._throttle = Throttle(None)
        self._copied = 0  # bytes that no rest was taken for
        self._is_closing = asyncio.Event()
        self._swapping: dict[TopicPartition, Move] = {}
        self._ended = asyncio.Event()  # some dir is being filled no more
        self._begun: dict[TopicPartition, tuple[Millis, int]] = {}  # when, and what was there
        self._advanced: dict[TopicPartition, Millis] = {}  # when a copy grew last, or was begun

    async def begin(self, partition: TopicPartition, target: str) -> bool:
        """Whether a copy is being filled in this dir now; a BrokerError says why that cannot be.

        False also where there is no log yet: it will be made in this dir.
        """
        if partition in self._beginning:
            raise StorageError(f"another request is moving {partition} at this moment")
        self._beginning.add(partition)
        try:
            dirs, config = self._logs.dirs, self._logs.config_of(partition.topic)
            found = dirs.get(partition)
            how = InDir(config) if found is None else InDir(config, found.topic_id)
            running = dirs.future(partition)
            move = await self._carry_out(
                begin_move(dirs, partition, target, how=how, now=self._clock.wall()), None
            )
        finally:
            self._beginning.discard(partition)
        if move is None:
            return False
        if move.future is not running:
            log.info("move.begun", partition=str(partition), source=move.source.name, target=target)
            self._enqueue(move)
        return True

    def bytes_per_second(self, move: Move) -> int:
        """How fast its copy grows, since it was begun; 0: that is not known yet."""
        at, size = self._begun.get(move.partition, (self._clock.monotonic(), 0))
        millis = self._clock.monotonic() - at
        return 0 if not millis else max(move.future.size - size, 0) * SECOND // millis

    @property
    def stands(self) -> Millis:
        """For how long nothing has come to the slowest of the copies that are being filled."""
        return max((millis for _, millis in self.standing()), default=Millis(0))

    def standing(self) -> Iterator[tuple[PartitionLog, Millis]]:
        """Each copy that is being filled, and for how long nothing has come to it."""
        now = self._clock.monotonic()
        for partition, at in self._advanced.items():
            found = self._logs.dirs.future(partition)
            if found is not None:
                yield found, Millis(now - at)

    def resume(self) -> None:
        """Goes on with the copies that were found at the start."""
        dirs = self._logs.dirs
        for log_dir in dirs.online:
            for partition in sorted(log_dir.futures):
                if dirs.dir_of(partition) is not None:
                    self._enqueue(Move(dirs, partition))

    async def close(self) -> None:
        """Ends after the step that is under way; a dir that hangs is not waited for."""
        self._is_closing.set()
        try:
            async with asyncio.timeout(CLOSE_PATIENCE / SECOND):
                while self._waiting:
                    self._ended.clear()
                    await self._ended.wait()
        except TimeoutError:
            log.warning("moves.not_ended", targets=sorted(self._waiting))
            for move in list(self._swapping.values()):
                self._release(move)

    # One dir is filled by one move after the other

    def _enqueue(self, move: Move) -> None:
        waiting = self._waiting.get(move.target.name)
        if waiting is not None:
            waiting.append(move)
        elif not self._is_closing.is_set():
            self._waiting[move.target.name] = deque([move])
            begin(self._tasks, self._fill(move.target.name))

    async def _fill(self, target: str) -> None:
        waiting = self._waiting[target]
        try:
            while waiting and not self._is_closing.is_set():
                await self._move(waiting.popleft())
        finally:
            del self._waiting[target]
            self._ended.set()

    async def _move(self, move: Move) -> None:
        now = self._clock.monotonic()
        self._begun[move.partition] = now, move.future.size
        self._advanced[move.partition] = now
        try:
            with self._logs.watched(move.current):
                if await self._copy(move):
                    await self._swap(move)
        except BrokerError as error:
            log.error("move.failed", partition=str(move.partition), error=str(error))
            await self._give_up(move)
        finally:
            self._begun.pop(move.partition, None)
            self._advanced.pop(move.partition, None)

    async def _give_up(self, move: Move) -> None:
        if self._logs.dirs.failures.has_failed(move.source.name):
            return
        try:
            await self._carry_out(move.cancel(), move.current)
        except StorageError as error:
            log.error("move.not_cancelled", partition=str(move.partition), error=str(error))

    async def _copy(self, move: Move) -> bool:
        """Up to near the end of the log; False if there is nothing to move any more."""
        try:
            return await self._copy_all(move)
        finally:
            move.drop_ahead()

    async def _copy_all(self, move: Move) -> bool:
        pace = CopyPace(self._appends, self._clock.monotonic())
        unsynced = 0
        while True:
            await self._rest(pace)
            if move.is_over or self._is_closing.is_set():
                return False
            end = move.current.log_end_offset
            count = await self._carry_out(move.copy(self._clock.wall()), move.current)
            unsynced += count
            self._copied += count
            if count:
                self._advanced[move.partition] = self._clock.monotonic()
            is_near = move.future.log_end_offset >= end or not count
            if unsynced and is_near:
                await self._carry_out(move.flush(self._clock.wall()), move.current)
                was_small, unsynced = unsynced <= MIB, 0
                is_near = was_small  # much may have come during a long sync
            if is_near and not move.is_over:
                return True

    @property
    def _appends(self) -> int:
        """How many groups of them this broker has written."""
        return sum(it.writes for it in self._logs.appends.values())

    async def _rest(self, pace: CopyPace) -> None:
        """As throttle and appends want it, until the broker stops or the rate is altered.

        Also for what the replica before has copied at last.
        """
        rate = self._settings.broker[REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND]
        if rate != self._rate:
            self._rate, self._throttle = rate, Throttle(max(rate, 1))
        now = self._clock.monotonic()
        count, self._copied = self._copied, 0
        rest = max(self._throttle.rest_after(count, now), pace.rest_after(self._appends, now))
        while rest > 0 and not self._is_closing.is_set():
            if self._settings.broker[REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND] != rate:
                break
            with suppress(TimeoutError):
                async with asyncio.timeout(min(rest, REST_PIECE) / SECOND):
                    await self._is_closing.wait()
            rest = Millis(rest - REST_PIECE)
            pace.rested(self._clock.monotonic())

    # The swap

    async def _swap(self, move: Move) -> None:
        try:
            await self._carry_out(move.prepare(self._clock.wall()), move.current)
            await self._lanes[move.source.name].result(partial(self._take_place, move))
        finally:
            self._decide(move)
        if self._logs.dirs.get(move.partition) is move.future:
            try:
                await self._carry_out(move.tidy(), None)
            except StorageError as error:
                log.warning("move.not_tidied", partition=str(move.partition), error=str(error))
            log.info("move.ended", partition=str(move.partition), target=move.target.name)

    async def _take_place(self, move: Move) -> None:
        """In the lane of the current log's dir: no role begins or ends, and nothing is cut."""
        if move.is_over or self._is_closing.is_set():
            return
        async with self._logs.without_compaction(move.current):
            self._roles.hold(move.partition)
            self._swapping[move.partition] = move
            try:
                await self._swap_held(move)
            finally:
                self._release(move)

    async def _swap_held(self, move: Move) -> None:
        appends = self._logs.appends[move.source.name]
        await appends.settled()  # what a follower has got; it gets no more
        move.current.is_held = True
        await appends.settled()
        if not move.is_over:
            steps = move.take_place(self._clock.wall(), partial(self._taken, move))
            await self._carry_out(steps, None, SWAP_PATIENCE)

    def _taken(self, move: Move) -> None:
        """In the turn in which the future log becomes the current one."""
        appends = self._logs.appends
        appends[move.source.name].hand_over(move.current, move.future, appends[move.target.name])
        self._roles.release(move.partition)

    def _release(self, move: Move) -> None:
        """What has waited for the swap goes on, wherever the log is now."""
        if self._swapping.pop(move.partition, None) is not None:
            self._decide(move)
            move.current.is_held = False
            self._logs.appends[move.source.name].release(move.current)
            self._roles.release(move.partition)

    def _decide(self, move: Move) -> None:
        """If the current log stays, its note is the worker's next job: ahead of all appends.

        Whichever way the swap was left: an error, a limit of time, the end of the broker.
        """
        if move.is_undecided:
            move.is_undecided = False  # a rename that ends now changes nothing any more
            if move.is_current:
                self._logs.workers[move.source.name].submit(_Staying(move))

    async def _carry_out(
        self,
        steps: Generator[Step, None, T],
        current: PartitionLog | None,
        patience: Millis | None = None,
    ) -> T:
        """Sends each step to its worker; what it raises goes back to the steps.

        Between them the steps look at the current log, while no truncation has it for itself; not
        waited for where that cannot be, in its lane, or where they do not look at it.
        """
        try:
            await self._await_return(current)
            step = next(steps)
            while True:
                try:
                    await self._take(step, patience)
                    await self._await_return(current)
                except BrokerError as error:
                    step = steps.throw(error)
                else:
                    step = next(steps)
        except StopIteration as stop:
            value: T = stop.value
            return value

    async def _await_return(self, current: PartitionLog | None) -> None:
        while current is not None and current.lent_to is not None:
            await drained(self._logs.worker_of(current))

    async def _take(self, step: Step, patience: Millis | None) -> None:
        logs, name = self._logs, step.log_dir.name
        if step.ahead is not None:
            logs.background[step.ahead.log_dir.name].submit(step.ahead)
        worker = logs.background[name] if step.is_background else logs.workers[name]
        try:
            async with asyncio.timeout(None if patience is None else patience / SECOND):
                await off_loop(worker, step.run, lent=step.lent)
        except TimeoutError:
            raise StorageError(f"{step.log_dir.name} took longer than {patience} ms") from None
