"""Work that does not end where it begins: calls that may block, and tasks of their own."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

import structlog

from odradek.model.errors import BrokerError
from odradek.ports import Worker
from odradek.storage.errors import JobFailed
from odradek.storage.lending import Lent, give_back, lend
from odradek.storage.logs.log import PartitionLog

T = TypeVar("T")

log = structlog.get_logger()


class _Call(Generic[T]):
    """A job with somebody who waits for it; if they give up, it is done all the same."""

    __slots__ = ("_call", "_lent", "_of", "_result", "future")

    def __init__(
        self,
        call: Callable[[], T],
        future: "asyncio.Future[T]",
        lent: Sequence[Lent],
        of: PartitionLog | None,
    ) -> None:
        self._call = call
        self._result: T
        self._lent = lent
        self._of = of
        self.future = future
        lend(lent, self)

    def run(self) -> None:
        """On the worker."""
        self._result = self._call()

    def done(self, error: Exception | None) -> None:
        """On the loop. The traceback of an error has this job, which must not have the error."""
        give_back(self._lent, self)
        failed = None if error is None else foreseen(error, self._of)
        future = self.future
        del self.future
        if future.done():
            return
        if failed is None:
            future.set_result(self._result)
        else:
            future.set_exception(failed)


def foreseen(error: Exception, *of: PartitionLog | None) -> BrokerError | OSError:
    """The error of a job as its caller knows it.

    One that is nobody's (neither a client's nor a disk's) is ours: the logs that the job was about
    are not to be relied on, and go offline; the broker goes on.
    """
    if isinstance(error, BrokerError | OSError):
        return error
    about = [found for found in of if found is not None]
    log.error("job.failed", partitions=[str(it.partition) for it in about], exc_info=error)
    for found in about:
        found.give_up()
    return JobFailed(f"{type(error).__name__}: {error}")


async def off_loop(
    worker: Worker,
    call: Callable[[], T],
    *,
    lent: Sequence[Lent] = (),
    of: PartitionLog | None = None,
) -> T:
    """What the call returns or raises, made by the worker when its turn comes.

    What is `lent` is the call's alone from now until it has ended; `of` is the log that it is
    about.
    """
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    worker.submit(_Call(call, future, lent, of))
    try:
        return await future
    finally:
        del future  # it has the error, which has this frame, and what the call is about: open files


async def drained(worker: Worker) -> None:
    """Returns once all that was submitted before has ended: jobs end in their order."""
    await off_loop(worker, lambda: None)


def begin(
    tasks: asyncio.TaskGroup, coroutine: Coroutine[Any, Any, None]
) -> "asyncio.Task[None] | None":
    """A task of its own; None: the group is about to end, and takes none."""
    try:
        return tasks.create_task(coroutine)
    except RuntimeError:
        coroutine.close()
        return None
