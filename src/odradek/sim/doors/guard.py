"""Simulated code that touches the real world is stopped at once, with the line that did it.

Two nets. The entry points of the standard library that answer without asking the system, or without
Python being told (clocks, randomness, the state of files), are replaced while a world runs: in the
library, and in each module of ours that has taken one by name. What the system is asked for (files,
sockets, threads, processes) is seen by an audit hook, which Python cannot remove again: it looks at
one variable when no world runs. Imports are let through: a module read for the first time is no
fact of the world.
"""

import asyncio
import asyncio.events
import datetime as dt
import linecache
import os
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from odradek.sim.doors.loop import Forbidden

PLACES: Final[tuple[tuple[Any, str], ...]] = (
    (asyncio, "new_event_loop"),
    (asyncio.events, "new_event_loop"),
    (os, "access getrandom lstat stat statvfs urandom"),
    (random, "_urandom betavariate binomialvariate choice choices expovariate gammavariate gauss"),
    (random, "getrandbits lognormvariate normalvariate paretovariate randbytes randint random"),
    (random, "randrange sample seed shuffle triangular uniform vonmisesvariate weibullvariate"),
    (threading, "_start_joinable_thread _start_new_thread"),
    (time, "clock_gettime clock_gettime_ns ctime gmtime localtime monotonic monotonic_ns"),
    (time, "perf_counter perf_counter_ns process_time process_time_ns sleep thread_time"),
    (time, "thread_time_ns time time_ns"),
    (uuid, "uuid1 uuid4"),
)
AUDITED: Final = frozenset(
    {
        *("_thread.start_joinable_thread", "_thread.start_new_thread", "fcntl.flock"),
        *("fcntl.lockf", "mmap.__new__", "open", "os.chdir", "os.chmod", "os.chown", "os.exec"),
        *("os.fork", "os.forkpty", "os.kill", "os.killpg", "os.link", "os.listdir", "os.lockf"),
        *("os.mkdir", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.scandir"),
        *("os.spawn", "os.symlink", "os.system", "os.truncate", "os.utime"),
        *("socket.__new__", "socket.bind", "socket.connect", "socket.getaddrinfo"),
        *("socket.gethostbyaddr", "socket.gethostbyname", "socket.gethostname"),
        *("socket.getnameinfo", "socket.sendmsg", "socket.sendto", "sqlite3.connect"),
        "subprocess.Popen",
    }
)
LIBRARY: Final = str(os.__file__).removesuffix("os.py")
OURS: Final = ("odradek.", "odradek_")
READING_SOURCE: Final = ("<frozen importlib", "<frozen zipimport", linecache.__file__)
"""Code that opens files for Python itself: to import a module, to print a traceback."""
STRAND: Final = __file__.replace("guard.py", "strand.py")
"""Its threads run only while the world waits for them."""
LET_THROUGH: Final = (*READING_SOURCE, STRAND)

_watched: set[int] = set()  # threads on which a world runs
_hooked = False


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if (
        _watched
        and event in AUDITED
        and threading.get_ident() in _watched
        and not _is_let_through()
    ):
        raise Forbidden(f"{event}{arguments[:2]} {_line()}")


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - cheaper than a traceback
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_let_through() -> bool:
    for frame in _frames():
        name = frame.f_code.co_filename
        if name.startswith(LET_THROUGH):
            return name != STRAND or frame.f_code.co_name == "go_on"
    return False


@contextmanager
def watched() -> Iterator[None]:
    """This thread is one of a world while it is in here."""
    _watched.add(threading.get_ident())
    try:
        yield
    finally:
        _watched.discard(threading.get_ident())


def _line() -> str:
    """Where it was asked for: the innermost line that is neither the guard's nor the library's."""
    frames = [frame for frame in _frames() if frame.f_code.co_filename != __file__]
    ours = (frame for frame in frames if not frame.f_code.co_filename.startswith(LIBRARY))
    frame = next(ours, frames[0])
    return f"at {frame.f_code.co_filename}:{frame.f_lineno}: the world comes through odradek.ports"


def _refuse(name: str) -> None:
    """On the threads of worlds; elsewhere nothing has changed."""
    if threading.get_ident() in _watched and not _is_let_through():
        raise Forbidden(f"{name} {_line()}")


def _refusal(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        _refuse(name)
        return real(*arguments, **options)

    return refuse


class _LooksReal(type):
    """Of a class that stands in for one of the library: whatever is one of those is one of it."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__bases__[0])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__bases__[0])


class _Datetime(dt.datetime, metaclass=_LooksReal):
    """Its clock cannot be replaced alone: it belongs to a class that is not Python's code."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        """Today and the time of day."""
        _refuse("datetime.now")
        return super().now(tz)

    @classmethod
    def utcnow(cls) -> Any:
        """The same, elsewhere."""
        _refuse("datetime.utcnow")
        return dt.datetime.now(dt.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        """The same, by another name."""
        _refuse("datetime.today")
        return super().today()


class _Date(dt.date, metaclass=_LooksReal):
    """As the one above."""

    @classmethod
    def today(cls) -> Any:
        """Today."""
        _refuse("date.today")
        return super().today()


class _Random(random.Random):
    """Without a seed it would ask the system for one."""

    def __init__(self, x: Any = None) -> None:
        if x is None:
            _refuse("random.Random without a seed")
        super().__init__(x)


CLASSES: Final = ((dt, "datetime", _Datetime), (dt, "date", _Date))


Names = dict[str, Any]
"""What a module has under its names, or is to have under some."""


class Guard:
    """Stands watch inside its `with`."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Names, Names]] = []

    def __enter__(self) -> None:
        global _hooked  # noqa: PLW0603 - a hook is for the whole process, and for ever
        if not _hooked:
            sys.addaudithook(_audit)
            _hooked = True
        for module, stand_ins in _stand_ins.now():
            self._replaced.append((module, {name: module[name] for name in stand_ins}))
            module.update(stand_ins)
        _watched.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        _watched.discard(threading.get_ident())
        while self._replaced:
            module, real = self._replaced.pop()
            module.update(real)


def _of_library() -> Iterator[tuple[Any, str, Any, Any]]:
    for module, names in PLACES:
        for name in names.split():
            real = getattr(module, name, None)
            if real is not None:
                yield module, name, real, _refusal(f"{module.__name__}.{name}", real)
    for module, name, stand_in in (*CLASSES, (random, "Random", _Random)):
        yield module, name, getattr(module, name), stand_in


class _StandIns:
    """What stands in, and where: found once, as a story lets time pass ten thousand times."""

    def __init__(self) -> None:
        library = list(_of_library())
        self._of = {id(real): (real, stand_in) for _, _, real, stand_in in library}
        self._all: list[tuple[Names, Names]] = [
            (vars(module), {name: new for at, name, _, new in library if at is module})
            for module in {id(at): at for at, *_ in library}.values()
        ]
        self._looked_at: set[str] = set()  # modules of ours
        self._seen: tuple[int, str] | None = None

    def now(self) -> list[tuple[Names, Names]]:
        """Modules are in the order in which they were imported: the last one is the newest."""
        seen = len(sys.modules), next(reversed(sys.modules))
        if self._seen != seen:
            self._seen = seen
            names = [it for it in sys.modules if it.startswith(OURS) and it not in self._looked_at]
            for name in names:
                self._looked_at.add(name)
                module = vars(sys.modules[name])
                if taken := dict(self._taken_by_name(module)):
                    self._all.append((module, taken))
        return self._all

    def _taken_by_name(self, module: Names) -> Iterator[tuple[str, Any]]:
        """`from time import monotonic` in a module of ours, which is looked at once."""
        for name, value in module.items():
            real, stand_in = self._of.get(id(value), (None, None))
            if stand_in is not None and real is value:
                yield name, stand_in


_stand_ins: Final = _StandIns()
