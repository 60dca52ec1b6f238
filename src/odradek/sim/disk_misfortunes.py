"""What can go wrong with disks and journals; see `faults`."""

import re
from functools import partial
from typing import ClassVar, Final

from odradek.model.units import Millis
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import Fault as DiskFault
from odradek.sim.doors.journal import Ledger
from odradek.sim.faults import Fault
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World

CALLS_CUT: Final = ("create", "rename", "sync", "sync_directory", "truncate", "unlink", "write")
CALLS_THAT_FAIL: Final = (*CALLS_CUT, "open", "read")
SEGMENT: Final = re.compile(r"[^/]+-\d+/\d+\.log")
SLOW_MILLIS_MAX: Final = 1_000
CALLS_BEFORE_PAUSE_MAX: Final = 60
PAUSE_BITS: Final = 22
"""Of microseconds: up to some seconds."""


class OfDisks(Fault):
    """Something that strikes one disk of one machine."""

    def one(self, chance: SeededRandom) -> SimulatedDisk | None:
        """Any disk that a machine has used."""
        disks = self._disks()
        return disks[chance.below(len(disks))] if disks else None

    def _disks(self) -> list[SimulatedDisk]:
        return [disk for machine in self.machines for disk in machine.disks.values()]


class OfCalls(OfDisks):
    """Something that strikes calls on a disk."""

    def heal(self) -> None:
        """No call is struck any more."""
        for disk in self._disks():
            disk.faults.rows.clear()


class DiskErrors(OfCalls):
    """Some calls on a disk fail, of a write perhaps after a part of it."""

    name = "disk-errors"
    passes: ClassVar = False
    """Whether it ends by itself: else it waits for its calls until everything heals."""

    def strike(self, chance: SeededRandom) -> str | None:
        """One kind of call, a few times."""
        disk = self.one(chance)
        if disk is None:
            return None
        call = CALLS_THAT_FAIL[chance.below(len(CALLS_THAT_FAIL))]
        row = DiskFault(calls=frozenset({call}), skip=chance.below(10), times=1 + chance.below(5))
        row.part = chance.below(5_000)
        disk.faults.rows.append(row)
        if self.passes:
            self.world.after(self.later(chance), partial(_end, row))
        return f"{disk.name} {call}"


def _end(row: DiskFault) -> None:
    row.times = 0


class PassingDiskErrors(DiskErrors):
    """Some calls on a disk fail for a while; a process that starts again and again meets fewer."""

    passes: ClassVar = True


class SlowDisk(OfCalls):
    """Some calls on a disk take long, and the machine does nothing else meanwhile."""

    name = "slow-disk"

    def strike(self, chance: SeededRandom) -> str | None:
        """Any calls, up to some dozens."""
        disk = self.one(chance)
        if disk is None:
            return None
        delay = Millis(1 + chance.below(SLOW_MILLIS_MAX))
        disk.faults.rows.append(DiskFault(0, times=1 << chance.below(6), delay=delay))
        return f"{disk.name} {delay}ms"


class PausedJob(OfDisks):
    """A job stops at one of its calls to a disk, and goes on when much else has happened.

    Once each: a disk that hangs at one call. Where the loop and a disk's thread touch the same,
    this is when they meet.
    """

    name = "paused-job"

    def strike(self, chance: SeededRandom) -> str | None:
        """One of the next calls that jobs make there; for a turn or two, or for seconds."""
        disk = self.one(chance)
        if disk is None:
            return None
        row = DiskFault(0, skip=chance.below(CALLS_BEFORE_PAUSE_MAX), times=1)
        row.pause = 1 << chance.below(PAUSE_BITS)
        disk.faults.rows.append(row)
        return f"{disk.name} {row.skip} {row.pause}us"

    def heal(self) -> None:
        """None pauses any more."""
        for disk in self._disks():
            for row in disk.faults.rows:
                if row.pause:
                    row.times = 0


class ReadOnlyDisk(OfDisks):
    """A disk refuses every change for a while, as a file system does that has met an error."""

    name = "read-only"

    def strike(self, chance: SeededRandom) -> str | None:
        """One that can be written."""
        disk = self.one(chance)
        if disk is None or disk.faults.read_only:
            return None
        disk.faults.read_only = True
        self.world.after(self.later(chance), self.heal)
        return disk.name

    def heal(self) -> None:
        """All can be written."""
        for disk in self._disks():
            disk.faults.read_only = False


class ColdCache(OfDisks):
    """The page cache holds nothing of a disk for a while: something else has needed the memory."""

    name = "cold-cache"

    def strike(self, chance: SeededRandom) -> str | None:
        """One that is warm."""
        disk = self.one(chance)
        if disk is None or disk.faults.is_evicted:
            return None
        disk.faults.is_evicted = True
        self.world.after(self.later(chance), partial(_warm, disk))
        return disk.name


def _warm(disk: SimulatedDisk) -> None:
    disk.faults.is_evicted = False


class FullDisk(OfDisks):
    """A disk has room for little more, for a while."""

    name = "full-disk"

    def strike(self, chance: SeededRandom) -> str | None:
        """What is removed makes room."""
        disk = self.one(chance)
        if disk is None:
            return None
        room = chance.below(5_000)
        disk.faults.capacity = disk.used + room
        self.world.after(self.later(chance), self.heal)
        return f"{disk.name} {room}B"

    def heal(self) -> None:
        """There is room for everything."""
        for disk in self._disks():
            disk.faults.capacity = None


class BitRot(OfDisks):
    """One bit of a file turns, without an error; `rot` is noted with the file's path."""

    name = "bit-rot"

    def strike(self, chance: SeededRandom) -> str | None:
        """Of a segment: what else there is can be made anew of those."""
        disk = self.one(chance)
        if disk is None:
            return None
        bytes_of = {path: len(contents.current) for path, contents in disk.medium.files()}
        paths = [path for path, size in bytes_of.items() if size and SEGMENT.fullmatch(path)]
        if not paths:
            return None
        path = paths[chance.below(len(paths))]
        position, bit = chance.below(bytes_of[path]), chance.below(8)
        disk.flip(path, position, bit)
        self.world.history.note("world", "rot", disk.name, path, position, bit)
        return f"{disk.name} {path}"


class JournalErrors(Fault):
    """Commits fail, with or without their bytes, or take long."""

    name = "journal-errors"

    def __init__(self, world: World, ledger: Ledger) -> None:
        super().__init__(world, ())
        self._ledger = ledger

    def strike(self, chance: SeededRandom) -> str | None:
        """The next one, or all for a while."""
        if chance.below(2):
            self._ledger.fail_next(written=not chance.below(2))
            return "error"
        self._ledger.slowness = Millis(1 << chance.below(12))
        self.world.after(self.later(chance), self.heal)
        return f"slow {self._ledger.slowness}"

    def heal(self) -> None:
        """They succeed, and fast."""
        self._ledger.slowness = Millis(0)
        self._ledger.failures.clear()


class PowerCutInCall(Fault):
    """A machine loses power in the middle of what it does to a disk: a write, a sync, a rename."""

    name = "power-cut-in-call"

    def strike(self, chance: SeededRandom) -> str | None:
        """At one of the next calls of a kind, if there are so many; it comes back later."""
        machine = self.running(chance)
        if machine is None or not machine.disks:
            return None
        names = sorted(machine.disks)
        faults = machine.disks[names[chance.below(len(names))]].faults
        call = CALLS_CUT[chance.below(len(CALLS_CUT))]
        row = DiskFault(calls=frozenset({call}), skip=chance.below(8), times=1, stops=True)
        faults.rows.append(row)
        self.world.after(self.later(chance), lambda: self._end(machine, row))
        return f"{machine.name} {call}"

    def _end(self, machine: Machine, row: DiskFault) -> None:
        row.times = 0
        machine.start_if_down()

    def heal(self) -> None:
        """Machines that are down start."""
        for machine in self.machines:
            for disk in machine.disks.values():
                disk.faults.rows.clear()
            machine.start_if_down()
