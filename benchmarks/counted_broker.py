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
FUNCTIONS_PRINTED: Final = 40
SOURCE: Final = "/odradek/"


class Meter:
    """Calls of Python functions on all threads, and blocks of memory that are kept."""

    def __init__(self) -> None:
        self._is_on = False
        self._calls: Counter[CodeType] = Counter()
        self._built_in = 0
        self._blocks = 0

    def event(self, frame: FrameType, event: str, argument: Any) -> None:
        """As `sys.setprofile` has it."""
        del argument
        if not self._is_on:
            return
        if event == "call":
            self._calls[frame.f_code] += 1
        elif event == "c_call":
            self._built_in += 1

    def begin(self, *_: object) -> None:
        """Counts from now on."""
        gc.collect()
        self._calls.clear()
        self._built_in, self._blocks = 0, sys.getallocatedblocks()
        self._is_on = True

    def end(self, *_: object) -> None:
        """Prints one line."""
        self._is_on = False
        gc.collect()
        kept = sys.getallocatedblocks() - self._blocks - len(self._calls)
        functions = [
            (f"{code.co_filename.rpartition(SOURCE)[2]}:{code.co_qualname}", count)
            for code, count in self._calls.most_common(FUNCTIONS_PRINTED)
        ]
        said = {
            "calls": self._calls.total(),
            "built-in calls": self._built_in,
            "blocks kept": kept,
            "functions": functions,
        }
        print(PRINTED + json.dumps(said), flush=True)


if __name__ == "__main__":
    meter = Meter()
    signal.signal(signal.SIGUSR1, meter.begin)
    signal.signal(signal.SIGUSR2, meter.end)
    threading.setprofile(meter.event)
    sys.setprofile(meter.event)
    main()
