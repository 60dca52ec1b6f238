"""Lines are added to a file by a thread of its own."""

import asyncio
import os
from pathlib import Path

import pytest

from odradek.runtime.doors.appended_file import AppendedFile


def test_lines_are_added_to_what_is_there(tmp_path: Path) -> None:
    """In their order, all of them by the end."""
    path = tmp_path / "audit.log"
    path.write_text("earlier\n")

    async def run() -> None:
        file = AppendedFile(str(path))
        for number in range(1_000):
            file.write(f"line {number}")
        file.close()

    asyncio.run(run())
    assert path.read_text().splitlines() == ["earlier", *(f"line {it}" for it in range(1_000))]


def test_a_file_that_was_renamed_is_made_anew(tmp_path: Path) -> None:
    """As logrotate does it; no signal is needed."""
    path, rotated = tmp_path / "audit.log", tmp_path / "audit.log.1"

    async def run() -> None:
        file = AppendedFile(str(path))
        file.write("one")
        while path.read_text() != "one\n":  # noqa: ASYNC110 - a thread writes it
            await asyncio.sleep(0)
        path.rename(rotated)
        file.write("two")
        file.close()

    asyncio.run(run())
    assert (rotated.read_text(), path.read_text()) == ("one\n", "two\n")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_opened_is_an_error_at_once(tmp_path: Path) -> None:
    """A broker that is to be audited does not start without."""

    async def run() -> None:
        AppendedFile(str(tmp_path / "nowhere" / "audit.log"))

    with pytest.raises(FileNotFoundError):
        asyncio.run(run())


def test_lines_that_cannot_be_written_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log says so, and the next lines are written."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "audit.log"

    async def run() -> None:
        file = AppendedFile(str(path))
        path.unlink()
        folder.rmdir()
        file.write("lost")
        said = ""
        while "audit.lines_lost" not in said:
            await asyncio.sleep(0)
            said += capsys.readouterr().out
        folder.mkdir()
        file.write("kept")
        file.close()

    asyncio.run(run())
    assert path.read_text() == "kept" + os.linesep
