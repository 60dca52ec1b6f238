"""Simulated code that touches the real world is stopped at once, with the line that did it.

Two nets. The entry points of the standard library that answer without asking the system (clocks,
randomness) are replaced while a world runs. What the system is asked for (files, sockets, threads,
processes) is seen by an audit hook, which Python cannot remove again: it looks at one variable
when no world runs. Imports are let through: a module read for the first time is no fact of the
world.
"""

import linecache
import os
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from odradek.sim.loop import Forbidden

PLACES: Final[tuple[tuple[Any, str], ...]] = (
    (os, "urandom getrandom"),
    (random, "_urandom choice choices getrandbits randbytes randint random randrange sample seed"),
    (random, "shuffle uniform"),
    (threading, "_start_joinable_thread _start_new_thread"),
    (time, "monotonic monotonic_ns perf_counter perf_counter_ns process_time sleep time time_ns"),
    (uuid, "uuid1 uuid4"),
)
AUDITED: Final = frozenset(
    {
        "open",
        "os.fork",
        "os.listdir",
        "os.mkdir",
        "os.posix_spawn",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.scandir",
        "os.system",
        "os.truncate",
        "socket.__new__",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "sqlite3.connect",
        "subprocess.Popen",
    }
)
READING_SOURCE: Final = ("<frozen importlib", "<frozen zipimport", linecache.__file__)
"""Code that opens files for Python itself: to import a module, to print a traceback."""

_watched: set[int] = set()  # threads on which a world runs
_hooked = False


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched and event in AUDITED and threading.get_ident() in _watched and not _reads_source():
        raise Forbidden(f"{event}{arguments[:2]} {_line()}")


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - cheaper than a traceback
    while frame is not None:
        yield frame
        frame = frame.f_back


def _reads_source() -> bool:
    return any(frame.f_code.co_filename.startswith(READING_SOURCE) for frame in _frames())


def _line() -> str:
    """Where it was asked for: the innermost line that is not the guard's own."""
    frame = next(frame for frame in _frames() if frame.f_code.co_filename != __file__)
    return f"at {frame.f_code.co_filename}:{frame.f_lineno}: the world comes through odradek.ports"


def _refusal(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    """Refuses on the threads of worlds; elsewhere nothing has changed."""

    def refuse(*arguments: Any, **options: Any) -> Any:
        if threading.get_ident() in _watched:
            raise Forbidden(f"{name} {_line()}")
        return real(*arguments, **options)

    return refuse


class Guard:
    """Stands watch inside its `with`."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        global _hooked  # noqa: PLW0603 - a hook is for the whole process, and for ever
        if not _hooked:
            sys.addaudithook(_audit)
            _hooked = True
        for module, names in PLACES:
            for name in names.split():
                real = getattr(module, name, None)
                if real is not None:
                    self._replaced.append((module, name, real))
                    setattr(module, name, _refusal(f"{module.__name__}.{name}", real))
        _watched.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        _watched.discard(threading.get_ident())
        while self._replaced:
            module, name, real = self._replaced.pop()
            setattr(module, name, real)
