"""A log that is made for a new replica while a dir is offline, which has one of an earlier life."""

import errno

import pytest

from odradek.model.positions import LeaderEpoch
from odradek.sim.doors.disk_faults import Fault
from odradek.storage.dirs.moves import begin_move
from odradek.storage.errors import LogDirOffline
from odradek.storage.files.names import Kind, parse_log_name
from tests.unit.storage.test_log_dirs import KNOWN, NEW, NOW, Host, fill, part
from tests.unit.storage.test_moves import driven

PARTITION = part(0)


def host(count: int = 2) -> Host:
    """The log lies on a disk that fails, and the broker starts without it."""
    h = Host(count)
    fill(h.dirs.get_or_create(PARTITION, NEW, NOW), "a", "b")
    h.disks[0].faults.rows.append(Fault())
    h.restart()
    return h


def comes_again(h: Host, epoch: int, *values: str) -> None:
    """The replica, which was removed meanwhile."""
    how = NEW._replace(came_in=LeaderEpoch(epoch))
    fill(h.dirs.get_or_create(PARTITION, how, NOW), *values)


def repaired(h: Host) -> None:
    """All disks work again, with what is on them."""
    for disk in h.disks:
        disk.faults.rows.clear()
    h.restart()


def home(h: Host) -> str:
    """Where its current log is."""
    found = h.dirs.dir_of(PARTITION)
    assert found is not None
    return found.name


def aside(h: Host) -> list[str]:
    """The disks on which one is set aside."""
    named = ((disk, parse_log_name(name)) for disk in h.disks for name in disk.names(""))
    return [disk.name for disk, it in named if it is not None and it.kind is Kind.STRAY]


@pytest.mark.parametrize("values", ["", "c"])
def test_the_earlier_log_is_set_aside(values: str) -> None:
    """It is of an assignment that was over, but nobody knows here whether the new one is whole."""
    h = host()
    comes_again(h, 7, *values)
    for _ in range(2):
        repaired(h)
        assert home(h) == "disk-1"
        assert h.dirs.dirs[1].logs[PARTITION].log_end_offset == len(values)
        assert aside(h) == ["disk-0"]


def test_of_two_that_were_new_the_later_one_is_the_current_one() -> None:
    """A second disk failed, and the replica came once more."""
    h = host(3)
    comes_again(h, 7, "c")
    h.disks[1].faults.rows.append(Fault())
    h.restart()
    comes_again(h, 12)
    repaired(h)
    assert home(h) == "disk-2"
    assert aside(h) == ["disk-0", "disk-1"]


def test_a_move_takes_the_note_along() -> None:
    """A log that was found on the third disk goes on moving while the first is offline."""
    h = Host(3)
    fill(h.dirs.get_or_create(PARTITION, NEW, NOW), "a", "b")
    driven(begin_move(h.dirs, PARTITION, "disk-2", how=KNOWN, now=NOW))
    h.disks[0].faults.rows.append(Fault())
    h.restart()
    comes_again(h, 7, "c")
    assert home(h) == "disk-1"
    move = driven(begin_move(h.dirs, PARTITION, "disk-2", how=KNOWN, now=NOW))
    assert move is not None
    driven(move.swap(NOW))
    repaired(h)
    assert home(h) == "disk-2"
    assert aside(h) == ["disk-0"]


def test_one_that_was_kept_is_older_than_one_that_was_new() -> None:
    """A move of the earlier log had failed at its end, long before."""
    h = host()
    comes_again(h, 7, "c")
    h.disks[0].faults.rows.clear()
    h.disks[0].open(f"{PARTITION}/kept-here", create=True).close()
    repaired(h)
    assert home(h) == "disk-1"


@pytest.mark.parametrize("call", range(60))
def test_a_dir_that_fails_while_it_is_settled_fails_alone(call: int) -> None:
    """The broker starts with the other one; what the failed one has is settled at a later start."""
    h = host()
    comes_again(h, 7, "c")
    h.disks = [disk.after_exit() for disk in h.disks]
    h.disks[0].faults.rows.clear()
    h.disks[0].faults.rows.append(Fault(error=errno.EIO, skip=call))
    h.start()
    assert home(h) == "disk-1"
    repaired(h)
    assert home(h) == "disk-1"
    assert aside(h) == ["disk-0"]


def test_a_note_that_makes_no_sense_takes_its_dir_away() -> None:
    """Nobody may guess which log is the newer one."""
    h = host()
    comes_again(h, 7, "c")
    h.disks[1].open(f"{PARTITION}/new-here").write([b"?"], 0)
    repaired(h)
    assert [it.name for it in h.dirs.online] == ["disk-0"]
    with pytest.raises(LogDirOffline):
        h.dirs.named("disk-1")
