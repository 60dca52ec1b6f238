"""A log dir is to be dropped from the settings: whether the others have room."""

import os
from pathlib import Path

import pytest

from odradek.config.broker import Layers, read
from odradek.config.findings import Given, Severity
from odradek.runtime.dropped_dirs import examine_dropped


def found(directory: Path, *dropped: str, dirs: str = "a,b") -> list[tuple[Severity, str]]:
    """What is said of a broker with these log dirs."""
    said = ",".join(str(directory / it) for it in dirs.split(","))
    config, _ = read(Layers(static={"log.dirs": Given(said, "here")}))
    gone = [str(directory / it) for it in dropped]
    return [(it.severity, it.sentence) for it in examine_dropped(config, gone)]


def filled(directory: Path, size: int) -> None:
    """A log dir with a log; the file takes no room, but has its size."""
    log = directory / "b" / "orders-0"
    log.mkdir(parents=True)
    with (log / f"{0:020}.log").open("wb") as file:
        file.truncate(size)


@pytest.mark.parametrize("dirs", ["a,b", "a"])
def test_the_rest_has_room(tmp_path: Path, dirs: str) -> None:
    """Whether the settings still name the dir or no longer."""
    filled(tmp_path, 3 << 30)
    ((severity, sentence),) = found(tmp_path, "b", dirs=dirs)
    assert severity is Severity.NOTE
    assert "3.0 GiB are to be made anew" in sentence


def test_the_rest_has_no_room(tmp_path: Path) -> None:
    """It is an error: the broker would fill its disks."""
    space = os.statvfs(tmp_path)
    filled(tmp_path, min(2 * space.f_bavail * space.f_frsize, 8 << 40))
    ((severity, sentence),) = found(tmp_path, "b")
    assert severity is Severity.ERROR
    assert "too little" in sentence


def test_what_cannot_be_dropped(tmp_path: Path) -> None:
    """The last one; and of one that cannot be read nothing is known."""
    assert found(tmp_path, "a", "b") == [(Severity.ERROR, "log.dirs: no log dir is left")]
    (severity, sentence), (_, compared) = found(tmp_path, "b")
    assert severity is Severity.WARNING
    assert "odradek logdirs list" in sentence
    assert "more than 0.0 GiB, how much is not known, are to be made anew; " in compared
