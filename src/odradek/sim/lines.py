"""Which lines of the pure packages ran, and which never did, whatever was simulated.

A line that no seed ever reaches is one of which the simulator proves nothing. Only lines inside of
functions count: what a module does while it is imported is no part of a run. Generated messages
are left out, for they are compiled into other code.

On Python 3.12 and later the interpreter tells of each line once; before, functions are traced
until all of their lines were seen.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

SOURCE: Final = Path(__file__).parents[1]
PURE: Final = (
    *("model", "records", "wire", "config", "storage", "replication", "metadata", "zookeeper"),
    *("controller", "coordinator"),
)
GENERATED: Final = "wire/messages/"
OPTIMISED: Final = 0x1  # CO_OPTIMIZED: its variables are slots, as in every function

Lines = Mapping[str, Iterable[int]]  # by file, relative to the source


class LinesSeen:
    """For one process: what ran since it was begun, told once."""

    def __init__(self) -> None:
        self._left = {file: functions(SOURCE / file) for file in pure_files()}
        self._names = {str(SOURCE / file): file for file in self._left}
        self._new: dict[str, set[int]] = {}

    def __enter__(self) -> None:
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            if monitoring.get_tool(monitoring.COVERAGE_ID) is None:
                monitoring.use_tool_id(monitoring.COVERAGE_ID, "odradek.sim")
            monitoring.register_callback(
                monitoring.COVERAGE_ID, monitoring.events.LINE, self._on_line
            )
            monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)
        else:
            sys.settrace(self._on_call)

    def __exit__(self, *_: object) -> None:
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, 0)
        else:
            sys.settrace(None)

    def take(self) -> dict[str, tuple[int, ...]]:
        """What ran for the first time since this was asked last."""
        new, self._new = self._new, {}
        return {file: tuple(sorted(lines)) for file, lines in sorted(new.items())}

    def _on_line(self, code: CodeType, line: int) -> object:
        file = self._names.get(code.co_filename)
        if file is not None and code.co_name != "<module>":
            self._new.setdefault(file, set()).add(line)
        return getattr(sys, "monitoring").DISABLE  # noqa: B009 - there is none before 3.12

    def _on_call(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        del event, argument
        file = self._names.get(frame.f_code.co_filename)
        if file is None:
            return None
        left = self._left[file].get(frame.f_code.co_firstlineno)
        if not left:
            return None
        new = self._new.setdefault(file, set())

        def on_line(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            del argument
            if event == "line" and frame.f_lineno in left:
                left.discard(frame.f_lineno)
                new.add(frame.f_lineno)
            return on_line

        return on_line


def pure_files() -> list[str]:
    """Every module of the pure packages that somebody has written."""
    found = (path for package in PURE for path in (SOURCE / package).rglob("*.py"))
    names = sorted(path.relative_to(SOURCE).as_posix() for path in found)
    return [name for name in names if not name.startswith(GENERATED)]


def lines_of(file: str) -> set[int]:
    """All lines of a file that a run could reach."""
    return set[int]().union(*functions(SOURCE / file).values())


def names_of(file: str) -> dict[str, set[int]]:
    """The lines of each function of a file that has a name, with those of functions in it."""
    found: dict[str, set[int]] = {}
    for code in _codes(_compiled(SOURCE / file)):
        name = code.co_qualname.partition(".<locals>")[0]
        if not name.endswith((">", "__")):
            found.setdefault(name, set()).update(_lines(code))
    return found


def never_ran(seen: Lines) -> dict[str, list[int]]:
    """The lines that are in no run, by file."""
    return {file: sorted(lines_of(file).difference(seen.get(file, ()))) for file in pure_files()}


def functions(path: Path) -> dict[int, set[int]]:
    """The lines of each function, by its first one."""
    found: dict[int, set[int]] = {}
    for code in _codes(_compiled(path)):
        found.setdefault(code.co_firstlineno, set()).update(_lines(code))
    return found


def _compiled(path: Path) -> CodeType:
    return compile(path.read_text(), str(path), "exec")


def _lines(code: CodeType) -> set[int]:
    lines = {line for _, _, line in code.co_lines() if line}
    return lines - {code.co_firstlineno}  # of the decorator, or of `def` itself


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Those of functions, wherever they are; not those of modules and classes."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & OPTIMISED:
                yield constant
            yield from _codes(constant)
