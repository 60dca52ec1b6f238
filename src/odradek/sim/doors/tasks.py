"""What a simulated loop runs: handles and tasks, and the lives of machines to which they belong."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, Protocol

CLOSING_ATTEMPTS_MAX: Final = 10  # of a coroutine that awaits while it is closed


class Life(Protocol):
    """What the loop asks of the life of a machine."""

    awake: bool

    def keep(self, handle: "Handle") -> None:
        """Takes a handle that came while the life was not awake."""
        ...

    def adopt(self, task: "SimulatedTask") -> None:
        """Takes a task that was born in it."""
        ...

    def local(self, moment: int) -> int:
        """What the machine's clock shows at a moment of the loop, in microseconds."""
        ...

    def moment(self, local: int) -> int:
        """The first moment of the loop at which the machine's clock shows that."""
        ...


NOBODY: Final = Context()
"""The context of what the world does by itself."""

LIFE: Final[ContextVar[Life | None]] = ContextVar("LIFE", default=None)


class Handle(asyncio.TimerHandle):
    """A callback, and whose it is.

    Built by hand, without what only a debugger would ask: asyncio's own constructor takes longer.
    """

    __slots__ = ("life",)

    _callback: Callable[..., object] | None
    _context: Context
    _when: float

    def __init__(
        self, callback: Callable[..., object], args: Sequence[Any], context: Context | None
    ) -> None:
        self._callback = callback
        self._args = args
        self._context = copy_context() if context is None else context
        self._cancelled = False
        self.life = self._context.get(LIFE)

    def __repr__(self) -> str:
        return f"<Handle of {self._callback!r}>"

    def cancel(self) -> None:
        """It will not run; where it waits it is passed over."""
        self._cancelled = True
        self._callback = None
        self._args = ()


class SimulatedTask(asyncio.Task[Any]):
    """A task whose place in a set depends on when it was born, not on where it lies."""

    def __init__(self, coro: Coroutine[Any, Any, Any], number: int, **options: Any) -> None:
        self.number = number
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self.number

    def forget(self) -> None:
        """Nothing will be said about how it ended, or that it did not."""
        self._log_destroy_pending = False
        self._log_traceback = False

    def end(self) -> None:
        """Closes its coroutine, again where it awaits meanwhile, a bounded number of times."""
        coroutine: Any = self.get_coro()
        for _ in range(CLOSING_ATTEMPTS_MAX):
            try:
                coroutine.close()
            except BaseException:  # noqa: BLE001, S112 - its world is gone: nothing it says matters
                continue
            return
