"""Where events go: one line each on stderr, with their fields."""

import logging
import sys

import structlog


def log_to_stderr(*, as_json: bool = False) -> None:
    """From INFO on; coloured where a person looks."""
    renderers: list[structlog.typing.Processor] = [
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
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
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
