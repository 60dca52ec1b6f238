"""Asks a server of an ensemble one thing, on a connection that is for nothing else.

A four-letter word goes out, a few letters come back, and the server closes. The caller sets the
time limit. What it says beyond a few letters, or instead of them, is no answer.
"""

import asyncio
from typing import Final

from odradek.ports import Address, Network, Stream

QUESTION: Final = b"isro"
WRITES: Final = b"rw"  # or "ro", or a sentence where the question is not allowed
ANSWER_BYTES_MAX: Final = 16


async def says_that_it_writes(network: Network, address: Address) -> bool:
    """Whether this server is part of an ensemble that works; OSError where it cannot be asked."""
    question = _Question()
    try:
        await network.connect(address, question.attach)
        await question.over
    finally:
        question.abort()
    return question.answer == WRITES


class _Question:
    """The receiver of such a connection."""

    def __init__(self) -> None:
        self.answer = b""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stream: Stream | None = None
        self._room = memoryview(bytearray(ANSWER_BYTES_MAX))

    def attach(self, stream: Stream) -> "_Question":
        """The connection is there."""
        self._stream = stream
        stream.send([QUESTION])
        return self

    def abort(self) -> None:
        """Closes it, if it is open."""
        if self._stream is not None:
            self._stream.abort()

    def buffer(self) -> memoryview:
        """Room for a few letters."""
        return self._room

    def received(self, count: int) -> None:
        """A part of the answer."""
        self.answer += self._room[:count]
        if len(self.answer) > ANSWER_BYTES_MAX:
            self.abort()

    def drained(self) -> None:
        """No caller waits for this."""

    def closed(self, error: OSError | None) -> None:
        """The server closes behind its answer."""
        del error
        self._stream = None
        if not self.over.done():
            self.over.set_result(None)
