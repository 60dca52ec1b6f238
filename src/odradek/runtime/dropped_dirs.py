"""Whether the log dirs that stay have room for what lies in those that are to be dropped.

At the next start the replicas of a dropped dir are made anew on the others, by their number and not
by their size. Nothing is changed here, and nothing is ever deleted from the dropped dir.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from odradek.config.broker import BrokerConfig
from odradek.config.derived import log_dirs
from odradek.config.findings import Finding, Severity
from odradek.config.rows import log

GIB: Final = 1 << 30


def examine_dropped(config: BrokerConfig, dropped: Collection[str]) -> Iterator[Finding]:
    """What speaks against a start without these."""
    gone = {os.path.realpath(it) for it in dropped}
    left = [it for it in log_dirs(config) if os.path.realpath(it) not in gone]
    if not left:
        yield _finding(Severity.ERROR, "no log dir is left")
        return
    need, all_are_known = 0, True
    for directory in dropped:
        try:
            need += size_of(Path(directory))
        except OSError as error:
            all_are_known = False
            yield _finding(
                Severity.WARNING,
                f"{directory} cannot be read ({error.strerror}): `odradek logdirs list` shows how "
                "much brokers with the same replicas hold",
            )
    known = _gib(need)
    what = known if all_are_known else f"more than {known}, how much is not known,"
    yield from _compared(need, left, f"{what} are to be made anew")


def _compared(need: int, left: Sequence[str], what: str) -> Iterator[Finding]:
    try:
        free = {it: _free(Path(it)) for it in left}
    except OSError as error:
        yield _finding(Severity.ERROR, f"{error.filename} cannot be read: {error.strerror}")
        return
    disks = dict(free.values())  # dirs of one file system share what is free
    total, share = sum(disks.values()), need // len(left)
    text = f"{what}; the log dirs that stay have {_gib(total)} free"
    tight = [it for it, (disk, room) in free.items() if room < share * _dirs_on(disk, free)]
    if need > total:
        yield _finding(Severity.ERROR, f"{text}: that is too little")
    elif tight:
        yield _finding(
            Severity.WARNING,
            f"{text}, but {', '.join(tight)} less than its share: replicas are spread by number",
        )
    else:
        yield _finding(Severity.NOTE, text)


def size_of(directory: Path) -> int:
    """Bytes of the files below it; what goes away meanwhile does not count."""
    size = 0
    for entry in directory.iterdir():
        try:
            size += size_of(entry) if entry.is_dir() else entry.stat().st_size
        except FileNotFoundError:
            continue
    return size


def _free(directory: Path) -> tuple[int, int]:
    """Which file system it is on, or will be made on, and what an ordinary user may take there."""
    there = next(it for it in (directory, *directory.absolute().parents) if it.exists())
    space = os.statvfs(there)
    return there.stat().st_dev, space.f_bavail * space.f_frsize


def _dirs_on(disk: int, free: dict[str, tuple[int, int]]) -> int:
    return sum(other == disk for other, _ in free.values())


def _gib(size: int) -> str:
    return f"{size / GIB:,.1f} GiB"


def _finding(severity: Severity, sentence: str) -> Finding:
    name = log.LOG_DIRS.name
    return Finding(severity, (name,), f"{name}: {sentence}")
