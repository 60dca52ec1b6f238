"""The file with the number of the process."""

import os
from pathlib import Path

from odradek.runtime.pid_file import pid_file


def test_the_number_stands_there_until_the_end(tmp_path: Path) -> None:
    """One that a crash left behind is replaced."""
    path = tmp_path / "odradek.pid"
    path.write_text("1\n")
    with pid_file(path):
        assert path.read_text() == f"{os.getpid()}\n"
        assert list(tmp_path.iterdir()) == [path]
    assert not path.exists()


def test_the_number_of_another_stays(tmp_path: Path) -> None:
    """A successor has written its own before we had ended."""
    path = tmp_path / "odradek.pid"
    with pid_file(path):
        path.write_text("1\n")
    assert path.read_text() == "1\n"
