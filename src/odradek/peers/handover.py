"""A receiver that hands its stream over to another: first who asks for a name, then the real one.

Its four calls are exchanged as a whole, so that nothing stands between the stream and the second
receiver afterwards. Once the stream has ended they lead nowhere (`end`): who has a handover and is
called by it would otherwise stay in memory until the collector has looked through everything.
"""

from collections.abc import Callable

from odradek.ports import Receiver


class Handover:
    """What a stream calls; a `Receiver` by its attributes."""

    __slots__ = ("buffer", "closed", "drained", "received")

    def __init__(self, first: Receiver) -> None:
        self.buffer: Callable[[], memoryview]
        self.received: Callable[[int], None]
        self.drained: Callable[[], None]
        self.closed: Callable[[OSError | None], None]
        self.to(first)

    def to(self, receiver: Receiver) -> None:
        """From now on the stream calls this one."""
        self.buffer = receiver.buffer
        self.received = receiver.received
        self.drained = receiver.drained
        self.closed = receiver.closed

    def end(self) -> None:
        """The calls lead nowhere from now on."""
        self.to(_UNHEARD)


class Unheard:
    """The receiver of a stream that has ended, or that is not read and is about to be closed."""

    def buffer(self) -> memoryview:
        """For what will not come."""
        return memoryview(bytearray(1))

    def received(self, count: int) -> None:
        """Not called."""

    def drained(self) -> None:
        """Nothing was sent."""

    def closed(self, error: OSError | None) -> None:
        """Nothing has to be given back."""


_UNHEARD = Unheard()


def deliver(receiver: Receiver, data: bytes | bytearray | memoryview) -> None:
    """Bytes that came too early for it, as if the stream had read them."""
    rest = memoryview(data)
    while rest:
        room = receiver.buffer()
        count = min(len(room), len(rest))
        room[:count] = rest[:count]
        receiver.received(count)
        rest = rest[count:]
