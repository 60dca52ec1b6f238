"""What becomes of rows, and of what happens to their keys: rows again, and records that may not.

The order of records is known within a partition alone. So a record takes no effect whose key has a
row of another partition: it is refused, and both are named. Where one batch has a key twice, the
partition that comes first is applied first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odradek.pipelines.columns import completed
from odradek.pipelines.tables.keys import Ahead, Sorted
from odradek.pipelines.tables.writing import Layout
from odradek.pipelines.upserts.columns import KEEPS, OFFSETS, OP, PUT

PLACE: Final = ("topic", "partition")
NONE: Final = -1


@dataclass(frozen=True, slots=True)
class Refused:
    """Records of one partition whose key has a row of another."""

    topic: str
    partition: int
    offsets: tuple[int, ...]
    reason: str


@dataclass
class Fold:
    """Applies changes to rows of a table with this layout, and notes what came of it."""

    layout: Layout
    refused: list[Refused] = field(default_factory=list)
    is_changed: bool = False

    def rows(self, stored: Iterator[Sorted], changes: Ahead) -> Iterator[Sorted]:
        """All rows as they are then. Either comes in the order of keys."""
        for some in stored:
            before = list(changes.up_to(some.keys[-1]))
            if not before:
                yield some
                continue
            yield from self._applied(some, joined_parts(before))
        for rest in changes.below(None):
            nothing = completed(pa.RecordBatch.from_pydict({}), self.layout.schema).slice(0, 0)
            yield from self._applied(Sorted(nothing, rest.keys[:0]), rest)

    def _applied(self, stored: Sorted, changes: Sorted) -> Iterator[Sorted]:
        found = Applied(self, stored, changes).rows()
        if len(found.keys):
            yield found


def joined_parts(parts: Sequence[Sorted]) -> Sorted:
    """Some that follow each other, as one."""
    if len(parts) == 1:
        return parts[0]
    rows = pa.Table.from_batches([it.rows for it in parts]).combine_chunks()
    return Sorted(rows.to_batches()[0], np.concatenate([it.keys for it in parts]))


class Applied:
    """Some stored rows and some changes: which row a key has then, and where its values are.

    `both` are the rows, and behind them the changes as if they were rows. What a key has is the
    number of one of these.
    """

    def __init__(self, fold: Fold, stored: Sorted, changes: Sorted) -> None:
        self._fold = fold
        self._stored = stored
        self._changes = changes
        self._schema = fold.layout.schema
        self._count = len(stored.keys)
        self._place = [fold.layout.column(it) for it in PLACE]
        self._other: dict[str, dict[int, int | None]] = {}
        """By column, and by number of the change that is the row: whose value it has instead."""

    def rows(self) -> Sorted:
        """Of all these keys."""
        keys = self._changes.keys
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        ends = np.append(starts[1:], len(keys))
        single = keys[starts]
        at = np.searchsorted(self._stored.keys, single)
        held = np.minimum(at, max(self._count - 1, 0))
        is_held = (at < self._count) & (
            self._stored.keys[held] == single if self._count else np.zeros(len(single), bool)
        )
        before = np.where(is_held, at, NONE)
        ops = self._changes.rows.column(OP).to_numpy()
        after = np.where(ops[ends - 1] == PUT, self._count + ends - 1, NONE)
        for number in np.flatnonzero(self._strange(before, starts, ends)).tolist():
            some = range(int(starts[number]), int(ends[number]))
            after[number] = self._one_by_one(int(before[number]), some, ops)
        if (before != after).any():
            self._fold.is_changed = True
        return self._made(single, before, after)

    def _strange(self, before: Any, starts: Any, ends: Any) -> Any:
        """Which keys have records of two partitions, or a record that keeps something."""
        rows, found = self._changes.rows, np.zeros(len(starts), bool)
        keeps = rows.column(KEEPS)
        if keeps.null_count < rows.num_rows:
            of = np.repeat(np.arange(len(starts)), ends - starts)
            found[of[keeps.is_valid().to_numpy(zero_copy_only=False)]] = True
        first = np.repeat(starts, ends - starts)
        held = np.flatnonzero(before != NONE)
        for name in self._place:
            column = rows.column(name)
            if len(starts) < rows.num_rows:
                same = pc.equal(column, column.take(pa.array(first)))
                found |= ~np.logical_and.reduceat(same.to_numpy(zero_copy_only=False), starts)
            if len(held):
                stored = self._stored.rows.column(name).take(pa.array(before[held]))
                same = pc.equal(stored, column.take(pa.array(starts[held])))
                found[held] |= ~same.to_numpy(zero_copy_only=False)
        return found

    def _one_by_one(self, now: int, some: range, ops: Any) -> int:
        """What a key has after all of its changes."""
        place = None if now == NONE else self._place_of(self._stored.rows, now)
        for at in some:
            of = self._place_of(self._changes.rows, at)
            offsets = self._changes.rows.column(OFFSETS)[at].as_py()
            if offsets and place is not None and place != of:
                self._refuse(of, place, offsets)
                continue
            if ops[at] != PUT:
                now, place = NONE, None
                continue
            self._keep(now, at)
            now, place = self._count + at, of
        return now

    def _place_of(self, rows: pa.RecordBatch, at: int) -> tuple[str, int]:
        topic, partition = (rows.column(it)[at].as_py() for it in self._place)
        return topic, partition

    def _refuse(self, of: tuple[str, int], place: tuple[str, int], offsets: list[int]) -> None:
        reason = (
            f"its key has a row of partition {place[0]}-{place[1]}, and this record is of "
            f"{of[0]}-{of[1]}: nothing says which of them is later"
        )
        self._fold.refused.append(Refused(*of, tuple(offsets), reason))

    def _keep(self, now: int, at: int) -> None:
        """Columns that a change leaves as they were, or null where there was no row."""
        for name in self._changes.rows.column(KEEPS)[at].as_py() or ():
            there = self._other.setdefault(name, {})
            there[self._count + at] = there.get(now, None if now == NONE else now)

    def _made(self, single: Any, before: Any, after: Any) -> Sorted:
        left = np.ones(self._count, bool)
        left[before[before != NONE]] = False
        stays, comes = np.flatnonzero(left), after != NONE
        keys = np.concatenate([self._stored.keys[stays], single[comes]])
        numbers = np.concatenate([stays, after[comes]])
        order = np.argsort(keys, kind="stable")
        return Sorted(self._taken(numbers[order]), keys[order])

    def _taken(self, numbers: Any) -> pa.RecordBatch:
        columns = []
        changes = completed(self._changes.rows.select(self._named()), self._schema)
        for it in self._schema:
            both = pa.chunked_array([self._stored.rows.column(it.name), changes.column(it.name)])
            there = self._other.get(it.name)
            at = numbers
            if there is not None:
                at = [there.get(number, number) for number in numbers.tolist()]
            taken = both.take(pa.array(at, pa.int64()))
            columns.append(
                pa.concat_arrays(taken.chunks) if taken.num_chunks != 1 else taken.chunk(0)
            )
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _named(self) -> list[str]:
        return [it for it in self._schema.names if it in self._changes.rows.schema.names]
