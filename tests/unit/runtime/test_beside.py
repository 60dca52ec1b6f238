"""The thread beside a disk, and the end of a process."""

import subprocess
import sys
import weakref
from pathlib import Path
from threading import Event

from odradek.runtime.doors.disk import SystemDisk, SystemFile

LEAVES_A_FILE = """
import gc, sys
from threading import Thread, get_ident
from odradek.runtime.doors.disk import SystemDisk, SystemFile

class Box:
    pass

def leave_a_file():
    box = Box()
    box.itself, box.file = box, disk.open("file", create=True)

gc.disable()
disk = SystemDisk(sys.argv[1], get_ident())
other = Thread(target=leave_a_file)
other.start()
other.join()
"""


def test_a_file_that_is_collected_at_the_very_end_does_not_hold_up_the_process(
    tmp_path: Path,
) -> None:
    """No thread can begin then: whoever tried would wait for it for ever."""
    command = [sys.executable, "-c", LEAVES_A_FILE, str(tmp_path)]
    subprocess.run(command, check=True, timeout=30)
    assert (tmp_path / "file").exists()


class Reader:
    """Hears of a read."""

    def __call__(self, data: bytes, error: OSError | None) -> None:
        """On the thread of the disk."""


def test_a_read_that_has_ended_keeps_nothing(tmp_path: Path) -> None:
    """Not until the next call, which may never come: the last file of a disk would stay open."""
    disk, gone = SystemDisk(str(tmp_path)), Event()
    file = disk.open("file", create=True)
    assert isinstance(file, SystemFile)
    reader = Reader()
    weakref.finalize(reader, gone.set)
    file.read_beside(1, 0, reader)
    del reader, file
    assert gone.wait(10)
    disk.close()
