"""The Journal door on memory: a crash keeps exactly what was synced.

`Ledger` is what the medium holds; it belongs to the machine and outlives every process.
`SimulatedJournal` is the door of one life. A commit takes time in two parts: before the first has
passed it is lost by any end of its life, after it the entries are durable although no answer
was sent. As in the real one a commit is whole or absent, and jobs are done one after the other.
"""

import asyncio
import errno
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Final
from zlib import crc32

from odradek.model.units import Millis
from odradek.ports import Clock, Entry, Random

COMMIT_MILLIS_MAX: Final = 8
ROWS_PER_PIECE: Final = 8  # of a snapshot: each piece is a commit of its own

Note = Callable[..., None]


def _unheard(*_: object) -> None:
    """Outside a world no notes are taken."""


class Ledger:
    """What is durable, and the misfortunes to come."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []
        self.snapshot_zxid = 0
        self.entries: list[Entry] = []
        self.failures: list[tuple[int, bool]] = []  # of the next commits: errno, written yet?
        self.slowness = Millis(0)  # of each commit

    @property
    def last_zxid(self) -> int:
        """The newest transaction that no crash can take."""
        return self.entries[-1].zxid if self.entries else self.snapshot_zxid

    def fail_next(self, error: int = errno.EIO, *, written: bool = False) -> None:
        """The next commit raises; its bytes may have arrived all the same."""
        self.failures.append((error, written))


class SimulatedJournal:
    """The door, for one life of a machine."""

    def __init__(self, ledger: Ledger, clock: Clock, chance: Random, note: Note = _unheard) -> None:
        self._ledger, self._clock, self._chance, self._note = ledger, clock, chance, note
        self._one_job = asyncio.Lock()

    def load(self) -> tuple[Iterable[bytes], Iterable[Entry]]:
        """Read when they are asked for, as from a file."""
        return iter(self._ledger.rows), iter(self._ledger.entries)

    async def append(self, entries: Sequence[Entry]) -> None:
        """Durable at some moment before it returns."""
        kept = tuple(entries)
        await self._commit(lambda: self._add(kept))

    async def snapshot(self, zxid: int, rows: Iterable[bytes]) -> None:
        """Takes the rows a few at a time, while other things happen; counts when all are there."""
        rows = iter(rows)
        collected: list[bytes] = []
        while piece := tuple(islice(rows, ROWS_PER_PIECE)):
            await self._commit(partial(collected.extend, piece))
        await self._commit(lambda: self._replace(zxid, collected))

    def close(self) -> None:
        """Nothing to let go of."""

    def _add(self, entries: Sequence[Entry]) -> None:
        last = self._ledger.last_zxid
        for entry in entries:
            assert entry.zxid > last, (entry.zxid, last)
            last = entry.zxid
            self._note("journal.entry", entry.zxid, crc32(entry.data))
        self._ledger.entries.extend(entries)

    def _replace(self, zxid: int, rows: list[bytes]) -> None:
        ledger = self._ledger
        ledger.rows, ledger.snapshot_zxid = rows, zxid
        ledger.entries = [entry for entry in ledger.entries if entry.zxid > zxid]
        self._note("journal.snapshot", zxid, len(rows))

    async def _commit(self, write: Callable[[], None]) -> None:
        async with self._one_job:
            await self._wait()
            error, written = self._ledger.failures.pop(0) if self._ledger.failures else (0, True)
            if written:
                write()
            await self._wait()
            if error:
                raise OSError(error, os.strerror(error), "journal")

    async def _wait(self) -> None:
        millis = self._chance.below(COMMIT_MILLIS_MAX) + self._ledger.slowness
        await self._clock.sleep_until(Millis(self._clock.monotonic() + millis))
