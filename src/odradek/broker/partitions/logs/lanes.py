"""Work on log dirs that has several steps: in order within one dir, side by side between dirs.

A step waits for the dir's worker, so a dir that hangs holds up its own lane and no other. Callers
wait only as long as they choose; the work goes on without them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

import structlog

from odradek.broker.jobs import begin
from odradek.model.errors import BrokerError
from odradek.model.units import SECOND, Millis
from odradek.ports import Clock
from odradek.storage.errors import StorageError

ANSWER_PATIENCE: Final = Millis(2 * SECOND)
"""How long an answer to the controller waits for a log dir. A dir that hangs is not waited for: if
it fails, that is reported like any other failure of a dir."""

Work = Callable[[], Awaitable[None]]
T = TypeVar("T")

log = structlog.get_logger()


class Lane:
    """The work of one log dir, one piece after the other."""

    def __init__(self, tasks: asyncio.TaskGroup, clock: Clock) -> None:
        self._tasks = tasks
        self._clock = clock
        self._waiting: deque[tuple[Work, asyncio.Future[None]]] = deque()
        self._begun_at: Millis | None = None  # the piece that is under way

    def run(self, work: Work) -> "asyncio.Future[None]":
        """Does this piece when its turn comes; the future is done once it is."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, done))
        if self._begun_at is None:
            self._begun_at = self._clock.monotonic()
            if not begin(self._tasks, self._work_off()):
                done.cancel()  # the broker stops
        return done

    def begin(self, work: Work) -> None:
        """Likewise, for a caller that does not wait for it."""
        self.run(work).add_done_callback(_is_done)

    async def result(self, work: Callable[[], Awaitable[T]]) -> T:
        """What this piece returns or raises, once it was its turn."""
        results: list[T] = []
        errors: list[BrokerError] = []

        async def piece() -> None:
            try:
                results.append(await work())
            except BrokerError as error:
                errors.append(error)

        await self.run(piece)
        if errors:
            raise errors.pop()  # and not kept here: it has this frame
        return results[0]

    def is_stuck(self, patience: Millis) -> bool:
        """Whether one piece has been under way for longer than this."""
        return self._begun_at is not None and self._clock.monotonic() - self._begun_at >= patience

    async def _work_off(self) -> None:
        try:
            while self._waiting:
                work, done = self._waiting.popleft()
                self._begun_at = self._clock.monotonic()
                try:
                    await work()
                except StorageError as error:  # its dir has failed, and every step in it fails
                    log.warning("lane.step_failed", error=str(error))
                if not done.done():
                    done.set_result(None)
        finally:
            self._begun_at = None


def _is_done(_done: "asyncio.Future[None]") -> None:
    """Nothing waits for it."""


async def answered(work: Sequence["asyncio.Future[None]"], lanes: Iterable[Lane]) -> bool:
    """Whether all was done in time. If one dir hangs already, nothing waits for it again."""
    is_stuck = any(lane.is_stuck(ANSWER_PATIENCE) for lane in lanes)
    return await all_done(work, Millis(0) if is_stuck else ANSWER_PATIENCE)


async def all_done(futures: Iterable["asyncio.Future[None]"], patience: Millis) -> bool:
    """Whether all of them were done in time. Those that were not go on."""
    waiting = [future for future in futures if not future.done()]
    if not waiting:
        return True
    everything = asyncio.gather(*waiting, return_exceptions=True)
    try:
        async with asyncio.timeout(patience / 1_000):
            await asyncio.shield(everything)
    except TimeoutError:
        return False
    return True
