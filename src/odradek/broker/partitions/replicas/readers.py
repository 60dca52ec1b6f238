"""Those who have read all of a replica and wait for more: they are woken, and do not poll.

A follower waits for the end of the log, a consumer for the high watermark. A reader is woken once,
and says again if it still waits. A follower is also told of offsets that move, so that its next
answer names them: that alone is no reason to answer.
"""

from typing import Protocol


class Reader(Protocol):
    """One partition of one fetch session."""

    def wake(self) -> None:
        """There is more to read, or this replica does not serve it any longer."""
        ...

    def on_news(self) -> None:
        """The high watermark or the start of the log has moved."""
        ...


class Readers:
    """Of one replica. Most have none: nothing is made before somebody waits."""

    __slots__ = ("at_end", "at_high_watermark", "told")

    def __init__(self) -> None:
        self.at_end: dict[Reader, None] | None = None
        self.at_high_watermark: dict[Reader, None] | None = None
        self.told: dict[Reader, None] | None = None

    def await_end(self, reader: Reader) -> None:
        """Wakes the reader once the log has grown."""
        if self.at_end is None:
            self.at_end = {}
        self.at_end[reader] = None

    def await_high_watermark(self, reader: Reader) -> None:
        """Wakes the reader once the high watermark has moved."""
        if self.at_high_watermark is None:
            self.at_high_watermark = {}
        self.at_high_watermark[reader] = None

    def follow_offsets(self, reader: Reader) -> None:
        """Tells the reader of offsets that move, until it leaves."""
        if self.told is None:
            self.told = {}
        self.told[reader] = None

    def leave(self, reader: Reader) -> None:
        """Is not woken or told any longer."""
        for readers in (self.at_end, self.at_high_watermark, self.told):
            if readers is not None:
                readers.pop(reader, None)

    def on_end(self) -> None:
        """The log has grown."""
        woken, self.at_end = self.at_end, None
        for reader in woken or ():
            reader.wake()

    def on_high_watermark(self) -> None:
        """The high watermark has moved."""
        if self.told:
            self.on_offsets()
        woken, self.at_high_watermark = self.at_high_watermark, None
        for reader in woken or ():
            reader.wake()

    def on_offsets(self) -> None:
        """The high watermark or the start of the log has moved."""
        for reader in tuple(self.told or ()):
            reader.on_news()

    def on_awaited_start(self) -> None:
        """Somebody waits until the followers begin where this log does: they are answered."""
        for reader in tuple(self.told or ()):
            reader.wake()

    def on_change(self) -> None:
        """The role ends, or another leader epoch begins: everybody looks again."""
        for reader in tuple(self.told or ()):
            reader.wake()
        self.on_end()
        woken, self.at_high_watermark = self.at_high_watermark, None
        for reader in woken or ():
            reader.wake()
