"""What the product logs while it is simulated becomes part of the history, instead of output.

A line with a trace is a mistake of ours, which the product survives. A world does not.
"""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Final

import structlog

from odradek.sim.doors.loop import SimulatedLoop
from odradek.sim.history import History
from odradek.sim.stage.machine import MachineLife

PRINTED: Final = (int, str, bytes, float, tuple, type(None))
"""Values that print alike in every run; others may show an address of memory."""


@contextmanager
def logs_in(history: History, loop: SimulatedLoop) -> Iterator[None]:
    """Inside, every line is an event of the machine whose code logs it."""

    def note(_: Any, level: str, line: MutableMapping[str, Any]) -> str:
        life = loop.current
        who = life.name if isinstance(life, MachineLife) else "world"
        event = line.pop("event")
        fields = [f"{key}={line[key]}" for key in sorted(line) if isinstance(line[key], PRINTED)]
        history.note(who, "log", level, event, *fields)
        if isinstance(mistake := line.get("exc_info"), BaseException):
            loop.fail(mistake)
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[note], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
