"""Calls of the command side by side, each in a fork of a process that has imported everything.

ended = side_by_side([["topic", "list"], ["broker", "list"]], environment)

A call that has not ended in `PATIENCE_SECONDS` is ended by SIGALRM, whatever it is doing.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, NoReturn

from tests.external import tools
from tests.external.zookeeper import die_with_parent

PATIENCE_SECONDS: Final = 40
AT_ONCE: Final = 20
COLUMNS: Final = 80


class Ended(NamedTuple):
    """How one ended; its code is negative if a signal ended it."""

    call: tuple[str, ...]
    code: int
    out: str
    err: str


def side_by_side(
    calls: Sequence[Sequence[str]],
    environment: Mapping[str, str],
    *,
    on_a_terminal: bool = False,
) -> list[Ended]:
    """In the order of the calls. On a terminal of 80 columns all that is said is in `out`."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.compat.calls", *["terminal"] * on_a_terminal],
        input=json.dumps([list(it) for it in calls]),
        capture_output=True,
        text=True,
        check=False,
        cwd=tools.ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        preexec_fn=die_with_parent,
    )
    assert ran.returncode == 0, ran.stderr
    return [Ended(tuple(call), *found) for call, *found in json.loads(ran.stdout)]


def _run_all(calls: Sequence[Sequence[str]], folder: Path, *, on_a_terminal: bool) -> list[object]:
    waiting = list(enumerate(calls))
    running: dict[int, int] = {}
    codes: dict[int, int] = {}
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            number, call = waiting.pop(0)
            pid = os.fork()
            if not pid:
                said = folder / str(number)
                for name in ("out", "err"):
                    said.with_suffix(f".{name}").touch()
                if on_a_terminal:
                    _watch(call, said.with_suffix(".out"))
                _be_with_files(call, said)
            running[pid] = number
        pid, status = os.wait()
        codes[running.pop(pid)] = os.waitstatus_to_exitcode(status)
    return [
        [call, codes[it], *((folder / f"{it}.{name}").read_text() for name in ("out", "err"))]
        for it, call in enumerate(calls)
    ]


def _be_with_files(call: Sequence[str], said: Path) -> NoReturn:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(said.with_suffix(f".{name}"), os.O_WRONLY), number)
    _be(call)


def _watch(call: Sequence[str], said: Path) -> NoReturn:
    """A terminal for one more fork, whose end becomes this process's own."""
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        _be(call)
    with said.open("wb") as file, suppress(OSError):  # the terminal's end on Linux
        while data := os.read(terminal, 65_536):
            file.write(data.replace(b"\r\n", b"\n"))
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)


def _be(call: Sequence[str]) -> NoReturn:
    """The command, from its first line to its last."""
    from odradek.cli import main

    code: object = 1
    try:
        signal.alarm(PATIENCE_SECONDS)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)))
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w")))
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w")), line_buffering=True)
        sys.argv = ["odradek", *call]
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - it would be Python's own end
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 1)


def _main() -> None:
    import odradek.cli.reaching.talking  # noqa: F401 - no fork imports it again
    from tests.unit.cli.test_every_verb import VERBS

    assert VERBS
    with TemporaryDirectory() as folder:
        on_a_terminal = sys.argv[1:] == ["terminal"]
        found = _run_all(json.load(sys.stdin), Path(folder), on_a_terminal=on_a_terminal)
        json.dump(found, sys.stdout)


if __name__ == "__main__":
    _main()
