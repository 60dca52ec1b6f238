"""What a disk remembers: bytes and names, as programs see them and as a crash leaves them.

The fault model, which every journalling file system keeps:

* Bytes. What was synced survives. Of what was written since, each page is found as it was at
  some moment between the last sync and the crash, pages independently of each other (writes are
  lost and reordered), and a page may be cut in two such moments (a torn write). The size is
  that of some moment too, whichever bytes made it: where it promises bytes that never reached
  the medium there are zeros. A page never shows what was cut off before its size's moment.
* Names. A change of names is whole or absent. Changes of the same name keep their order; others
  survive independently, unless their directory was synced, or the rules say that the file system
  keeps all in order, as journalling ones do. A synced file may lack its name.
* A failed sync: the kernel forgets that the pages are dirty. They can be read until the crash,
  later syncs succeed, and the crash takes them.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from odradek.model.units import Timestamp
from odradek.ports import Random

UNSYNCED_MAX: Final = 512  # then the kernel has written the oldest back by itself
WRITTEN_BACK: Final = 256

EPOCH: Final = Timestamp(0)

NOTHING: Final = 0
EVERYTHING: Final = 1
A_PREFIX: Final = 2
EACH_ITS_OWN: Final = 3


@dataclass(frozen=True, slots=True)
class CrashRules:
    """How cruel a crash may be within the model."""

    page_bytes: int = 4_096
    tear_one_in: int = 4  # so many changed pages to one that is cut in the middle; 0: none is
    names_in_order: bool = False  # of unsynced changes of names the first ones survive


class Change(NamedTuple):
    """A write of `data` at `position`, or, without data, a truncation to that size."""

    position: int
    data: bytes | None


class Contents:
    """The bytes of one file, of which those in `unsynced` are not yet safe."""

    __slots__ = ("current", "durable", "modified", "names", "opens", "reserved", "unsynced")

    def __init__(self, durable: bytes = b"", modified: Timestamp = EPOCH) -> None:
        self.current = bytearray(durable)
        self.durable = bytearray(durable)
        self.unsynced: list[Change] = []
        self.modified = modified
        self.reserved = 0
        self.opens = 0
        self.names = 1  # as programs see them

    @property
    def space(self) -> int:
        """What it takes of the disk's room."""
        return max(len(self.current), self.reserved)

    def change(self, change: Change) -> None:
        """Visible at once, durable at the next sync."""
        _apply(self.current, change)
        self.unsynced.append(change)
        if len(self.unsynced) > UNSYNCED_MAX:
            for old in self.unsynced[:WRITTEN_BACK]:
                _apply(self.durable, old)
            del self.unsynced[:WRITTEN_BACK]

    def sync(self) -> None:
        """All that was written is safe."""
        for change in self.unsynced:
            _apply(self.durable, change)
        self.unsynced.clear()

    def fail_to_sync(self) -> None:
        """All that was written looks clean and is doomed."""
        self.unsynced.clear()

    def flip(self, position: int, bit: int) -> None:
        """Rot: one bit turns, in the medium and in what is read from it."""
        for data in (self.current, self.durable):
            if position < len(data):
                data[position] ^= 1 << bit

    def survivor(self, chance: Random, rules: CrashRules) -> "Contents":
        """This file after a crash."""
        return Contents(bytes(_survive(self, chance, rules)), self.modified)


@dataclass(slots=True, eq=False)
class Directory:
    """Names as programs see them, and as they stand on the medium."""

    current: dict[str, "Node"] = field(default_factory=dict)
    durable: dict[str, "Node"] = field(default_factory=dict)


Node = Contents | Directory


class Piece(NamedTuple):
    """Bytes from `start` to `stop` as they were after so many changes."""

    moment: int
    start: int
    stop: int


class NameChange:
    """What one call did to names, all or nothing: the directory, the name, what it is now.

    Equal keys mean the same name; numbers of directories are compared only, never ordered.
    """

    __slots__ = ("directories", "entries", "keys")

    def __init__(self, entries: tuple[tuple[Directory, str, Node | None], ...]) -> None:
        self.entries = entries
        self.directories = frozenset([id(directory) for directory, _, _ in entries])
        self.keys = frozenset([(id(directory), name) for directory, name, _ in entries])


class Names:
    """The tree of directories, and the changes to it that are not yet safe."""

    def __init__(self, root: Directory | None = None) -> None:
        self.root = root or Directory()
        self.unsynced: list[NameChange] = []

    def change(self, *entries: tuple[Directory, str, Node | None]) -> None:
        """Visible at once, durable when one of the directories is synced."""
        for directory, name, node in entries:
            _set(directory.current, name, node)
        self.unsynced.append(NameChange(entries))
        if len(self.unsynced) > UNSYNCED_MAX:
            for change in self.unsynced[:WRITTEN_BACK]:
                _make_durable(change)
            del self.unsynced[:WRITTEN_BACK]

    def sync(self, directory: Directory) -> None:
        """The names in this directory are safe, and the earlier changes that they rest on."""
        number = id(directory)
        wanted: list[NameChange] = []
        rest: list[NameChange] = []
        keys: set[tuple[int, str]] = set()
        for change in reversed(self.unsynced):
            if number in change.directories or not keys.isdisjoint(change.keys):
                wanted.append(change)
                keys |= change.keys
            else:
                rest.append(change)
        if wanted:
            for change in reversed(wanted):
                _make_durable(change)
            self.unsynced = rest[::-1]

    def survivor(self, chance: Random, rules: CrashRules) -> "Names":
        """The tree after a crash, with all its files; this one is left as it is."""
        lost = _lost_changes(self.unsynced, chance, rules)
        kept = [change for index, change in enumerate(self.unsynced) if index not in lost]
        return Names(_survive_tree(self.root, kept, chance, rules))

    def files(self) -> Iterator[tuple[str, Contents]]:
        """Every file that has a name, with its path; one of several names comes as often."""
        waiting = [("", self.root)]
        while waiting:
            above, directory = waiting.pop()
            for name, node in sorted(directory.current.items()):
                path = f"{above}{name}"
                if isinstance(node, Directory):
                    waiting.append((f"{path}/", node))
                else:
                    yield path, node


def _apply(data: bytearray, change: Change) -> None:
    position, new = change
    if len(data) < position:
        data.extend(bytes(position - len(data)))
    if new is None:
        del data[position:]
    else:
        data[position : position + len(new)] = new


def _set(names: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _make_durable(change: NameChange) -> None:
    for directory, name, node in change.entries:
        _set(directory.durable, name, node)


def _survive(contents: Contents, chance: Random, rules: CrashRules) -> bytearray:
    """The bytes that are found after a crash; see the model above."""
    changes = contents.unsynced
    if not changes:
        return contents.durable
    fate = chance.below(4)
    if fate == EACH_ITS_OWN:
        return _survive_by_page(contents, chance, rules)
    count = len(changes)
    return _after(contents, chance.below(count + 1) if fate == A_PREFIX else fate * count)


def _survive_by_page(contents: Contents, chance: Random, rules: CrashRules) -> bytearray:
    """Draws a moment for the size and one for each page, and puts the pieces together."""
    sized_at = chance.below(len(contents.unsynced) + 1)
    found = bytearray(len(_after(contents, sized_at)))
    pieces: list[Piece] = []
    for page, moments in sorted(_moments_by_page(contents, sized_at, rules).items()):
        pieces += _pieces(page * rules.page_bytes, moments, chance, rules)
    pieces.sort()
    data, done = bytearray(contents.durable), 0
    for moment, start, stop in pieces:
        for change in contents.unsynced[done:moment]:
            _apply(data, change)
        done = moment
        end = min(stop, len(found), len(data), _cut_off(contents, moment, sized_at))
        if start < end:
            found[start:end] = data[start:end]
    return found


def _after(contents: Contents, count: int) -> bytearray:
    """The bytes as they were after so many of the unsynced changes."""
    data = bytearray(contents.durable)
    for change in contents.unsynced[:count]:
        _apply(data, change)
    return data


def _cut_off(contents: Contents, moment: int, sized_at: int) -> int:
    """From where on bytes of that moment were cut off before the size's moment."""
    cuts = (position for position, data in contents.unsynced[moment:sized_at] if data is None)
    return min(cuts, default=sys.maxsize)


def _moments_by_page(contents: Contents, sized_at: int, rules: CrashRules) -> dict[int, list[int]]:
    """For each page, after how many changes it may have been written out last.

    Blocks that a truncation frees are not used anew before it is on the medium: behind one that
    is not, no later write has arrived.
    """
    size, page_bytes = len(contents.durable), rules.page_bytes
    moments = {page: [0] for page in range(-(-size // page_bytes))}
    frozen_from = sys.maxsize
    for index, (position, data) in enumerate(contents.unsynced, start=1):
        if data is None:
            if position < size and index > sized_at:
                frozen_from = min(frozen_from, position // page_bytes)
            size = position
            continue
        end = position + len(data)
        for page in range(min(size, position) // page_bytes, -(-end // page_bytes)):
            if page < frozen_from:
                moments.setdefault(page, [0]).append(index)
        size = max(size, end)
    return moments


def _pieces(start: int, moments: Sequence[int], chance: Random, rules: CrashRules) -> list["Piece"]:
    """The page that starts there: whole, or cut in two that were written at different moments."""
    stop = start + rules.page_bytes
    if len(moments) == 1:
        return [Piece(moments[0], start, stop)]
    first = moments[chance.below(len(moments))]
    if not rules.tear_one_in or chance.below(rules.tear_one_in):
        return [Piece(first, start, stop)]
    cut = start + 1 + chance.below(rules.page_bytes - 1)
    second = moments[chance.below(len(moments))]
    return [Piece(first, start, cut), Piece(second, cut, stop)]


def _lost_changes(changes: Sequence[NameChange], chance: Random, rules: CrashRules) -> set[int]:
    """Which changes of names a crash undoes; what rests on a lost one is lost with it."""
    if not changes:
        return set()
    fate = A_PREFIX if rules.names_in_order else chance.below(4)
    count = len(changes)
    if fate == A_PREFIX:
        return set(range(chance.below(count + 1), count))
    if fate != EACH_ITS_OWN:
        return set(range(count)) if fate == NOTHING else set()
    lost: set[int] = set()
    gone: set[tuple[int, str]] = set()
    for index, change in enumerate(changes):
        if not gone.isdisjoint(change.keys) or chance.below(2):
            lost.add(index)
            gone |= change.keys
    return lost


def _survive_tree(
    root: Directory, kept: Sequence[NameChange], chance: Random, rules: CrashRules
) -> Directory:
    """A new tree with what is durable, what was kept, and what is left of each file."""
    overlay: dict[int, dict[str, Node]] = {}
    for change in kept:
        for directory, name, node in change.entries:
            _set(overlay.setdefault(id(directory), dict(directory.durable)), name, node)

    files: dict[int, Contents] = {}

    def copy_file(old: Contents) -> Contents:
        found = files.get(id(old))
        if found is None:
            found = files[id(old)] = old.survivor(chance, rules)
        else:
            found.names += 1
        return found

    def copy(old: Directory) -> Directory:
        new = Directory()
        for name, node in sorted(overlay.get(id(old), old.durable).items()):
            survivor = copy(node) if isinstance(node, Directory) else copy_file(node)
            new.current[name] = new.durable[name] = survivor
        return new

    return copy(root)
