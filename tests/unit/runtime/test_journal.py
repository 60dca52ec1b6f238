"""The journal on SQLite: what was answered is there, and what is not ours is left alone."""

import asyncio
import errno
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.ports import Entry
from odradek.runtime.doors.journal import MARK, NAME, SqliteJournal, journal_directory


def kept(directory: Path) -> tuple[list[bytes], list[Entry]]:
    """What a new process finds."""
    journal = SqliteJournal(directory)
    try:
        rows, entries = journal.load()
        return list(rows), list(entries)
    finally:
        journal.close()


def entries(first: int, last: int) -> list[Entry]:
    """Transactions with these numbers."""
    return [Entry(number, b"%d" % number * 10) for number in range(first, last + 1)]


async def written(directory: Path) -> None:
    """A journal with a snapshot of ten rows, up to 3, and two entries after it."""
    journal = SqliteJournal(directory)
    await journal.append(entries(1, 2))
    await journal.append(entries(3, 4))
    await journal.snapshot(3, (b"row %d" % number for number in range(10)))
    await journal.append(entries(5, 5))
    journal.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with such a journal."""
    asyncio.run(written(tmp_path))
    return tmp_path


def test_a_new_journal_is_empty(tmp_path: Path) -> None:
    """It is made with its directory."""
    assert kept(tmp_path / "deeper" / "still") == ([], [])


def test_snapshot_and_entries_come_back(directory: Path) -> None:
    """Rows in order, and at least the entries that are not in them."""
    rows, found = kept(directory)
    assert rows == [b"row %d" % number for number in range(10)]
    assert found == entries(3, 5), "a batch stays as long as any of it is needed"


def test_a_snapshot_takes_the_place_of_the_last_one(directory: Path) -> None:
    """And nothing of the last one is left in the file."""

    async def again() -> None:
        journal = SqliteJournal(directory)
        await journal.snapshot(5, [b"new"])
        journal.close()

    asyncio.run(again())
    assert kept(directory) == ([b"new"], [])
    with sqlite3.connect(directory / NAME) as database:
        assert database.execute("SELECT count(*) FROM rows").fetchone() == (1,)
    database.close()


def test_a_snapshot_that_broke_off_changes_nothing(directory: Path) -> None:
    """The old one counts until the new one is whole; the next attempt cleans up."""

    def broken() -> Iterator[bytes]:
        yield from [b"half"] * 20
        raise OSError(errno.EIO, "the disk failed")

    async def attempts() -> None:
        journal = SqliteJournal(directory)
        with pytest.raises(OSError, match="the disk failed"):
            await journal.snapshot(5, broken())
        journal.close()

    before = kept(directory)
    asyncio.run(attempts())
    assert kept(directory) == before
    asyncio.run(_snapshot(directory, [b"whole"]))
    assert kept(directory)[0] == [b"whole"]


def test_a_snapshot_given_up_may_count_all_the_same(directory: Path) -> None:
    """Who gave it up does not know; the next attempt must not take it for an unfinished one."""

    def broken() -> Iterator[bytes]:
        yield b"second"
        raise OSError(errno.EIO, "the disk failed")

    async def attempts() -> None:
        journal = SqliteJournal(directory)
        reached, released = threading.Event(), threading.Event()
        switch = journal._switch

        def late(generation: int) -> None:
            reached.set()
            released.wait()
            switch(generation)

        journal._switch = late  # type: ignore[method-assign] # the same, when we say so
        first = asyncio.create_task(journal.snapshot(5, [b"first"]))
        await asyncio.to_thread(reached.wait)
        first.cancel()
        second = asyncio.create_task(journal.snapshot(5, broken()))
        await asyncio.sleep(0)
        released.set()
        with pytest.raises(OSError, match="the disk failed"):
            await second
        journal.close()

    asyncio.run(attempts())
    assert kept(directory)[0] == [b"first"]


async def _snapshot(directory: Path, rows: list[bytes]) -> None:
    journal = SqliteJournal(directory)
    await journal.snapshot(5, rows)
    journal.close()


def test_batches_go_on_while_a_snapshot_is_written(directory: Path) -> None:
    """They wait for a piece of it at most, and both are there afterwards."""

    async def both() -> None:
        journal = SqliteJournal(directory)
        rows = (b"x" * 1_000 for _ in range(100))
        async with asyncio.TaskGroup() as tasks:
            snapshot = tasks.create_task(journal.snapshot(5, rows))
            for number in range(6, 12):
                await journal.append(entries(number, number))
            assert not snapshot.done(), "the batches waited for the whole snapshot"
        journal.close()

    asyncio.run(both())
    assert kept(directory) == ([b"x" * 1_000] * 100, entries(6, 11))


def test_a_journal_is_held_by_one_at_a_time(directory: Path) -> None:
    """The second is told so, and nothing happens to the first."""
    journal = SqliteJournal(directory)
    with pytest.raises(OSError, match="in use by another process"):
        SqliteJournal(directory)
    asyncio.run(journal.append(entries(6, 6)))
    journal.close()
    assert kept(directory)[1][-1] == entries(6, 6)[0]


def test_a_journal_that_is_missing_is_not_made_anew(directory: Path) -> None:
    """An empty one in its place would forget the whole cluster."""
    (directory / NAME).unlink()
    with pytest.raises(OSError, match=f"{MARK} beside it says that it was made"):
        SqliteJournal(directory)
    assert not (directory / NAME).exists()


@pytest.mark.parametrize("left", [0, 50, 100, 4_096, 9_000])
def test_a_journal_that_is_cut_is_refused(directory: Path, left: int) -> None:
    """Wherever it is cut; and not a byte of it is changed."""
    path = directory / NAME
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(OSError, match="journal") as refused:
        kept(directory)
    assert refused.value.filename == str(path)
    assert path.stat().st_size == left


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to look like one " * 20, bytes(4_096)]
)
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """It is named, and not touched."""
    path = tmp_path / NAME
    path.write_bytes(content)
    with pytest.raises(OSError, match="not a journal of Odradek's ZooKeeper"):
        SqliteJournal(tmp_path)
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == [NAME]


def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    """SQLite would open it gladly; we do not even ask it to."""
    path = tmp_path / NAME
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE theirs (x)")
    database.close()
    content = path.read_bytes()
    with pytest.raises(OSError, match="not a journal of Odradek's ZooKeeper"):
        SqliteJournal(tmp_path)
    assert path.read_bytes() == content


def test_a_row_that_was_changed_is_found(directory: Path) -> None:
    """By its checksum, be it an entry or a part of the snapshot."""
    for table in ("batches", "rows"):
        with sqlite3.connect(directory / NAME) as database:
            database.execute(f"UPDATE {table} SET data = x'00'")
        database.close()
        with pytest.raises(OSError, match="damaged"):
            kept(directory)


def test_a_full_disk_is_an_error_and_loses_nothing(directory: Path) -> None:
    """The batch is not there, in whole or in part; what came before it is."""

    async def fill() -> None:
        journal = SqliteJournal(directory)
        pages = journal._one("PRAGMA page_count")
        journal._database.execute(f"PRAGMA max_page_count={pages + 2}")
        with pytest.raises(OSError, match="full") as full:
            await journal.append([Entry(6, b"small"), Entry(7, b"x" * 100_000)])
        assert full.value.errno == errno.ENOSPC
        journal.close()

    before = kept(directory)
    asyncio.run(fill())
    assert kept(directory) == before


def test_a_journal_in_a_folder_from_before_is_found(tmp_path: Path) -> None:
    """It was in a folder of the log dir, which kept a Kafka from taking the dir over."""
    assert journal_directory(tmp_path) == tmp_path
    asyncio.run(written(tmp_path / "zookeeper"))
    assert journal_directory(tmp_path) == tmp_path / "zookeeper"
    asyncio.run(written(tmp_path))
    assert journal_directory(tmp_path) == tmp_path
