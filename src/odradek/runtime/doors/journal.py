"""The Journal door on SQLite: one file, one thread, one synced commit for each batch.

WAL with full sync: a commit costs one `fsync` and is there after a loss of power. A batch is one
row, written by one statement: beside a busy loop each further statement could wait 5 ms for the
interpreter's lock. Every row has a CRC-32C over its number and its bytes.

A snapshot is written in pieces, each its own commit, so that a batch never waits for more than one
piece; the last commit makes it the one that counts, and only then what it replaces is deleted, in
pieces too.

A journal is made under another name and renamed once it is whole, and a mark beside it says that it
was made. So one that is missing, cut, or not ours is told from one that is yet to be made, and is
never written to.
"""

import asyncio
import errno
import os
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from crc32c import crc32c

from odradek.ports import Entry

NAME: Final = "zookeeper.sqlite"
MARK: Final = "zookeeper.made"
APPLICATION_ID: Final = 0x4F44524B  # "ODRK", in the header of the file
VERSION: Final = 1
ROWS_PER_PIECE: Final = 8  # of a snapshot: about a megabyte
DELETED_PER_PIECE: Final = 2_000

_SCHEMA: Final = (
    "CREATE TABLE batches (last INTEGER PRIMARY KEY, crc INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE rows (id INTEGER PRIMARY KEY, crc INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE snapshot (one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL)",
    "INSERT INTO snapshot VALUES (1, 0)",
)
_DELETE_ROWS: Final = (
    "DELETE FROM rows WHERE id IN (SELECT id FROM rows WHERE id >= ? AND id < ? LIMIT ?)"
)
_DELETE_BATCHES: Final = (
    "DELETE FROM batches WHERE last IN "
    "(SELECT last FROM batches WHERE last >= ? AND last < ? LIMIT ?)"
)
_ENTRY: Final = struct.Struct(">qi")  # its number and its length, ahead of its bytes
_ERRNOS: Final = {
    "SQLITE_FULL": errno.ENOSPC,
    "SQLITE_BUSY": errno.EAGAIN,
    "SQLITE_LOCKED": errno.EAGAIN,
    "SQLITE_READONLY": errno.EROFS,
    "SQLITE_PERM": errno.EACCES,
    "SQLITE_CANTOPEN": errno.EACCES,
    "SQLITE_CORRUPT": errno.EBADMSG,
    "SQLITE_NOTADB": errno.EBADMSG,
}

T = TypeVar("T")


def journal_directory(path: Path) -> Path:
    """Where the journal of `path` is: perhaps in a folder `zookeeper`, as it was made before."""
    before = path / "zookeeper"
    is_there = (before / NAME).exists() and not (path / NAME).exists()
    return before if is_there else path


class SqliteJournal:
    """The journal in one directory, held by one process at a time."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        directory.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            self._make(directory)
        _check_header(self.path)
        _make_mark(directory)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="zookeeper-journal")
        with self._errors():
            self._database = _connect(self.path)
            try:
                self._generation = self._take()
            except BaseException:
                self._database.close()
                raise

    def _take(self) -> int:
        """Makes the store ours; the generation of its snapshot."""
        self._database.execute("PRAGMA locking_mode=EXCLUSIVE")
        mode = self._database.execute("PRAGMA journal_mode=WAL").fetchone()
        assert mode == ("wal",), mode
        self._database.execute("PRAGMA synchronous=FULL")
        generation: int = self._one("SELECT generation FROM snapshot")
        self._database.execute("BEGIN IMMEDIATE")  # takes the lock, and keeps it
        self._database.execute("COMMIT")
        return generation

    def load(self) -> tuple[Iterable[bytes], Iterable[Entry]]:
        """The newest snapshot's rows, and the entries that came after it, in order."""
        return self._rows(), self._entries()

    async def append(self, entries: Sequence[Entry]) -> None:
        """Returns when they are durable, all of them; an OSError says that none may be answered."""
        await self._in_thread(lambda: self._append(entries))

    async def snapshot(self, zxid: int, rows: Iterable[bytes]) -> None:
        """Replaces the snapshot, atomically, and forgets the entries up to and with `zxid`."""
        # Asked of the thread: an attempt that was given up may be about to count, there.
        generation = await self._in_thread(lambda: self._generation + 1)
        first, last = generation << 32, (generation + 1) << 32
        await self._delete(_DELETE_ROWS, first, last)  # of one that was never finished
        numbered = zip(range(first, last), rows, strict=False)
        while await self._in_thread(lambda: self._put(numbered)):
            pass
        await self._in_thread(lambda: self._switch(generation))
        await self._delete(_DELETE_ROWS, 0, first)
        await self._delete(_DELETE_BATCHES, 0, zxid + 1)

    def close(self) -> None:
        """Lets go of the store, once what is under way is done."""
        self._thread.shutdown()
        with self._errors():
            self._database.close()

    def _make(self, directory: Path) -> None:
        mark = directory / MARK
        if mark.exists():
            raise FileNotFoundError(
                errno.ENOENT,
                f"the journal is missing, but {MARK} beside it says that it was made; bring it "
                f"back, or remove {MARK} to begin with an empty one",
                str(self.path),
            )
        new = self.path.with_suffix(".new")
        new.unlink(missing_ok=True)
        new.touch()
        with self._errors(), closing(_connect(new)) as database:
            database.execute(f"PRAGMA application_id={APPLICATION_ID}")
            database.execute(f"PRAGMA user_version={VERSION}")
            for statement in _SCHEMA:
                database.execute(statement)
        new.rename(self.path)

    def _rows(self) -> Iterator[bytes]:
        first = self._generation << 32
        query = "SELECT id, crc, data FROM rows WHERE id >= ? AND id < ? ORDER BY id"
        for number, crc, data in self._select(query, first, first + (1 << 32)):
            yield self._checked(number, crc, data)

    def _entries(self) -> Iterator[Entry]:
        for last, crc, data in self._select("SELECT last, crc, data FROM batches ORDER BY last"):
            yield from _unpacked(self._checked(last, crc, data))

    def _select(self, query: str, *parameters: int) -> Iterator[tuple[int, int, object]]:
        with self._errors():
            yield from self._database.execute(query, parameters)

    def _checked(self, number: int, crc: int, data: object) -> bytes:
        if not isinstance(data, bytes) or crc != _crc(number, data):
            raise OSError(
                errno.EBADMSG, f"the row {number:#x} of the journal is damaged", str(self.path)
            )
        return data

    def _append(self, entries: Sequence[Entry]) -> None:
        last, data = entries[-1].zxid, _packed(entries)
        with self._errors():  # a statement by itself is a transaction by itself
            self._database.execute(
                "INSERT INTO batches VALUES (?, ?, ?)", (last, _crc(last, data), data)
            )

    def _put(self, numbered: Iterator[tuple[int, bytes]]) -> bool:
        piece = [
            (number, _crc(number, row), row) for number, row in islice(numbered, ROWS_PER_PIECE)
        ]
        if piece:
            with self._transaction():
                self._database.executemany("INSERT INTO rows VALUES (?, ?, ?)", piece)
        return bool(piece)

    def _switch(self, generation: int) -> None:
        with self._transaction():
            self._database.execute("UPDATE snapshot SET generation = ?", (generation,))
        self._generation = generation

    async def _delete(self, statement: str, first: int, last: int) -> None:
        while await self._in_thread(lambda: self._delete_piece(statement, first, last)):
            pass

    def _delete_piece(self, statement: str, first: int, last: int) -> bool:
        with self._transaction():
            done = self._database.execute(statement, (first, last, DELETED_PER_PIECE))
        return done.rowcount > 0

    def _one(self, query: str) -> int:
        (value,) = self._database.execute(query).fetchone()
        return int(value)

    async def _in_thread(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing. After an error of the disk SQLite has forgotten the transaction."""
        with self._errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _os_error(error, self.path) from error


def _connect(path: Path) -> sqlite3.Connection:
    """Never makes a file: `mode=rw` wants one that is there."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, timeout=0, isolation_level=None, check_same_thread=False, uri=True)


def _check_header(path: Path) -> None:
    """Looks without SQLite, which might repair what is not ours to repair."""
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100:
        problem = f"it is cut: {len(header)} bytes are left"
    elif header[:16] != b"SQLite format 3\0" or _number(header, 68) != APPLICATION_ID:
        problem = "it is not a journal of Odradek's ZooKeeper"
    elif _number(header, 60) != VERSION:
        problem = f"it has the version {_number(header, 60)}; this Odradek reads {VERSION}"
    else:
        return
    raise OSError(errno.EBADMSG, f"the journal cannot be used: {problem}", str(path))


def _make_mark(directory: Path) -> None:
    """Durable, and with it the name of the journal, before anything is written into it."""
    mark = directory / MARK
    if not mark.exists():
        mark.write_text("The journal of an embedded ZooKeeper was made here.\n")
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _packed(entries: Sequence[Entry]) -> bytes:
    parts = [part for zxid, data in entries for part in (_ENTRY.pack(zxid, len(data)), data)]
    return b"".join(parts)


def _unpacked(data: bytes) -> Iterator[Entry]:
    """What was packed: the checksum says that it is the same, so the lengths are true."""
    at = 0
    while at < len(data):
        zxid, length = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size + length
        yield Entry(zxid, data[at - length : at])


def _number(header: bytes, at: int) -> int:
    return int.from_bytes(header[at : at + 4], "big")


def _crc(number: int, data: bytes) -> int:
    """Over the number too: a row in the place of another is damage."""
    return crc32c(data, crc32c(number.to_bytes(8, "big")))


def _os_error(error: sqlite3.Error, path: Path) -> OSError:
    name = getattr(error, "sqlite_errorname", "")
    base = "_".join(name.split("_")[:2])  # SQLITE_IOERR_WRITE is an SQLITE_IOERR
    if base in {"SQLITE_BUSY", "SQLITE_LOCKED"}:
        sentence = "the journal is in use by another process"
    elif base in {"SQLITE_CORRUPT", "SQLITE_NOTADB"}:
        sentence = f"the journal is damaged: {error}"
    else:
        sentence = f"the journal failed: {error}"
    return OSError(_ERRNOS.get(base, errno.EIO), sentence, str(path))
