"""Notes in a log's directory that tell of several copies of it which one has served last.

Each move takes two numbers above all that the log has had: the copy has the first before it can
have the log's name, and the second waits in the log that moves. If the move does not succeed the
log gets it, by a rename that needs no room, before it is written to again. So the copy that served
last has the highest number in whatever order disks do, late or never, what they were asked for.

Numbers are compared within a chain, which begins with a log's first move. What was made anew is of
none: of it and of an older copy that comes back with its disk no number tells which one is true.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from odradek.ports import Disk
from odradek.storage.errors import CorruptFile
from odradek.storage.files.dir_files import read_small, write_small, write_synced
from odradek.storage.files.failures import FULL
from odradek.storage.files.names import KEPT_HERE, MOVED_HERE, MOVING_AWAY, NAME_BYTES_MAX

UNNUMBERED: Final = ""
"""The chain of notes that earlier versions left: they had neither chain nor number."""
MOVED_UNNUMBERED: Final = 1
KEPT_UNNUMBERED: Final = 2


class Note(NamedTuple):
    """What one of the files says."""

    chain: str
    number: int
    other: str  # the dir at the other end of the move; empty if an earlier version did not say

    def encode(self) -> bytes:
        """As it lies in the file."""
        return f"{self.other}\n{self.chain}\n{self.number}".encode()


class Moves(NamedTuple):
    """What a log's moves have left in its directory."""

    served: Note | None = None  # under which number it served last
    leaving: Note | None = None  # it may have a copy elsewhere, of the number below this one

    @property
    def chain(self) -> str | None:
        """None: it has never been moved."""
        notes = [it.chain for it in (self.leaving, self.served) if it is not None]
        return notes[0] if notes else None

    @property
    def number(self) -> int:
        """Of the copies of a chain the one with the highest has served last."""
        return 0 if self.served is None else self.served.number

    @property
    def number_max(self) -> int:
        """The highest that any copy has, or may get."""
        return max(self.number, 0 if self.leaving is None else self.leaving.number)


def read_moves(disk: Disk, directory: str) -> Moves:
    """What the notes in a log's directory say."""
    names = disk.names(directory)
    moved = _read(disk, directory, MOVED_HERE, MOVED_UNNUMBERED)
    kept = _newest(_read(disk, directory, KEPT_HERE, KEPT_UNNUMBERED), _named(names, KEPT_HERE))
    leaving = _newest(_read(disk, directory, MOVING_AWAY, 0), _named(names, MOVING_AWAY))
    served = _newest(moved, [] if kept is None else [kept])
    if leaving is not None and served is not None and leaving.number <= served.number:
        leaving = None  # of a move before
    return Moves(served, leaving)


def note_moved(disk: Disk, directory: str, note: Note) -> None:
    """Durably: this copy is about to take the place of one in another dir."""
    write_small(disk, f"{directory}/{MOVED_HERE}", note.encode())


def note_leaving(disk: Disk, directory: str, note: Note) -> None:
    """Durably: another copy is about to take this one's place; the number is for the other case.

    A disk without room, from which a log moves for that, takes an empty file still: its name says
    what its bytes would.
    """
    try:
        write_small(disk, f"{directory}/{MOVING_AWAY}", note.encode())
    except OSError as error:
        name = f"{MOVING_AWAY}.{note.chain}.{quote(note.other, safe='')}.{note.number}"
        if error.errno not in FULL or len(name) > NAME_BYTES_MAX:
            raise
        write_synced(disk, f"{directory}/{name}", b"")
        disk.sync_directory(directory)


def note_kept(disk: Disk, directory: str) -> None:
    """Durably: no other copy took its place, or shall; it may be called again."""
    leaving = [name for name in disk.names(directory) if _is_note(name, MOVING_AWAY)]
    for name in leaving:
        disk.rename(f"{directory}/{name}", f"{directory}/{name.replace(MOVING_AWAY, KEPT_HERE, 1)}")
    if leaving:
        disk.sync_directory(directory)


def is_leaving(names: Iterable[str]) -> bool:
    """Whether one of the files in a log's directory says that it may have been replaced."""
    return any(_is_note(name, MOVING_AWAY) for name in names)


def _is_note(name: str, kind: str) -> bool:
    return name == kind or bool(_named([name], kind))


def _named(names: Iterable[str], kind: str) -> list[Note]:
    """The notes of a kind that have no bytes."""
    notes = []
    for name in names:
        chain, _, rest = name.removeprefix(f"{kind}.").partition(".")
        other, _, number = rest.rpartition(".")
        if name.startswith(f"{kind}.") and number.isdecimal():
            notes.append(Note(chain, int(number), unquote(other)))
    return notes


def _newest(note: Note | None, others: Iterable[Note]) -> Note | None:
    notes = [*([] if note is None else [note]), *others]
    return max(notes, key=lambda it: it.number, default=None)


def _read(disk: Disk, directory: str, name: str, unnumbered: int) -> Note | None:
    path = f"{directory}/{name}"
    try:
        data = read_small(disk, path)
    except FileNotFoundError:
        return None
    lines = data.decode("utf-8", "replace").rsplit("\n", 2)
    if len(lines) == 1 and unnumbered:
        return Note(UNNUMBERED, unnumbered, lines[0])
    if len(lines) != 3 or not lines[2].isdecimal():
        raise CorruptFile(path, 0, f"{data!r} is no note of a move")
    return Note(lines[1], int(lines[2]), lines[0])
