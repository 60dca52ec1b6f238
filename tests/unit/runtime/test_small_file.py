"""Files that settings name: read if they are files, and small ones."""

import os
from pathlib import Path

import pytest

from odradek.runtime.doors.small_file import BYTES_MAX, read_small_file


def test_a_file_and_a_link_to_it(tmp_path: Path) -> None:
    """Secrets of Kubernetes are links."""
    (tmp_path / "store").write_bytes(b"a" * 100_000)
    (tmp_path / "link").symlink_to("store")
    assert read_small_file(str(tmp_path / "link")) == b"a" * 100_000


def test_what_never_ends_or_never_begins(tmp_path: Path) -> None:
    """A device, a pipe that nobody writes to, and a directory are not read."""
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", str(tmp_path / "pipe"), str(tmp_path)):
        with pytest.raises(OSError, match="it is no regular file"):
            read_small_file(path)
    with pytest.raises(FileNotFoundError):
        read_small_file(str(tmp_path / "missing"))


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    """It may have holes: as many bytes as one asks for."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(BYTES_MAX)
    assert len(read_small_file(str(tmp_path / "large"))) == BYTES_MAX
    with (tmp_path / "large").open("ab") as file:
        file.write(b"a")
    with pytest.raises(OSError, match="larger than 16777216 bytes"):
        read_small_file(str(tmp_path / "large"))
