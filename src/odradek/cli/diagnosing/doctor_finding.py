"""What `odradek doctor` says of one thing, and how long it waits for an answer."""

import asyncio
from collections.abc import Awaitable
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from odradek.cli.words.failing import reason
from odradek.cli.words.options import options
from odradek.model.errors import BrokerError

T = TypeVar("T")

ANSWER_SECONDS: Final = 0.8
"""For each step, unless `--timeout` says otherwise: a few steps shall end within two seconds."""


class Level(StrEnum):
    """How bad it is, worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    OK = "ok"


class Finding(NamedTuple):
    """One thing that was looked at: how it is, of what kind, about what, why, and what to do."""

    level: Level
    check: str
    about: str
    cause: str
    next_step: str = ""


class NoAnswer(Exception):
    """A step came to nothing: why."""


def patience() -> float:
    """Seconds for one step."""
    said = options().timeout
    return ANSWER_SECONDS if said is None else said


async def answered(step: Awaitable[T]) -> T:
    """What a step gives, or NoAnswer in words for a person."""
    seconds = patience()
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await step
    except TimeoutError as late:
        if not limit.expired():
            raise NoAnswer("timed out") from None
        raise NoAnswer(f"no answer within {seconds:g} s (--timeout waits longer)") from late
    except BrokerError as error:
        raise NoAnswer(reason(error)) from error
    except OSError as error:
        raise NoAnswer((error.strerror or str(error)).lower()) from error
