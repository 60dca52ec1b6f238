"""`odradek`, counting what its Python does: SIGUSR1 begins, SIGUSR2 ends and prints it.

In place of `python -m odradek`: `python benchmarks/counted_broker.py serve FILE`.
"""

import gc
import json
import signal
import sys
import threading
from collections import Counter
from types import CodeType, FrameType
from typing import Any, Final

from odradek.cli.root import main

PRINTED: Final = "counted "
FUNCTIONS_PRINTED: Final = 400
SOURCE: Final = "/odradek/"


class Meter:
    """Calls of Python functions on all threads, and blocks of memory that are kept."""

    def __init__(self) -> None:
        self._is_on = False
        self._calls: Counter[CodeType] = Counter()
        self._built_in: Counter[str] = Counter()
        self._blocks = 0

    def event(self, frame: FrameType, event: str, argument: Any) -> None:
        """As `sys.setprofile` has it."""
        if not self._is_on:
            return
        if event == "call":
            self._calls[frame.f_code] += 1
        elif event == "c_call":
            self._built_in[argument.__qualname__] += 1

    def begin(self, *_: object) -> None:
        """Counts from now on."""
        gc.collect()
        self._calls.clear()
        self._built_in.clear()
        self._blocks = sys.getallocatedblocks()
        self._is_on = True

    def end(self, *_: object) -> None:
        """Prints one line."""
        self._is_on = False
        gc.collect()
        counted = len(self._calls) + len(self._built_in)
        kept = sys.getallocatedblocks() - self._blocks - counted
        functions = Counter({_place(code): count for code, count in self._calls.items()})
        functions.update(self._built_in)
        said = {
            "calls": self._calls.total(),
            "built-in calls": self._built_in.total(),
            "blocks kept": kept,
            "functions": functions.most_common(FUNCTIONS_PRINTED),
        }
        print(PRINTED + json.dumps(said), flush=True)


def _place(code: CodeType) -> str:
    return f"{code.co_filename.rpartition(SOURCE)[2]}:{code.co_qualname}"


if __name__ == "__main__":
    meter = Meter()
    signal.signal(signal.SIGUSR1, meter.begin)
    signal.signal(signal.SIGUSR2, meter.end)
    threading.setprofile(meter.event)
    sys.setprofile(meter.event)
    main()
