"""Whether there is room on the disk of a log dir."""

import errno

import pytest

from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import Fault
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.room import measure, takes
from odradek.storage.errors import LogDirOffline
from odradek.storage.files.failures import Failures
from odradek.storage.files.names import ROOM


def test_a_quota_is_found_by_trying() -> None:
    """Whatever the disk says; nothing is left of the attempt, nor of one that a crash has left."""
    disk = SimulatedDisk()
    log_dir = LogDir(disk, Failures())
    disk.open(ROOM, create=True).allocate(1_000_000)
    disk.faults.quota = disk.used
    assert measure(log_dir).free > 1_000_000
    assert takes(log_dir, 1_000_000)
    assert not takes(log_dir, 1_000_001)
    assert (disk.names(""), disk.used) == ([], 0)


@pytest.mark.parametrize("call", ["create", "allocate", "write"])
def test_a_disk_without_room_is_no_broken_one(call: str) -> None:
    """But any other error is of one."""
    disk = SimulatedDisk()
    log_dir = LogDir(disk, Failures())
    disk.faults.rows.append(Fault(errno.EDQUOT, frozenset({call}), times=1))
    assert not takes(log_dir, 10)
    assert disk.names("") == []
    disk.faults.rows.append(Fault(errno.EIO, frozenset({call}), times=1))
    with pytest.raises(LogDirOffline):
        takes(log_dir, 10)
