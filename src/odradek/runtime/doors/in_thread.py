"""A call that may take long, in a thread of its own: an issuer that is slow takes none of others.

The process does not wait for it when it ends.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def in_thread(call: Callable[[], T]) -> "asyncio.Future[T]":
    """Gets what it returns or raises."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as caught:  # noqa: BLE001 - it is raised where it is awaited
            error = caught
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, error)

    Thread(target=run, name="beside the loop", daemon=True).start()
    return future
