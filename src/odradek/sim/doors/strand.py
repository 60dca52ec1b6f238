"""Code that stops in its middle and goes on later, while the rest of the world happens.

It runs on a thread of its own, in strict hand-over: the world waits while it runs, and it waits
while the world goes on. So there is one history for a seed, whatever the machine does. Locks are
all that the two share; none of them is waited for with a time.
"""

from collections.abc import Callable
from contextvars import copy_context
from threading import Lock, Thread

from odradek.sim.doors import guard
from odradek.sim.doors.disk_faults import PowerLost


class Strand:
    """One call, in as many pieces as it pauses plus one."""

    def __init__(self, call: Callable[[], None]) -> None:
        """It belongs to whom it is made by."""
        self._call = call
        self._context = copy_context()
        self._error: BaseException | None = None
        self._ours, self._theirs = Lock(), Lock()  # who may go on: the strand, the world
        self._ours.acquire()
        self._theirs.acquire()
        self._thread = Thread(target=self._run, name="strand", daemon=True)
        self._begun = self._given_up = False
        self.ended = False

    def go_on(self) -> bool:
        """Until it pauses or ends: whether it has ended. Raises what the call raised."""
        if self._begun:
            self._ours.release()
        else:
            self._begun = True
            self._thread.start()
        self._theirs.acquire()
        if self.ended:
            self._thread.join()
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return self.ended

    def pause(self) -> None:
        """Called by the code itself: it returns when the world lets it go on."""
        self._theirs.release()
        self._ours.acquire()
        if self._given_up:
            raise PowerLost("the world has ended")

    def give_up(self) -> None:
        """It will not go on: it unwinds now."""
        if self._begun and not self.ended:
            self._given_up = True
            try:
                while not self.go_on():
                    pass
            except PowerLost:
                pass

    def _run(self) -> None:
        """The thread, on which the world is watched as on the other."""
        with guard.watched():
            try:
                self._context.run(self._call)
            except BaseException as error:  # noqa: BLE001 - it is raised where the strand is run
                self._error = error
        self.ended = True
        self._theirs.release()
