"""The real journal and the simulated one keep the same promises: each test runs on both."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from odradek.ports import Entry, Journal
from odradek.runtime.doors.journal import SqliteJournal
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.journal import Ledger, SimulatedJournal
from odradek.sim.doors.loop import SimulatedLoop
from odradek.sim.stage.machine import MachineClock

Conversation = Callable[[Journal], Awaitable[None]]


class Shelf:
    """A place where a journal lies, whoever has it open."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._ledger = Ledger()

    def hold(self, conversation: Conversation) -> None:
        """One life of a process, with the journal open."""
        if self._directory is not None:
            journal = SqliteJournal(self._directory)
            try:
                asyncio.run(self._talk(journal, conversation))
            finally:
                journal.close()
            return
        loop = SimulatedLoop()
        clock = MachineClock(loop, 1)
        simulated = SimulatedJournal(self._ledger, clock, SeededRandom(1, "journal"))
        loop.run_until_complete(self._talk(simulated, conversation))
        loop.close()

    async def _talk(self, journal: Journal, conversation: Conversation) -> None:
        await conversation(journal)

    def found(self) -> tuple[list[bytes], list[Entry]]:
        """What the next life of the process finds."""
        kept: tuple[list[bytes], list[Entry]] = ([], [])

        async def look(journal: Journal) -> None:
            rows, entries = journal.load()
            kept[0].extend(rows)
            kept[1].extend(entries)

        self.hold(look)
        return kept


@pytest.fixture(params=["sqlite", "simulated"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    """An empty place."""
    return Shelf(tmp_path if request.param == "sqlite" else None)


def numbered(first: int, last: int) -> list[Entry]:
    """Entries with these zxids."""
    return [Entry(zxid, b"entry %d" % zxid) for zxid in range(first, last + 1)]


def test_a_new_journal_has_nothing(shelf: Shelf) -> None:
    """No rows and no entries, at the first opening and at the next."""
    assert shelf.found() == ([], [])
    assert shelf.found() == ([], [])


def test_what_was_appended_is_found_in_order(shelf: Shelf) -> None:
    """By the same life and by the next one."""

    async def append(journal: Journal) -> None:
        await journal.append(numbered(1, 3))
        await journal.append(numbered(4, 4))
        assert list(journal.load()[1]) == numbered(1, 4)

    shelf.hold(append)
    assert shelf.found() == ([], numbered(1, 4))


def test_a_snapshot_replaces_what_it_holds(shelf: Shelf) -> None:
    """Its rows come back in order; entries behind it are all there, older ones need not be."""

    async def take_one(journal: Journal) -> None:
        await journal.append(numbered(1, 5))
        await journal.snapshot(3, (b"row %d" % number for number in range(100)))
        await journal.append(numbered(6, 6))

    shelf.hold(take_one)
    rows, entries = shelf.found()
    assert rows == [b"row %d" % number for number in range(100)]
    assert [entry for entry in entries if entry.zxid > 3] == numbered(4, 6)


def test_the_newest_snapshot_counts(shelf: Shelf) -> None:
    """One that was replaced is gone; one may be empty."""

    async def take_three(journal: Journal) -> None:
        await journal.snapshot(0, iter([b"one", b"two"]))
        await journal.append(numbered(1, 2))
        await journal.snapshot(2, iter(()))
        await journal.snapshot(2, iter([b"three"]))

    shelf.hold(take_three)
    rows, entries = shelf.found()
    assert rows == [b"three"]
    assert [entry for entry in entries if entry.zxid > 2] == []


def test_entries_come_while_a_snapshot_is_taken(shelf: Shelf) -> None:
    """A long snapshot does not hold them up, and does not lose them."""

    async def both(journal: Journal) -> None:
        await journal.append(numbered(1, 1))
        async with asyncio.TaskGroup() as tasks:
            _ = tasks.create_task(journal.snapshot(1, (b"%d" % row for row in range(200))))
            for zxid in range(2, 8):
                await journal.append(numbered(zxid, zxid))

    shelf.hold(both)
    rows, entries = shelf.found()
    assert len(rows) == 200
    assert [entry for entry in entries if entry.zxid > 1] == numbered(2, 7)
