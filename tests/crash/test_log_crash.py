"""The machine stops at the n-th change of its disk, for every n, and comes back.

After each stop several of the states are tried in which a disk may be found: what was not synced
may be there, or not, or in part. Whatever it is: what was durable is there, nothing is that was
never written, and the log goes on.
"""

import errno
from collections.abc import Callable
from contextlib import suppress

import pytest

from odradek.model.positions import BrokerEpoch, LeaderEpoch
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import DiskFaults, PowerLost
from odradek.storage.errors import StorageError
from odradek.storage.settings import LogConfig
from tests.crash.machine import CONFIG, SYNCED, Chance, Machine


def leading(m: Machine) -> None:
    """A leader's day: appends over several segments, flushes, a new epoch, a transaction."""
    m.append(2)
    m.append(1)
    m.flush()
    m.checkpoint()
    m.append(3)
    m.append(2)
    m.epoch = LeaderEpoch(1)
    m.append(1, transactional=True)
    m.end_transaction(committed=False)
    m.flush()
    m.append(2)
    m.checkpoint()
    m.append(2)


def following(m: Machine) -> None:
    """A follower's day: what it wrote is cut off twice, and written again otherwise."""
    for _ in range(5):
        m.append(2)
    m.flush()
    m.checkpoint()
    m.epoch = LeaderEpoch(1)
    m.append(2)
    m.truncate(6)
    m.epoch = LeaderEpoch(2)
    m.append(2)
    m.append(2)
    m.flush()
    m.epoch = LeaderEpoch(3)
    m.append(2)
    m.truncate(2)
    m.epoch = LeaderEpoch(4)
    m.append(2)
    m.flush()
    m.checkpoint()


def retaining(m: Machine) -> None:
    """Old segments go while new ones come."""
    for _ in range(6):
        m.append(2)
    m.flush()
    m.checkpoint()
    m.retain_from(5)
    m.append(2)
    m.checkpoint()
    m.retain_from(9)
    m.flush()
    m.append(1)


def closing(m: Machine) -> None:
    """Two clean stops, with work between."""
    for _ in range(2):
        m.append(2)
        m.append(2)
        m.log_dir.closing(m.now, BrokerEpoch(1)).run()
        m.durable.update(m.volatile)
        m.volatile.clear()
        m.start(m.disk)
        assert m.opened.clean


def compacting(m: Machine) -> None:
    """Keys are written again and again, some only once, and compacted into fewer segments."""
    for number in range(8):
        m.put(f"k{number % 3}" if number % 4 else f"once{number}", f"value-{number}")
    m.flush()
    m.checkpoint()
    m.compact()
    for number in range(4):
        m.put(f"k{number % 2}", f"later-{number}")
    m.put("k2", "")
    m.put("once9", "last")
    m.flush()
    m.compact()
    m.put("k0", "end")
    m.flush()
    m.compact()


Day = Callable[[Machine], None]
DAYS = [leading, following, retaining, closing, compacting]


def changes_of(day: Day, config: LogConfig) -> int:
    """How many changes a day makes when nothing happens."""
    faults = DiskFaults()
    machine = Machine(SimulatedDisk(faults=faults), config)
    day(machine)
    machine.check()
    return faults.changes


def check_aftermath(machine: Machine, disk: SimulatedDisk, seeds: range) -> None:
    """Several states in which the disk may be found; each is opened, checked and written to."""
    promised = dict(machine.durable)
    for seed in seeds:
        found = disk.after_crash(Chance(seed))
        found.faults = DiskFaults()
        machine.durable, machine.volatile = dict(promised), {}
        machine.start(found)
        machine.go_on()


@pytest.mark.parametrize("config", [CONFIG, SYNCED], ids=["plain", "synced"])
@pytest.mark.parametrize("day", DAYS)
def test_the_machine_stops_at_every_change(day: Day, config: LogConfig) -> None:
    """Each stop may find the change done or not; then the power is gone."""
    for change in range(1, changes_of(day, config) + 1):
        disk = SimulatedDisk(faults=DiskFaults(crash_at_change=change))
        machine = None
        with suppress(PowerLost):
            machine = Machine(disk, config)
            day(machine)
        if machine is not None:  # else it stopped before there was anything to lose
            check_aftermath(machine, disk, range(6))


@pytest.mark.parametrize("config", [CONFIG, SYNCED], ids=["plain", "synced"])
@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_every_call_fails_once(day: Day, config: LogConfig, error: int) -> None:
    """The day ends with a typed error, or goes on; a disk without room is never taken for broken.

    But for a sync: after one that failed nobody knows what is durable.
    """
    faults = DiskFaults()
    day(Machine(SimulatedDisk(faults=faults), config))
    for call in range(1, faults.calls + 1):
        disk = SimulatedDisk()
        fault = disk.faults.fail_call(call, error, part=call % 50)
        machine = None
        with suppress(StorageError):
            machine = Machine(disk, config)
            day(machine)
        assert fault.hits == 1
        if machine is not None:
            if error == errno.ENOSPC and not machine.log_dir.is_offline:
                machine.log_dir.abandon()
            check_aftermath(machine, disk, range(3))
