"""One end of a simulated connection.

It is two things, as it is in the world: the kernel's end (what arrived and was not read, whether
the peer ended or reset) and the process's (what waits to be sent, the receiver). The kernel acts
at once and for no task; the process acts in turns of its own machine, so a machine that is paused
still takes bytes until its window is full.
"""

import errno
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol, cast

from odradek.ports import Address, Chunk, FileRange, Receiver, size_of
from odradek.sim.doors.disk import SimulatedFile
from odradek.sim.doors.wires import Host, Kind, Pipe, Wires

SEGMENT_BYTES_MAX: Final = 64 * 1024
SPLIT_ONE_IN: Final = 8  # so many segments to one that arrives in two parts
READS_PER_TURN_MAX: Final = 16


class Turns(Protocol):
    """The machine of an end: where it stands, and how it is given a turn."""

    @property
    def wires(self) -> Wires:
        """The network that it is part of."""
        ...

    @property
    def host(self) -> Host:
        """Its place there."""
        ...

    def soon(self, callback: Callable[..., object], *args: object) -> None:
        """Calls back in a turn of the machine."""
        ...

    def at_once(self, callback: Callable[[], object]) -> None:
        """Calls back now, as soon as the machine is awake."""
        ...


class SimulatedStream:
    """One end of a connection."""

    def __init__(self, network: Turns, local: Address, peer: Address) -> None:
        self._network = network
        self.wires = network.wires
        self.host = network.host
        self.local, self.peer = local, peer
        self.pipe: Pipe | None = None  # to the peer; set when both ends are there
        self.accept: Callable[[], None] | None = None  # what the last part of the handshake does
        self._receiver: Receiver | None = None
        self._arrived: deque[memoryview] = deque()
        self.incoming: Pipe | None = None
        self._ended: Kind | None = None  # how the peer ended, once all was read
        self._out: deque[Chunk] = deque()
        self._unsent = 0
        self._files = 0  # pieces of files among what waits to be sent
        self.waiting = False  # for the window to open; then `drained` is owed
        self._reading = False  # a turn to read is coming
        self._paused = False
        self._closing = False
        self._over = False  # the process's part
        self._gone = False  # the kernel's part: what arrives is answered with a reset
        self.number = self.host.ends_born
        self.host.ends_born += 1
        self.host.ends[self.number] = self

    def attach(self, receiver: Receiver) -> None:
        """Starts to read."""
        self._receiver = receiver
        self._wake_reader()

    # -- the kernel ----------------------------------------------------------------------------

    def arrived(self, kind: Kind, data: bytes) -> None:
        """A piece from the peer. It is read in this turn, if the process is awake."""
        if self._gone:
            if kind is not Kind.RESET:
                self._put(Kind.RESET)
        elif kind is Kind.DATA:
            self._arrived.append(memoryview(data))
            if self._may_read:
                self._reading = True
                self._network.at_once(self._read)
        elif kind is Kind.OPEN:
            assert self.accept is not None
            accept, self.accept = self.accept, None
            accept()
        elif self.accept is not None:
            self.vanish()
        else:
            self._ended = self._ended or kind
            self._wake_reader()
            if self._out:
                self._network.soon(self._flush)

    def acknowledged(self) -> None:
        """There may be room in the window."""
        if self._out and not self._over:
            self._network.soon(self._flush)

    def broken(self) -> None:
        """What is on its way to either side is lost."""
        if self.pipe is not None and self.incoming is not None:
            self.pipe.lose()
            self.incoming.lose()
            self.pipe.put(Kind.RESET)
            self.incoming.put(Kind.RESET)

    def vanish(self) -> None:
        """Gone without a word: the power failed, or it never came to be a connection."""
        self._over = self._gone = True
        self.host.ends.pop(self.number, None)
        self._arrived.clear()
        self._out.clear()

    def kernel_closes(self) -> None:
        """The process is gone; bytes that it did not read make the end a reset."""
        if self._gone:
            return
        self._over = self._gone = True
        self.host.ends.pop(self.number, None)
        self._put(Kind.RESET if self._arrived else Kind.END)
        self._arrived.clear()
        self._out.clear()

    def _put(self, kind: Kind) -> None:
        if self.pipe is not None:
            self.pipe.put(kind)

    # -- in ------------------------------------------------------------------------------------

    @property
    def _may_read(self) -> bool:
        is_held = self._reading or self._paused or self._closing
        return not is_held and self._receiver is not None

    def _wake_reader(self) -> None:
        if self._may_read and (self._arrived or self._ended):
            self._reading = True
            self._network.soon(self._read)

    def _read(self) -> None:
        self._reading = False
        receiver = self._receiver
        assert receiver is not None
        for _ in range(READS_PER_TURN_MAX):
            if self._paused or self._closing or self._over:
                return
            if not self._arrived:
                if self._ended is Kind.RESET:
                    self._end(_reset())
                elif self._ended is Kind.END:
                    self.close()
                return
            room = receiver.buffer()
            assert len(room), "no room to read into would look like the end of the stream"
            receiver.received(self._move(room))
        self._wake_reader()

    def _move(self, room: memoryview) -> int:
        """Fills the room with what arrived, and opens the window by as much."""
        arrived, filled, size = self._arrived, 0, len(room)
        while arrived and filled < size:
            piece = arrived[0]
            end = filled + len(piece)
            if end <= size:
                room[filled:end] = piece
                filled = end
                arrived.popleft()
            else:
                room[filled:] = piece[: size - filled]
                arrived[0] = piece[size - filled :]
                filled = size
        assert self.incoming is not None
        self.incoming.taken(filled)
        return filled

    def pause(self) -> None:
        """What arrives stays with the kernel."""
        self._paused = True

    def resume(self) -> None:
        """Reads what is there."""
        self._paused = False
        self._wake_reader()

    # -- out -----------------------------------------------------------------------------------

    def send(self, chunks: Sequence[Chunk]) -> None:
        """As much as the window takes leaves now."""
        if self._closing or self._over:
            return
        for chunk in chunks:
            size = size_of(chunk)
            if size:
                self._files += isinstance(chunk, FileRange)
                self._out.append(chunk)
                self._unsent += size
        if not self.waiting:
            self._flush()

    @property
    def unsent(self) -> int:
        """The count of bytes that the window has not taken."""
        return self._unsent

    def _flush(self) -> None:
        if self._over:
            return
        if self._ended is Kind.RESET:
            self._end(_reset())
            return
        assert self.pipe is not None
        while self._out:
            room = self.pipe.room
            if room <= 0:
                self.waiting = True
                return
            try:
                data = self._gather(min(room, SEGMENT_BYTES_MAX))
            except OSError as error:
                self._end(error)
                return
            self._unsent -= len(data)
            self._depart(data)
        if self.waiting:
            self.waiting = False
            if self._closing:
                self._end(None)
            elif self._receiver is not None:
                self._receiver.drained()

    def _depart(self, data: bytes) -> None:
        """In one part or in two: a frame may be cut anywhere on its way."""
        assert self.pipe is not None
        chance = self.wires.chance
        if len(data) > 1 and not chance.below(SPLIT_ONE_IN):
            cut = 1 + chance.below(len(data) - 1)
            self.pipe.put(Kind.DATA, data[:cut])
            data = data[cut:]
        self.pipe.put(Kind.DATA, data)

    def _gather(self, count_max: int) -> bytes:
        """The next bytes of what waits; those of a file are read now."""
        if not self._files and self._unsent <= count_max:
            whole = b"".join(cast("deque[bytes]", self._out))
            self._out.clear()
            return whole
        parts: list[bytes] = []
        left = count_max
        while self._out and left:
            chunk = self._out[0]
            count = min(size_of(chunk), left)
            if isinstance(chunk, FileRange):
                data = _sent(chunk, count)
                if len(data) < count and parts:
                    break
                if not data:
                    raise OSError("the file is shorter than the range that was to be sent")
                count = len(data)
            else:
                data = bytes(chunk[:count])
            parts.append(data)
            left -= count
            if count == size_of(chunk):
                self._files -= isinstance(chunk, FileRange)
                self._out.popleft()
            else:
                self._out[0] = _rest(chunk, count)
        return b"".join(parts)

    # -- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """Reads no more; ends as soon as nothing waits."""
        if not (self._closing or self._over):
            self._closing = True
            if not self._out:
                self._end(None)

    def abort(self) -> None:
        """Ends now."""
        self._end(None)

    def _end(self, error: OSError | None) -> None:
        if self._over:
            return
        self._closing = True
        self._unsent = 0
        if self._ended is Kind.RESET:
            self._over = self._gone = True
            self.host.ends.pop(self.number, None)
            self._out.clear()
        else:
            self.kernel_closes()
        self._network.soon(self._tell_closed, error)

    def _tell_closed(self, error: OSError | None) -> None:
        if self._receiver is not None:
            self._receiver.closed(error)


def _sent(chunk: FileRange, count: int) -> bytes:
    file = chunk.file
    assert isinstance(file, SimulatedFile), file
    return file.sent(count, chunk.position)


def _rest(chunk: Chunk, count: int) -> Chunk:
    """What is left of it behind its first bytes."""
    if isinstance(chunk, FileRange):
        return FileRange(chunk.file, chunk.position + count, chunk.length - count)
    return memoryview(chunk)[count:]


def _reset() -> ConnectionResetError:
    return ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
