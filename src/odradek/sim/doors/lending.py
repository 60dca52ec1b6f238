"""Whose code runs, the loop's or a job's, and whether it may touch what it touches.

What `odradek.storage.lending` says is watched here while a world runs: each look at the segments,
producers or epochs of a log, and at the tables of a log dir, by anybody but its holder, raises. No
thread need be interrupted at the wrong moment for that.

A log that a job makes is that job's until it has ended.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from odradek.ports import Job
from odradek.storage.dirs.dir_checkpoints import DirCheckpoints
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.lending import ANYBODY, Holders, Lent, give_back
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import ReadableLog

WATCHED: Final[tuple[tuple[type, str], ...]] = (
    (ReadableLog, "segments"),
    (ReadableLog, "producers"),
    (PartitionLog, "epochs"),
    (DirCheckpoints, "logs"),
    (DirCheckpoints, "contested"),
    (DirCheckpoints, "arriving"),
    (DirCheckpoints, "left_behind"),
    (LogDir, "futures"),
)
WORLDS: Final = __file__.replace("doors/lending.py", "worlds")
MISTAKES: Final = "mistakes"
"""Behind the names of those files of worlds whose functions stand in the place of the product's."""


class Trespass(AssertionError):
    """Code has touched what another has for itself at this moment."""


class Turn:
    """One job's time on its thread, in one piece or in several."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.made: list[Lent] = []

    def __enter__(self) -> None:
        global _turn  # noqa: PLW0603 - there is one processor
        assert _turn is None, "jobs run one at a time"
        _turn = self

    def __exit__(self, *_: object) -> None:
        global _turn  # noqa: PLW0603
        _turn = None

    def end(self) -> None:
        """What the job has made is the loop's now."""
        give_back(self.made, self.job)


def the_loop_runs() -> bool:
    """Whether it is the loop's code that runs now: no job's, no judge's, no test's."""
    if _turn is not None or _onlookers:
        return False
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - this is rare
    while frame is not None and frame.f_code.co_name != "_run_handles":
        if _is_of_a_world(frame):
            return False
        frame = frame.f_back
    return frame is not None


@contextmanager
def looking_on() -> Iterator[None]:
    """Inside, a test looks at a disk, or does something to it, that is no broker's doing."""
    global _onlookers  # noqa: PLW0603
    _onlookers += 1
    try:
        yield
    finally:
        _onlookers -= 1


_turn: Turn | None = None  # whose code runs now; None: the loop's
_worlds = 0
_onlookers = 0


def _watching(kind: type, name: str) -> property:
    """An attribute that looks who touches it, in place of what stands there.

    As a rule the loop touches what was not lent, tens of thousands of times in a run, so that
    is told first.
    """
    slot: Any = kind.__dict__.get(name)  # None: it is in the dictionary of its owner

    def value(thing: Any) -> Any:
        return thing.__dict__[name] if slot is None else slot.__get__(thing)

    def get(thing: Any) -> Any:
        if _turn is not None or thing.lent_to is not None:
            _look(thing, name)
        return value(thing)

    def put(thing: Any, new: Any) -> None:
        if _turn is not None and thing.lent_to is None and not has(thing):
            thing.lent_to = (_turn.job,)
            _turn.made.append(thing)
        _look(thing, name)
        if slot is None:
            thing.__dict__[name] = new
        else:
            slot.__set__(thing, new)

    def has(thing: Any) -> bool:
        try:
            value(thing)
        except (AttributeError, KeyError):
            return False
        return True

    return property(get, put)


def _look(thing: Any, name: str) -> None:
    """Raises where it is neither its holder nor a judge that touches it."""
    holders: Holders | None = thing.lent_to
    if holders is None:
        is_right = _turn is None
    else:
        is_right = holders is ANYBODY or (_turn is not None and _turn.job in holders)
    if not is_right and not _is_judge():
        who = "the loop" if _turn is None else repr(_turn.job)
        whose = "the loop" if holders is None else repr(holders)
        raise Trespass(f"{name} of {thing}: {who} touches what {whose} has")


def _is_judge() -> bool:
    """Whether a world looks on, as it does when power is lost in the middle of a job."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - this is rare
    while frame is not None and frame.f_code.co_name != "_run_handles":
        if _is_of_a_world(frame):
            return True
        frame = frame.f_back
    return False


def _is_of_a_world(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return name.startswith(WORLDS) and MISTAKES not in name[len(WORLDS) :]


@contextmanager
def watched() -> Iterator[None]:
    """Inside, every touch is looked at."""
    global _worlds  # noqa: PLW0603
    _worlds += 1
    if _worlds == 1:
        slots = [(kind, name, kind.__dict__.get(name)) for kind, name in WATCHED]
        for kind, name, _ in slots:
            setattr(kind, name, _watching(kind, name))
        _replaced.extend(slots)
    try:
        yield
    finally:
        _worlds -= 1
        if not _worlds:
            while _replaced:
                kind, name, slot = _replaced.pop()
                if slot is None:
                    delattr(kind, name)
                else:
                    setattr(kind, name, slot)


_replaced: list[tuple[type, str, Any]] = []
