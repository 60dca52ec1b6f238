"""The thread beside a disk, and the end of a process."""

import subprocess
import sys
from pathlib import Path

LEAVES_A_FILE = """
import gc, sys
from threading import Thread, get_ident
from odradek.runtime.disk import SystemDisk

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
