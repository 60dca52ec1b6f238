"""Where events go: one line each on stderr, with their fields."""

import json
import logging
from typing import TextIO, cast

import structlog

from odradek.runtime.output import STDERR, Output


def log_to_stderr(*, as_json: bool = False, level: str = "info") -> None:
    """From this level on; coloured where a person looks. What stderr does not take is dropped."""
    output = Output(STDERR, lost=_lost_as_json) if as_json else Output(STDERR)
    renderers: list[structlog.typing.Processor] = [
        structlog.dev.ConsoleRenderer(colors=output.isatty())
    ]
    if as_json:
        renderers = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", output)),
        cache_logger_on_first_use=True,
    )


def _lost_as_json(count: int) -> str:
    return json.dumps({"event": "log.lines_lost", "level": "warning", "count": count}) + "\n"
