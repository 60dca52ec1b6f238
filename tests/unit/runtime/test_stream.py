"""What a stream gathers to send, where several loops run in one process."""

import threading
from pathlib import Path

from odradek.ports import FileRange
from odradek.runtime.doors.disk import SystemDisk
from odradek.runtime.doors.stream import _gathered


def test_each_loop_reads_files_into_a_room_of_its_own(tmp_path: Path) -> None:
    """Another thread may read between the read and the call that sends it."""
    disk = SystemDisk(str(tmp_path))
    ranges = []
    for name in ("ours", "theirs"):
        (tmp_path / name).write_bytes(name[:1].encode() * 4_096)
        ranges.append(FileRange(disk.open(name), 0, 4_096))
    ours, is_all = _gathered([ranges[0]])
    assert is_all
    other = threading.Thread(target=_gathered, args=([ranges[1]],))
    other.start()
    other.join()
    assert b"".join(ours) == b"o" * 4_096
