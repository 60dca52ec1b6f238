"""The Journal door in memory: a cluster of a test has no next life."""

from collections.abc import Iterable, Sequence

from odradek.ports import Entry


class MemoryJournal:
    """Durable at once, and gone with the test."""

    def __init__(self) -> None:
        self._rows: list[bytes] = []
        self._entries: list[Entry] = []

    def load(self) -> tuple[Iterable[bytes], Iterable[Entry]]:
        """What was kept."""
        return iter(self._rows), iter(self._entries)

    async def append(self, entries: Sequence[Entry]) -> None:
        """Nothing is waited for."""
        self._entries += entries

    async def snapshot(self, zxid: int, rows: Iterable[bytes]) -> None:
        """Replaces what it holds."""
        self._rows = list(rows)
        self._entries = [it for it in self._entries if it.zxid > zxid]

    def close(self) -> None:
        """Nothing to let go of."""
