"""Work that does not end where it begins: calls that may block, and tasks of their own."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from odradek.ports import Worker

T = TypeVar("T")


class _Call(Generic[T]):
    """A job with somebody who waits for it; if they give up, it is done all the same."""

    __slots__ = ("_call", "_result", "future")

    def __init__(self, call: Callable[[], T], future: "asyncio.Future[T]") -> None:
        self._call = call
        self._result: T
        self.future = future

    def run(self) -> None:
        """On the worker."""
        self._result = self._call()

    def done(self, error: Exception | None) -> None:
        """On the loop."""
        if self.future.done():
            return
        if error is None:
            self.future.set_result(self._result)
        else:
            self.future.set_exception(error)


async def off_loop(worker: Worker, call: Callable[[], T]) -> T:
    """What the call returns or raises, made by the worker when its turn comes."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    worker.submit(_Call(call, future))
    return await future


async def drained(worker: Worker) -> None:
    """Returns once all that was submitted before has ended: jobs end in their order."""
    await off_loop(worker, lambda: None)


def begin(tasks: asyncio.TaskGroup, coroutine: Coroutine[Any, Any, None]) -> bool:
    """Whether a task of its own has begun: a group that is about to end takes none."""
    try:
        tasks.create_task(coroutine)
    except RuntimeError:
        coroutine.close()
        return False
    return True
