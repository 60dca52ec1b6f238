"""Which file systems commit changes of names in their order, as Linux tells it."""

from pathlib import Path

import pytest

from odradek.runtime.doors import file_systems
from odradek.runtime.doors.file_systems import commits_in_order


def mounted(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch, *, journal: bool) -> bool:
    """What is said of a directory on such a file system."""
    status = tmp_path.stat()
    number = f"{status.st_dev >> 8}:{status.st_dev & 0xFF}"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        f"22 27 0:21 / /proc rw - proc proc rw\n"
        f"27 1 {number} / / rw shared:1 - {kind} /dev/disk rw,discard\n"
    )
    device = tmp_path / "devices" / "disk1"
    device.mkdir(parents=True, exist_ok=True)
    (tmp_path / "block").mkdir(exist_ok=True)
    link = tmp_path / "block" / number
    link.unlink(missing_ok=True)
    link.symlink_to(device)
    of_ext4 = tmp_path / "ext4" / "disk1"
    of_ext4.mkdir(parents=True, exist_ok=True)
    (of_ext4 / "journal_task").unlink(missing_ok=True)
    if journal:
        (of_ext4 / "journal_task").touch()
    monkeypatch.setattr(file_systems, "MOUNTS", str(mounts))
    monkeypatch.setattr(file_systems, "DEVICES", str(tmp_path / "block"))
    monkeypatch.setattr(file_systems, "EXT4", str(tmp_path / "ext4"))
    return commits_in_order(str(tmp_path))


def test_journals_keep_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ext4's does where there is one, and XFS always has one; of others nothing is assumed."""
    assert mounted(tmp_path, "ext4", monkeypatch, journal=True)
    assert not mounted(tmp_path, "ext4", monkeypatch, journal=False)
    assert mounted(tmp_path, "xfs", monkeypatch, journal=False)
    for kind in ("btrfs", "overlay", "nfs4", "ext2", "tmpfs"):
        assert not mounted(tmp_path, kind, monkeypatch, journal=True)


def test_what_is_not_told_is_not_assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another system, another kernel, a directory that is not there."""
    assert not commits_in_order(str(tmp_path / "missing"))
    monkeypatch.setattr(file_systems, "MOUNTS", str(tmp_path / "none"))
    assert not commits_in_order(str(tmp_path))
