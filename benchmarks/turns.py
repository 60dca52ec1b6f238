"""`odradek`, with a meter of its loop's turns: the CPU time of each, without the scheduler's part.

A timer of the loop looks at the CPU clock of its thread, which stands still while others run on the
core. What passed between two looks is one turn, and at most `LOOK_SECONDS` of others: no turn was
longer than what is told. Turns above `LONG_MS` go to the log. In place of `python -m odradek`:
`python benchmarks/turns.py serve FILE`.
"""

import asyncio
import re
import sys
import threading
from collections.abc import Coroutine
from time import sleep, thread_time
from traceback import extract_stack
from typing import Any, Final

from odradek.cli.root import main
from odradek.runtime import loop

LOOK_SECONDS: Final = 0.002
LONG_MS: Final = 15
TOLD: Final = re.compile(r"^turn of ([\d.]+) ms", re.MULTILINE)


def longest(log: str) -> float:
    """Milliseconds of the longest turn that this part of a log tells of."""
    return max(map(float, TOLD.findall(log)), default=0.0)


class Meter:
    """Of the loop of this thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._looked_at = thread_time()
        self._looks = 0
        self._thread = threading.get_ident()
        self._doing = ""

    def look(self) -> None:
        """What the thread has computed since the last one."""
        now = thread_time()
        millis = (now - self._looked_at) * 1_000
        if millis > LONG_MS:
            print(f"turn of {millis:.1f} ms: {self._doing}", flush=True)
        self._looked_at, self._looks, self._doing = now, self._looks + 1, ""
        self._loop.call_later(LOOK_SECONDS, self.look)

    def watch(self) -> None:
        """From a thread of its own: where the loop is when it has not looked for some time."""
        while True:
            seen = self._looks
            sleep(LONG_MS / 1_000)
            frame = sys._current_frames().get(self._thread)  # noqa: SLF001
            if seen == self._looks and frame is not None:
                lines = [f"{it.filename[-40:]}:{it.lineno}" for it in extract_stack(frame)[-4:]]
                self._doing = " < ".join(reversed(lines))


async def _measured(work: Coroutine[Any, Any, Any]) -> Any:
    meter = Meter()
    meter.look()
    threading.Thread(target=meter.watch, daemon=True).start()
    return await work


if __name__ == "__main__":
    watched = loop._watched  # noqa: SLF001
    loop._watched = lambda work: watched(_measured(work))  # noqa: SLF001
    main()
