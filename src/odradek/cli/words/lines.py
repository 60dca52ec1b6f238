"""Lines of standard input or a file, handed on as they come: a typed line does not wait for more.

A thread reads, because a terminal cannot be waited for together with sockets on every system. It
reads past the buffer of `sys.stdin`, whose lock would otherwise be held at the interpreter's end.
"""

import asyncio
import io
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, Protocol

from odradek.cli.words.failing import Failed
from odradek.model.units import MIB

AHEAD: Final = 4  # chunks that are read while the first is sent


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes | None:
        """What is there, up to so much; empty at the end."""

    def close(self) -> None:
        """Nothing more is read."""


class _Some:
    """A buffered stream that gives what it has."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        """At most one read of what is below."""
        return self._stream.read1(size)

    def close(self) -> None:
        """It belongs to others."""


def opened(file: Path | None) -> _Readable:
    """The file, or standard input."""
    if file is not None:
        return file.open("rb", buffering=0)
    if sys.stdin is None:
        raise Failed("standard input is closed", "name a file, or pipe lines into the command")
    try:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    except (OSError, ValueError):
        buffer = sys.stdin.buffer
        assert isinstance(buffer, io.BufferedIOBase)
        return _Some(buffer)


class Lines:
    """Chunks of whole lines, without their ends; `stop` ends it before the stream does."""

    def __init__(self, stream: _Readable) -> None:
        self._stream = stream
        self._queue: asyncio.Queue[bytes | OSError | None] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD)
        self._loop = asyncio.get_running_loop()
        self.bytes_read = 0

    def stop(self) -> None:
        """What has been read is still handed on."""
        self._queue.put_nowait(None)

    async def chunks(self) -> AsyncIterator[list[bytes]]:
        """The last line need not have an end."""
        threading.Thread(target=self._read, name="lines", daemon=True).start()
        rest = b""
        while data := await self._queue.get():
            if isinstance(data, OSError):
                raise data
            self._room.release()
            self.bytes_read += len(data)
            *lines, rest = (rest + data).split(b"\n")
            if lines:
                yield [line.removesuffix(b"\r") for line in lines]
        if rest:
            yield [rest.removesuffix(b"\r")]

    def _read(self) -> None:
        found: bytes | OSError | None = b""
        while found is not None:
            self._room.acquire()
            try:
                found = self._stream.read(MIB) or None
            except OSError as error:
                self._put(error)
                break
            if not self._put(found):
                break
        self._stream.close()

    def _put(self, found: bytes | OSError | None) -> bool:
        """The loop may have been closed while a terminal was waited for."""
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, found)
        except RuntimeError:
            return False
        return True
