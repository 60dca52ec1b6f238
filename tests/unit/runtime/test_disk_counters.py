"""The counters of the device that holds a directory."""

import sys
from pathlib import Path

import pytest

from odradek.runtime.doors import disk_counters as subject
from odradek.runtime.doors.disk_counters import disk_counters


def test_they_are_read_as_the_kernel_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads, writes and flushes; errors of the device and of its file system."""
    number = tmp_path.stat().st_dev
    device = tmp_path / f"{number >> 8 & 0xFFF}:{number & 0xFF | number >> 12 & 0xFFF00}"
    (device / "device").mkdir(parents=True)
    (device / "stat").write_text(" 10 0 0 5 20 0 0 40 0 99 99 7 0 0 9 3 6\n")
    (device / "device" / "ioerr_cnt").write_text("0x2\n")
    (tmp_path / device.name).mkdir(exist_ok=True)
    (tmp_path / device.name / "errors_count").write_text("1\n")
    monkeypatch.setattr(subject, "BLOCK", tmp_path)
    monkeypatch.setattr(subject, "EXT4", tmp_path)
    assert disk_counters(str(tmp_path)) == (33, 51, 3)
    (device / "stat").unlink()
    assert disk_counters(str(tmp_path)) is None


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts them")
def test_no_file_system_is_refused() -> None:
    """Some are on no device."""
    assert disk_counters("/proc") is None
