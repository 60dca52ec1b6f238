"""The event loop of a server's process."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

T = TypeVar("T")
log = structlog.get_logger()


def run_server(main: Coroutine[Any, Any, T]) -> T:
    """Runs to the end on uvloop, where it is to be had; an uncaught error becomes an event."""
    try:
        import uvloop  # noqa: PLC0415 - it is not on every platform
    except ImportError:
        run = asyncio.run
    else:
        run = uvloop.run
    return run(_watched(main))


async def _watched(main: Coroutine[Any, Any, T]) -> T:
    asyncio.get_running_loop().set_exception_handler(_note)
    return await main


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A mistake of ours: the rest goes on."""
    del loop
    log.error("loop.mistake", about=context["message"], exc_info=context.get("exception"))
