"""What goes wrong on one simulated disk, and when.

A `Fault` is a row: which calls, on which paths, from the how-manieth on, how often, and with what
error, or that the machine stops there. `DiskFaults` holds the rows of one disk and counts its
calls, so that a test can fail the n-th, or stop the machine at the n-th change, for every n.
"""

import errno
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, NoReturn

from odradek.model.units import Millis
from odradek.ports import WouldBlock
from odradek.sim.doors.lending import the_loop_runs

NO_DELAY: Final = Millis(0)

CHANGES: Final = frozenset(
    {
        "create",
        "write",
        "truncate",
        "allocate",
        "sync",
        "make_directory",
        "rename",
        "link",
        "unlink",
        "remove_directory",
        "sync_directory",
    }
)
"""Calls after which the medium, or what may be assumed of it, differs."""

CALLS: Final = CHANGES | {"open", "read", "stat", "list", "lock", "free"}


LOOP_CALLS: Final = frozenset({"open", "read", "stat"})
"""Of which the disk says, each where it is made, whether the loop may make them."""


class OnTheLoop(AssertionError):
    """A call that may wait for a device was made on a broker's loop."""


class PowerLost(BaseException):
    """The machine of this disk is gone: no handler for errors may see this, as none would run."""


@dataclass(slots=True)
class Fault:
    """Calls that fail (`error`), take long (`delay`), both, or stop their machine.

    Or at which the job that makes them stops in its middle (`pause`), while its machine goes on.
    """

    error: int = errno.EIO  # 0: the call is only slow
    calls: frozenset[str] = CALLS
    path: str = "*"  # as fnmatch has it; of a rename, the old name
    skip: int = 0  # so many calls that match pass unharmed first
    times: int = sys.maxsize  # then so many are hit
    part: int = 0  # so many bytes of a write arrive before it fails
    delay: Millis = NO_DELAY
    stops: bool = False  # the machine, before the call has had any effect
    pause: int = 0  # microseconds until the job goes on; counts the calls of jobs alone
    hits: int = 0  # counted here, to see whether the fault had any effect

    def hit(self, call: str, path: str) -> bool:
        """Whether this call is one to harm; counts it."""
        if call not in self.calls or not fnmatchcase(path, self.path):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.hits >= self.times:
            return False
        self.hits += 1
        return True


def _nobody() -> None:
    """Without a machine only the disk stops."""


def _no_wait(_: Millis) -> None:
    """Without a machine no time passes."""


Pausing = Callable[[int], None]


@dataclass(slots=True)
class DiskFaults:
    """The state of one disk's misfortune."""

    rows: list[Fault] = field(default_factory=list)
    read_only: bool = False
    capacity: int | None = None  # bytes in all; None: endless
    quota: int | None = None  # likewise, for writes: what the disk says of its room leaves it out
    crash_at_change: int | None = None  # the first is 1; it may have had its effect, or not
    crash: Callable[[], None] = _nobody  # whose machine stops at that change
    jobs_only: bool = False  # a broker has workers for it: its loop may wait for nothing here
    stall: Callable[[Millis], None] = _no_wait  # how the machine spends a slow call
    is_cold: bool = False  # nothing of its files is in the page cache
    is_evicted: bool = False  # likewise, for a while
    pausing: Pausing | None = None  # how the job that runs now stops for some microseconds
    failed_syncs: int = 0
    calls: int = 0
    changes: int = 0
    dead: bool = False

    def fail_call(self, number: int, error: int = errno.EIO, part: int = 0) -> Fault:
        """Harms the one call of this number, counted from 1, whatever it is."""
        row = Fault(error=error, skip=number - 1 - self.calls, times=1, part=part)
        self.rows.append(row)
        return row

    def meet(self, call: str, path: str) -> Fault | None:
        """Counts the call; the fault that it meets, if it is one with an error."""
        if self.dead:
            raise PowerLost(path)
        if call not in LOOP_CALLS:
            self.must_be_a_job(call, path)
        self.calls += 1
        self.changes += call in CHANGES
        if self.read_only and call in CHANGES:
            return Fault(errno.EROFS)
        for row in self.rows:
            if row.pause:
                self._pause_at(row, call, path)
            elif row.hit(call, path):
                if row.stops:
                    self.stop(path)
                if row.delay:
                    self.stall(row.delay)
                if row.error:
                    return row
        return None

    def may_wait(self, path: str) -> None:
        """Before a call that says so where it would wait for the device."""
        if self.jobs_only and not self.dead and the_loop_runs():
            raise WouldBlock(path)

    def must_be_a_job(self, call: str, path: str) -> None:
        """Before a call that may wait for the device."""
        if self.jobs_only and not self.dead and the_loop_runs():
            raise OnTheLoop(f"{call} of {path}: a disk that hangs would hold up the broker")

    @property
    def caches_nothing(self) -> bool:
        """Whether each read goes to the device."""
        return self.is_cold or self.is_evicted

    @property
    def may_pause(self) -> bool:
        """Whether a job that begins now may stop in its middle."""
        return any(row.pause and row.hits < row.times for row in self.rows)

    def _pause_at(self, row: Fault, call: str, path: str) -> None:
        pausing = self.pausing
        if pausing is not None and row.hit(call, path):
            pausing(row.pause)
            if self.dead:  # by now
                raise PowerLost(path)

    def enter(self, call: str, path: str) -> None:
        """As `meet`, for calls that fail whole."""
        fault = self.meet(call, path)
        if fault:
            raise_error(fault.error, path)

    def passed(self, call: str) -> None:
        """The call has had the effect that it may have had when the machine stops at it."""
        if call in CHANGES and self.changes == self.crash_at_change:
            self.stop(call)

    def stop(self, where: str) -> NoReturn:
        """The machine is gone, in the middle of this call."""
        self.dead = True
        self.crash()
        raise PowerLost(where)


def raise_error(number: int, path: str) -> NoReturn:
    """The exception that the operating system's call would have raised."""
    raise OSError(number, os.strerror(number), path)
