"""The thread of a disk that was given up keeps nothing of it."""

import asyncio
import weakref
from threading import Event

from odradek.runtime.doors.worker import ThreadWorker


class Call:
    """A job that a disk holds until it goes on."""

    def __init__(self, goes_on: Event) -> None:
        self._goes_on = goes_on

    def run(self) -> None:
        """On the thread."""
        self._goes_on.wait()

    def done(self, error: Exception | None) -> None:
        """On the loop; nobody waits."""


def test_a_job_behind_a_hanging_one_is_let_go_of() -> None:
    """It has the files of a log: with one open nobody can unmount the disk."""

    async def main() -> None:
        worker, goes_on = ThreadWorker("disk"), Event()
        last = Call(goes_on)
        kept = weakref.ref(last)
        worker.submit(Call(goes_on))
        worker.submit(last)
        worker.abandon(OSError("it hangs"))
        del last
        goes_on.set()
        while not worker.revive():  # noqa: ASYNC110 - it is the thread that is waited for
            await asyncio.sleep(0)
        assert kept() is None
        worker.close()

    asyncio.run(main())
