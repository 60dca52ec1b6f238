"""A simulated disk fails as it is told, and only so."""

import errno

import pytest

from odradek.model.units import Millis
from odradek.ports import Disk
from odradek.sim.doors.choices import every_choice
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import DiskFaults, Fault, PowerLost
from odradek.sim.doors.medium import CrashRules

WHOLE_PAGES = CrashRules(tear_one_in=0)  # a page cut at each of its bytes would be 4,095 outcomes


def conversation(disk: Disk) -> None:
    """A few calls of several kinds."""
    file = disk.open("log", create=True)
    file.write([b"0123456789"], 0)
    file.sync()
    disk.rename("log", "log2")
    disk.sync_directory("")
    file.read(4, 0)


def test_each_call_can_be_the_one_that_fails() -> None:
    """For every n the n-th call raises, and the calls before it did their work."""
    undisturbed = SimulatedDisk()
    conversation(undisturbed)
    for number in range(1, undisturbed.faults.calls + 1):
        disk = SimulatedDisk()
        disk.faults.fail_call(number)
        with pytest.raises(OSError, match="Input/output error"):
            conversation(disk)
        assert disk.faults.calls == number


def test_the_machine_can_stop_at_each_change() -> None:
    """For every n, and every outcome of that crash: what was synced before it is there."""
    undisturbed = SimulatedDisk()
    conversation(undisturbed)
    assert undisturbed.faults.changes == 5
    for number in range(1, 6):
        disk = SimulatedDisk(faults=DiskFaults(crash_at_change=number))
        with pytest.raises(PowerLost):
            conversation(disk)
        with pytest.raises(PowerLost):
            disk.names("")
        names = {
            tuple(disk.after_crash(choices, WHOLE_PAGES).names("")) for choices in every_choice()
        }
        renamed = {("log2",)} if number >= 4 else set()
        assert names == {(), ("log",)} | renamed


def test_a_crash_may_come_just_before_a_sync_or_just_after() -> None:
    """Stopping at a sync leaves both outcomes possible."""
    disk = SimulatedDisk(faults=DiskFaults(crash_at_change=3))
    with pytest.raises(PowerLost):
        conversation(disk)
    sizes = set()
    for choices in every_choice():
        crashed = disk.after_crash(choices, WHOLE_PAGES)
        sizes |= {crashed.size(name) for name in crashed.names("")}
    assert sizes == {0, 10}


def test_a_full_disk_takes_what_fits() -> None:
    """ENOSPC comes after a part of the write; removing a file gives the space back."""
    disk = SimulatedDisk(faults=DiskFaults(capacity=10))
    file = disk.open("log", create=True)
    file.write([b"01234567"], 0)
    with pytest.raises(OSError, match="No space left") as caught:
        file.write([b"8901"], 8)
    assert caught.value.errno == errno.ENOSPC
    assert file.read(20, 0) == b"0123456789"
    assert disk.free_bytes() == 0
    file.write([b"abcd"], 0)
    disk.unlink("log")
    assert disk.free_bytes() == 0
    file.close()
    assert disk.free_bytes() == 10


def test_forgetting_the_last_handle_gives_the_space_back() -> None:
    """A file without a name lives as long as somebody holds it, closed or not."""
    disk = SimulatedDisk(faults=DiskFaults(capacity=10))
    file = disk.open("log", create=True)
    file.write([b"01234567"], 0)
    disk.unlink("log")
    assert disk.free_bytes() == 2
    del file
    assert disk.free_bytes() == 10


def test_reserved_space_is_taken() -> None:
    """What was allocated nobody else gets, until a truncation gives it back."""
    disk = SimulatedDisk(faults=DiskFaults(capacity=10))
    file = disk.open("log", create=True)
    file.allocate(8)
    assert disk.free_bytes() == 2
    file.write([b"01234567"], 0)
    assert disk.free_bytes() == 2
    with pytest.raises(OSError, match="No space left"):
        file.allocate(11)
    file.truncate(1)
    assert disk.free_bytes() == 9


def test_a_read_only_disk_can_be_read() -> None:
    """The remount after too many errors: all that changes anything is refused."""
    disk = SimulatedDisk()
    conversation(disk)
    disk.faults.read_only = True
    file = disk.open("log2")
    assert file.read(10, 0) == b"0123456789"
    for call in (lambda: file.write([b"a"], 0), file.sync, lambda: disk.unlink("log2")):
        with pytest.raises(OSError, match="Read-only"):
            call()


def test_a_fault_has_its_place_and_its_time() -> None:
    """Only the calls, the paths and the count that were asked for are hit."""
    disk = SimulatedDisk()
    row = Fault(calls=frozenset({"write"}), path="orders-*/*.log", skip=1, times=1, part=2)
    disk.faults.rows.append(row)
    disk.make_directory("orders-0")
    other, log = disk.open("other", create=True), disk.open("orders-0/0.log", create=True)
    for file in (other, other, log):
        file.write([b"abcd"], 0)
    with pytest.raises(OSError, match=r"orders-0/0\.log"):
        log.write([b"ABCD"], 0)
    assert log.read(4, 0) == b"ABcd"
    log.write([b"1234"], 0)
    assert row.hits == 1


def test_a_slow_disk_costs_its_machine_time() -> None:
    """The call succeeds, and the machine is told how long it took."""
    waits: list[int] = []
    disk = SimulatedDisk(faults=DiskFaults([Fault(0, delay=Millis(300))], stall=waits.append))
    disk.open("log", create=True)
    assert waits == [300, 300]


def test_rot_is_seen_when_read() -> None:
    """One bit differs, in what is read now and after a crash."""
    disk = SimulatedDisk()
    conversation(disk)
    disk.flip("log2", 3, 0)
    assert disk.open("log2").read(10, 0) == b"0122456789"
    assert disk.after_crash(next(every_choice())).open("log2").read(10, 0) == b"0122456789"


def test_a_process_that_dies_leaves_what_it_wrote() -> None:
    """Only the machine's death takes unsynced bytes; locks and handles die with the process."""
    disk = SimulatedDisk()
    disk.lock(".lock")
    file = disk.open("log", create=True)
    file.write([b"unsynced"], 0)

    reborn = disk.after_exit()

    with pytest.raises(PowerLost):
        file.read(1, 0)
    reborn.lock(".lock")
    assert reborn.open("log").read(10, 0) == b"unsynced"
    assert set(reborn.after_crash(next(every_choice())).names("")) <= {".lock", "log"}
