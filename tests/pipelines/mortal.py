"""Processes that are killed: no cleaning up, no `finally`. Some do it at a call of their own."""

import multiprocessing
import os
import signal
from types import FrameType

processes = multiprocessing.get_context("forkserver")
"""One server forks all of them, and has imported what they need: each would for half a second."""
processes.set_forkserver_preload(
    [
        "pyiceberg.catalog.sql",
        "pyiceberg.io.pyarrow",
        "sqlalchemy.dialects.sqlite",
        "tests.pipelines.exactly_once_kills",
        "tests.pipelines.moving.archiver",
        "tests.pipelines.moving.outside_kills",
        "tests.pipelines.tables.archiver",
        "tests.pipelines.upserts.upserter",
    ]
)


class Mortal:
    """Counts calls within some files; for `sys.setprofile`."""

    def __init__(
        self, kill_at: int | None, watched: tuple[str, ...], named: str | None = None
    ) -> None:
        self.calls = 0
        self._named = named
        self._kill_at = kill_at
        self._watched = watched

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """What the interpreter calls at each call and return."""
        file = frame.f_code.co_filename
        if self._named is not None and (event != "call" or frame.f_code.co_name != self._named):
            return
        if event in {"call", "c_call"} and any(it in file for it in self._watched):
            self.calls += 1
            if self.calls == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
