"""TLS around a stream: the same door for who uses it, records of TLS below.

Steps of the handshake run in threads of their own, few at a time: each takes up to some
milliseconds of a processor, and a crowd of them holds up neither the loop nor who reads a disk. A
step begins when a record is there whole: who sends a part of one is not waited for by a thread.
What arrives meanwhile waits, because OpenSSL's buffers belong to the thread. Once the handshake is
done everything happens on the loop: what was read is decrypted into the receiver's own buffer, and
what is sent is encrypted as the stream below takes it. Parts of files are read when their turn
comes, and never in a way that makes the loop wait.
"""

import asyncio
import os
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, cast

from odradek.model.units import KIB
from odradek.ports import Address, Chunk, FileRange, Receiver, Stream, WouldBlock, size_of

ROOM_BYTES: Final = 64 * KIB
UNSENT_BYTES_MAX: Final = 256 * KIB
"""Encrypted bytes that wait below; the rest is encrypted when they have left."""
JOINED_BYTES_MAX: Final = 16 * KIB  # a record of TLS holds so many
HANDSHAKE_BYTES_MAX: Final = 256 * KIB
"""Of a peer that has not finished its handshake: certificates take some kilobytes."""
STEPS_AT_ONCE_MAX: Final = max(1, (os.cpu_count() or 1) // 2)
"""The loop needs a processor, too."""
_STEPS: Final = ThreadPoolExecutor(STEPS_AT_ONCE_MAX, thread_name_prefix="handshake")
RECORD_TYPES: Final = range(0x14, 0x18)
RECORD_HEADER_BYTES: Final = 5
RECORD_BYTES_MAX: Final = 16 * KIB + 256

OnSecured = Callable[["TlsStream"], Receiver]
"""The handshake is done: who receives from now on. It may raise `ssl.SSLError`."""
OnFailed = Callable[[OSError | None], None]
"""There will be none: the other end is gone, or something was wrong."""


class TlsEnd(NamedTuple):
    """Which end of the connection this is, and what it has."""

    context: ssl.SSLContext
    room: memoryview  # shared by the streams of a loop: it is empty between two calls
    server_name: str | None = None  # of a client: whom it calls
    is_server: bool = False


class TlsStream:
    """A stream to its user; a receiver to the stream below."""

    def __init__(
        self,
        below: Stream,
        end: TlsEnd,
        *,
        on_secured: OnSecured,
        on_failed: OnFailed,
    ) -> None:
        self._below = below
        self._on_secured = on_secured
        self._on_failed = on_failed
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = end.context.wrap_bio(self._in, self._out, end.is_server, end.server_name)
        self._receiver: Receiver | None = None  # once the handshake is done
        self._room = end.room
        self._early = bytearray()  # what came while a step of the handshake ran
        self._is_stepping = False
        self._step_task: asyncio.Future[ssl.SSLError | bool] | None = None
        self._waiting: deque[Chunk] = deque()  # not encrypted yet
        self._waiting_bytes = 0
        self._is_reading_file = False
        self._is_paused = False
        self._is_closing = False
        self._is_over = False
        self._error: OSError | None = None  # why we ended it
        self.peer: Address = below.peer
        self.local: Address = below.local

    def begin(self) -> None:
        """A client speaks first; a listener waits."""
        self._step()

    @property
    def certificate(self) -> bytes | None:
        """The peer's, verified, in DER."""
        return self._tls.getpeercert(binary_form=True)

    # The handshake

    def _step(self) -> None:
        self._is_stepping = True
        count = whole_records(self._early)
        self._in.write(self._early[:count])
        del self._early[:count]
        self._step_task = asyncio.get_running_loop().run_in_executor(_STEPS, self._handshake)
        self._step_task.add_done_callback(self._stepped)

    def _handshake(self) -> ssl.SSLError | bool:
        """In a thread: whether it is done, or why it never will be."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            return error
        except ValueError as error:  # a name that cannot be checked
            return ssl.SSLError(str(error))
        return True

    def _stepped(self, task: asyncio.Future[ssl.SSLError | bool]) -> None:
        self._step_task = None
        if task.cancelled():
            return
        self._is_stepping = False
        found = task.result()
        if self._is_over:
            return
        self._flush_below()
        if isinstance(found, ssl.SSLError):
            self._fail(found)
        elif found:
            self._secured()
        elif whole_records(self._early):
            self._step()

    def _secured(self) -> None:
        try:
            self._receiver = self._on_secured(self)
        except ssl.SSLError as error:
            self._fail(error)
            return
        self._forget_who_waits()
        self._in.write(self._early)
        self._early.clear()
        self._decrypt()

    def _forget_who_waits(self) -> None:
        """They have this stream: a circle would stay until the collector has looked everywhere."""
        self._on_secured, self._on_failed = _secured_before, _is_told

    def _fail(self, error: OSError) -> None:
        """The alert goes out first."""
        self._error = self._error or error
        self._below.close()

    # In

    def buffer(self) -> memoryview:
        """Where encrypted bytes are put."""
        return self._room

    def received(self, count: int) -> None:
        """So many have come."""
        if self._receiver is not None and not self._is_stepping:
            self._in.write(self._room[:count])
            self._decrypt()
            return
        self._early += self._room[:count]
        if len(self._early) > HANDSHAKE_BYTES_MAX:
            self._fail(ssl.SSLError("the handshake is too long"))
        elif not self._is_stepping and whole_records(self._early):
            self._step()

    def _decrypt(self) -> None:
        """All that is there, unless the receiver wants no more."""
        receiver = self._receiver
        assert receiver is not None, "the handshake is done"
        try:
            while not (self._is_paused or self._is_closing or self._is_over):
                room = receiver.buffer()
                count = self._read_into(room)
                if not count:
                    self.close()
                    break
                receiver.received(count)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.close()
        except ssl.SSLError as error:
            self._flush_below()
            self._fail(error)
            return
        self._flush_below()

    def _read_into(self, room: memoryview) -> int:
        return cast("int", self._tls.read(len(room), room))

    def pause(self) -> None:
        """What was read already stays encrypted."""
        self._is_paused = True
        self._below.pause()

    def resume(self) -> None:
        """In a turn of its own: what was read before is decrypted first."""
        if self._is_paused:
            self._is_paused = False
            self._below.resume()
            if self._receiver is not None and (self._in.pending or self._tls.pending()):
                asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        if not self._is_over:
            self._decrypt()

    # Out

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Encrypts at once what the stream below can take."""
        if self._is_closing or self._is_over:
            return
        for chunk in chunks:
            if size_of(chunk):
                self._waiting.append(chunk)
                self._waiting_bytes += size_of(chunk)
        self._encrypt()

    @property
    def unsent(self) -> int:
        """What waits here, and below."""
        return self._waiting_bytes + self._below.unsent

    def _encrypt(self) -> None:
        while self._waiting and not self._is_reading_file and not self._is_over:
            if self._below.unsent > UNSENT_BYTES_MAX:
                return
            data = self._next()
            if data is None:
                return
            self._waiting_bytes -= len(data)
            self._write(data)
            self._flush_below()
        if self._is_closing and not self._waiting:
            self._say_goodbye()

    def _next(self) -> bytes | bytearray | memoryview | None:
        """Up to some records' worth; None: it has to be read from a file first."""
        chunk = self._waiting.popleft()
        if isinstance(chunk, FileRange):
            return self._of_file(chunk)
        if len(chunk) > JOINED_BYTES_MAX:
            return self._cut(chunk)
        parts, size = [chunk], len(chunk)
        while self._waiting and not isinstance(self._waiting[0], FileRange):
            size += len(self._waiting[0])
            if size > JOINED_BYTES_MAX:
                break
            parts.append(self._waiting.popleft())  # type: ignore[arg-type]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _cut(self, chunk: bytes | bytearray | memoryview) -> memoryview:
        view = memoryview(chunk)
        if len(view) > UNSENT_BYTES_MAX:
            self._waiting.appendleft(view[UNSENT_BYTES_MAX:])
        return view[:UNSENT_BYTES_MAX]

    def _of_file(self, chunk: FileRange) -> bytes | None:
        """What is in memory is read here; anything else in a thread."""
        length = min(chunk.length, ROOM_BYTES)
        try:
            return self._read_of(chunk, chunk.file.read(length, chunk.position))
        except WouldBlock:
            self._is_reading_file = True
            self._waiting.appendleft(chunk)
            read = partial(chunk.file.read, length, chunk.position)
            task = asyncio.get_running_loop().run_in_executor(None, read)
            task.add_done_callback(self._file_was_read)
            return None
        except OSError as error:
            self._fail_hard(error)
            return None

    def _file_was_read(self, task: asyncio.Future[bytes]) -> None:
        self._is_reading_file = False
        if self._is_over or task.cancelled():
            return
        error = task.exception()
        chunk = self._waiting.popleft()
        assert isinstance(chunk, FileRange), chunk
        if error is not None:
            self._fail_hard(error if isinstance(error, OSError) else OSError(str(error)))
            return
        data = self._read_of(chunk, task.result())
        if data is not None:
            self._waiting.appendleft(data)
            self._encrypt()
            self._tell_drained()

    def _read_of(self, chunk: FileRange, data: bytes) -> bytes | None:
        """The rest of the range waits for its turn."""
        if not data:
            self._fail_hard(OSError("the file is shorter than the range that was to be sent"))
            return None
        if len(data) < chunk.length:
            rest = chunk.length - len(data)
            self._waiting.appendleft(FileRange(chunk.file, chunk.position + len(data), rest))
        return data

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._tls.write(rest) :]

    def _flush_below(self) -> None:
        if self._out.pending:
            self._below.send([self._out.read()])

    def drained(self) -> None:
        """The stream below has sent all that it had."""
        self._encrypt()
        self._tell_drained()

    def _tell_drained(self) -> None:
        if self._receiver is not None and not self._is_over and not self.unsent:
            self._receiver.drained()

    # The end

    def close(self) -> None:
        """Reads no more; what waits is sent, and the end of TLS behind it."""
        if self._is_closing or self._is_over:
            return
        self._is_closing = True
        self._below.pause()
        if not self._waiting:
            self._say_goodbye()

    def _say_goodbye(self) -> None:
        if self._receiver is not None:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush_below()
        self._below.close()

    def abort(self) -> None:
        """What waits is dropped."""
        self._below.abort()

    def _fail_hard(self, error: OSError) -> None:
        self._error = error
        self._below.abort()

    def closed(self, error: OSError | None) -> None:
        """Its end is told to the receiver, or to who waited for the handshake."""
        self._is_over = True
        if self._step_task is not None:
            self._step_task.cancel()  # one that waits for a thread is not done any more
        self._waiting.clear()
        self._waiting_bytes = 0
        reason = self._error or error
        receiver, self._receiver = self._receiver, None
        on_failed = self._on_failed
        self._forget_who_waits()
        if receiver is None:
            on_failed(reason)
        else:
            receiver.closed(reason)


def _secured_before(stream: TlsStream) -> Receiver:
    raise AssertionError("the handshake was over before", stream)


def _is_told(error: OSError | None) -> None:
    """Those that waited for the handshake know how it went."""


def whole_records(data: bytearray) -> int:
    """How many bytes at its start are whole records; all of them where it is no TLS."""
    end = 0
    while len(data) - end >= RECORD_HEADER_BYTES:
        size = int.from_bytes(data[end + 3 : end + RECORD_HEADER_BYTES], "big")
        if data[end] not in RECORD_TYPES or size > RECORD_BYTES_MAX:
            return len(data)
        if len(data) - end < RECORD_HEADER_BYTES + size:
            break
        end += RECORD_HEADER_BYTES + size
    return end
