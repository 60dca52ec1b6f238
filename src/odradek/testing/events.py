"""Where the events of brokers in a test's process go: nowhere that the test would see.

structlog's configuration is the process's, and may be the test's own. So it is left alone: while
clusters run, the loggers of this package's modules are others. What is a warning or worse is kept,
for who wants to know why a test failed.
"""

import logging
import sys
import threading
from collections import deque
from typing import Any, ClassVar, Final

import structlog

PACKAGE: Final = "odradek."
KEPT: Final = 200


class Events:
    """Made with a cluster and closed with it."""

    recent: ClassVar[deque[str]] = deque(maxlen=KEPT)
    _clusters: ClassVar[int] = 0
    _former: ClassVar[dict[str, Any]] = {}
    _changes: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        with Events._changes:
            if not Events._clusters:
                Events.recent.clear()
            Events._clusters += 1
            for name, module in list(sys.modules.items()):
                if name.startswith(PACKAGE) and name not in Events._former:
                    former = getattr(module, "log", None)
                    if hasattr(former, "bind"):
                        Events._former[name] = former
                        module.log = _logger()  # type: ignore[attr-defined]

    def close(self) -> None:
        """With the last cluster all is as it was."""
        with Events._changes:
            Events._clusters -= 1
            if not Events._clusters:
                for name, former in Events._former.items():
                    sys.modules[name].log = former  # type: ignore[attr-defined]
                Events._former.clear()


class _Kept:
    """Takes a line."""

    def msg(self, line: str) -> None:
        """With the thread that it comes from, which is a broker's."""
        Events.recent.append(f"{threading.current_thread().name}: {line}")

    log = debug = info = warning = error = critical = exception = msg


def _logger() -> Any:
    return structlog.wrap_logger(
        _Kept(),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
    )
