"""Processes of Spark's that are killed in an order that a test says: the driver, and its workers.

Spark starts this module as the daemon that forks its Python workers (`spark.python.daemon.module`).
"""

import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

FOLDER: Final = "ODRADEK_DEATHS"
DRIVER: Final = "ODRADEK_DRIVER"
MODULE: Final = "tests.pipelines.doomed"
WATCHED: Final = re.compile(
    r"odradek/pipelines/(exactly_once|sink/)|exactly_once_kills"
    r"|odradek/client/(blocking_(transactional_)?producer|transaction_requests)"
)
WORKER_DIES: Final = "worker"
DRIVER_DIES: Final = "driver"
DRIVER_DIES_UNDER_A_TASK: Final = "task"


class Death(NamedTuple):
    """Who dies, and when: at so many calls in the watched files, or of a function in them."""

    who: str
    function: str  # empty: any
    calls: int


def doom(folder: Path, deaths: Sequence[Death]) -> None:
    """A life's deaths, one behind the other: each is a file until it is died."""
    folder.mkdir(exist_ok=True)
    for number, death in enumerate(deaths):
        (folder / "-".join(map(str, (number, *death)))).touch()


class Doomed:
    """What dies in one process, for `sys.setprofile`."""

    def __init__(self, folder: Path, *whos: str) -> None:
        self._folder = folder
        self._whos = whos
        self._calls: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """What the interpreter calls at each call and return."""
        if event != "call" or not WATCHED.search(frame.f_code.co_filename):
            return
        left = sorted(self._folder.iterdir())
        if not left:
            return
        _, who, function, calls = left[0].name.split("-")
        if who not in self._whos:
            return
        self._calls.update({"", frame.f_code.co_name})
        if function in {"", frame.f_code.co_name} and self._calls[function] >= int(calls):
            self._die(left[0], who)

    @staticmethod
    def _die(death: Path, who: str) -> None:
        try:
            death.unlink()
        except FileNotFoundError:  # another worker was faster
            return
        doomed = os.environ[DRIVER] if who == DRIVER_DIES_UNDER_A_TASK else os.getpid()
        os.kill(int(doomed), signal.SIGKILL)


if __name__ == "__main__":
    from pyspark.daemon import manager

    sys.setprofile(Doomed(Path(os.environ[FOLDER]), WORKER_DIES, DRIVER_DIES_UNDER_A_TASK))
    manager()
