"""What is done to one disk beside its workers, because neither they nor the loop may wait for it.

Two things come from the loop: a file whose last holder has let go of it is to be closed, which may
free a gigabyte of blocks, and a range that is being sent turns out to be no longer in the page
cache. One thread for each disk does them, in their order; on a disk that hangs it hangs, and with
it what lies there. It begins with the first of them.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread, get_ident

Call = Callable[[], None]


class Beside:
    """The thread of one disk, and the loop that it keeps free."""

    def __init__(self, name: str, loop_thread: int | None = None) -> None:
        self._name = name
        self.loop_thread = loop_thread  # None: there is no loop, and each caller may wait
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._begins = Lock()
        self._has_begun = False
        self._has_ended = False

    def is_on_loop(self) -> bool:
        """Whether this thread must not wait."""
        return self.loop_thread == get_ident()

    def close(self, fd: int) -> None:
        """Of a file without references. Called wherever the last reference goes, by any thread."""
        if self.loop_thread is None:
            with suppress(OSError):
                os.close(fd)
        else:
            self.do(_Close(fd))

    def do(self, call: Call) -> None:
        """Soon. It may not raise.

        Not while the interpreter ends, when what was left is collected: a thread that begins then
        never runs, and its creator waits for that. The system closes what is open.
        """
        if sys.is_finalizing():
            return
        if self._has_ended:
            call()
            return
        self._calls.put(call)
        if not self._has_begun and self._begins.acquire(blocking=False):
            self._has_begun = True
            Thread(target=self._work, name=f"beside {self._name}", daemon=True).start()

    def end(self) -> None:
        """Its loop does not run any more: what comes now is done in the caller's thread."""
        self._has_ended = True
        self._calls.put(None)

    def _work(self) -> None:
        """The thread, which ends with the process as a rule."""
        while (call := self._calls.get()) is not None:
            call()
            del call  # it may have a file open, and the next one may never come


class _Close:
    """A descriptor, on its way out."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __call__(self) -> None:
        """There is no caller left to hear of an error."""
        with suppress(OSError):
            os.close(self._fd)
