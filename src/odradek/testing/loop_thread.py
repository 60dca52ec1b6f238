"""A thread with a loop of its own: a member of a cluster has one for each of its lives.

A member that is killed takes its loop with it, so no timer of a former life ever rings. Nothing is
global: the policy of loops is not asked, and no loop becomes the thread's current one.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

from odradek.testing.events import Events

T = TypeVar("T")

END_SECONDS: Final = 10.0


class LoopThread:
    """Runs `main` to its end. `failure` is what ended it, if that was an error."""

    def __init__(self, name: str, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.loop = asyncio.SelectorEventLoop()
        self.loop.set_exception_handler(self._note)
        self.failure: BaseException | None = None
        self._main = main
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._goes_on = threading.Event()
        self._goes_on.set()
        self._thread.start()

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._thread.is_alive()

    def call(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """What a coroutine gives on its loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(seconds)

    def soon(self, callback: Callable[[], object]) -> None:
        """On its loop, if that is still there."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(callback)

    def pause(self) -> None:
        """Stands still: what is open stays open, and nothing is answered."""
        self._goes_on.clear()
        self.soon(self._goes_on.wait)

    def resume(self) -> None:
        """Goes on."""
        self._goes_on.set()

    def cancel(self) -> None:
        """Ends it where it is."""
        self.resume()
        self.soon(self._cancel)

    def join(self) -> None:
        """Returns when the thread is gone."""
        self.resume()
        self._thread.join(END_SECONDS)
        assert not self.runs, f"{self._thread.name} does not end"

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        loop = self.loop
        try:
            self._task = loop.create_task(self._main())
            loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - whoever started it wants to know
            self.failure = error
        finally:
            self._clear()
            loop.close()
            self._task = None

    def _clear(self) -> None:
        """Nothing stays on the loop."""
        loop = self.loop
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(asyncio.sleep(0))  # streams tell their ends
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A mistake of ours: the rest goes on, and a test that fails shows it."""
        del loop
        error = context.get("exception")
        if self.failure is None and isinstance(error, BaseException):
            self.failure = error
        Events.recent.append(f"{self._thread.name}: {context['message']}: {error!r}")
