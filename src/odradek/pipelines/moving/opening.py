"""The table that a run works on: as it is, or made by the run; refused if it is another kind."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.tables import commits, partitioning
from odradek.pipelines.tables.earlier import with_earlier
from odradek.pipelines.tables.files import DataFile, directory_of
from odradek.pipelines.tables.gaps import Gap
from odradek.pipelines.tables.growth import grown
from odradek.pipelines.tables.keys import KEYS, check_keys, keys_said
from odradek.pipelines.tables.location import open_table
from odradek.pipelines.tables.table import (
    AppendOnly,
    Change,
    NoSuchTable,
    Snapshot,
    Table,
    TableExists,
    TableRefused,
)
from odradek.pipelines.tables.writing import FILE_BYTES, Layout

KIND: Final = "kind"
LAYOUT: Final = "layout"
LAYOUT_VERSION: Final = "1"
LAYOUT_FOLLOWED: Final = "2"
"""Has `earlier` topics, whose ends a release that knows of none would take for the table's."""
"""Of names of files, of ends and of properties: a release that changes them raises it, so that an
older one does not take what it cannot read for a table without ends. A table without it has 1."""
LAYOUT_KEYED: Final = "3"
"""Has `keys`, and files whose names say no offsets."""
PREFIX: Final = "prefix"
BEGINS: Final = "begins"
ROWS: Final = "rows"
DEAD: Final = "dead letters"


class OpenTable:
    """One table and the version of it that this run knows."""

    def __init__(self, location: str, options: Mapping[str, str], *kinds: str) -> None:
        self.table: Table = open_table(location, options)
        self._kinds = kinds
        self._snapshot: Snapshot | None = None
        try:
            self._snapshot = self.table.load()
        except NoSuchTable:
            return
        self._check_kind()

    @property
    def exists(self) -> bool:
        """Whether there is such a table."""
        return self._snapshot is not None

    @property
    def snapshot(self) -> Snapshot:
        """The version that is known; `NoSuchTable` without one."""
        if self._snapshot is None:
            raise NoSuchTable(f"there is no table at {self.table.location}")
        return self._snapshot

    @property
    def prefix(self) -> str:
        """What the columns that every record has begin with here."""
        return self.snapshot.properties.get(PREFIX, "")

    @property
    def begins(self) -> Positions:
        """Where the table began when it was made; topics that came later are not among these."""
        return Positions.from_json(json.loads(self.snapshot.properties[BEGINS]))

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of a row's key, where each key has one row; else none."""
        return keys_said(self.snapshot.properties)

    def reload(self) -> Snapshot:
        """The newest version."""
        self._snapshot = self.table.load()
        return self._snapshot

    def create(
        self,
        schema: pa.Schema,
        fields: tuple[str, ...],
        positions: Positions,
        prefix: str,
        *,
        keys: tuple[str, ...] = (),
    ) -> None:
        """Makes the first version, or takes the one of a process that was quicker."""
        parsed = tuple(partitioning.parse(it) for it in fields)
        partitioning.check(parsed, schema)
        begins = json.dumps(positions.to_json())
        properties = {
            LAYOUT: LAYOUT_VERSION,
            KIND: self._kinds[0],
            PREFIX: prefix,
            BEGINS: begins,
        }
        if keys:
            check_keys(keys, schema)
            properties |= {LAYOUT: LAYOUT_KEYED, KEYS: json.dumps(keys)}
        try:
            self._snapshot = self.table.create(schema, parsed, positions, properties=properties)
        except TableExists:
            self._snapshot = self.table.load()
            self._check_kind()

    def check_prefix(self, prefix: str) -> None:
        """Refuses a table of raw records for rows of values, and the other way round."""
        if self.prefix != prefix:
            kinds = {"": "raw records"}
            raise TableRefused(
                f"{self.table.location} holds {kinds.get(self.prefix, 'rows made of values')}, "
                f"not {kinds.get(prefix, 'rows made of values')}"
            )

    def check_keys(self, keys: tuple[str, ...]) -> None:
        """Refuses a table of another mode, or of other keys: that of a table does not change."""
        if keys == self.keys:
            return
        kinds = [_mode(it) for it in (self.keys, keys)]
        raise TableRefused(
            f"{self.table.location} is a table with {kinds[0]}, and this would write {kinds[1]}: "
            "that cannot be changed; name another table.location"
        )

    def check_append(self, verb: str, instead: str) -> None:
        """Refuses a table in which each key has one row, and says what helps instead."""
        if self.keys:
            raise TableRefused(
                f"{self.table.location} has one row for each {_named(self.keys)}, the last; {verb} "
                f"cannot be done with it: {instead}"
            )

    def check_removable(self) -> None:
        """AppendOnly before the work of which it would be the end."""
        if self.snapshot.is_append_only:
            raise AppendOnly(self.table.location)

    def begin_again(self, change: Change, after: Positions) -> None:
        """Ends the table elsewhere, in other topics with the same names if need be, by one commit.

        CommitConflict where a run commits at the same time: stop it first.
        """
        before, told = self.snapshot.positions, self.snapshot.properties
        successors = with_earlier(told, before, after)
        properties = {**(change.properties or {}), **successors}
        if successors:
            begins = self.begins
            new = {
                name: topic
                for name, topic in after.topics.items()
                if topic.topic_id not in {it.topic_id for it in before.topics.values()}
            }
            whole = Positions(begins.cluster_id, {**begins.topics, **new})
            properties[BEGINS] = json.dumps(whole.to_json())
            properties[LAYOUT] = max(LAYOUT_FOLLOWED, told.get(LAYOUT, LAYOUT_VERSION))
        change = replace(change, positions=after, properties=properties)
        self._snapshot = self.table.commit(self.snapshot, change)

    def layout(self, file_bytes: int = FILE_BYTES) -> Layout:
        """How files of this version are written."""
        return Layout(
            self.table.store,
            self.snapshot.schema,
            self.snapshot.partitioning,
            self.table.holds_partition_columns,
            file_bytes,
            keys=self.keys,
            prefix=self.prefix,
            directory=directory_of(self.snapshot.properties),
            can_widen=self.table.can_widen,
        )

    def append(
        self,
        cluster_id: str,
        ranges: Sequence[OffsetRange],
        files: Sequence[DataFile],
        *,
        schemas: Sequence[pa.Schema | None] = (),
        gaps: Sequence[Gap] = (),
    ) -> None:
        """Commits a batch that begins where the table ends.

        The files of a batch that is refused are left to the sweep: after a lost answer of a catalog
        they may be in the table nevertheless.
        """
        schema = self.together(schemas)
        batch = commits.Batch(cluster_id, tuple(ranges), tuple(files), schema, tuple(gaps))
        self._snapshot = commits.append(self.table, self.snapshot, batch)

    def upsert(
        self, batch: commits.Batch, remove: Sequence[DataFile], among: frozenset[str]
    ) -> None:
        """Commits a batch that was merged into files; `FilesChanged`: merge it again."""
        self._snapshot = commits.upsert(
            self.table, self.snapshot, batch, remove=remove, among=among
        )

    def together(self, schemas: Sequence[pa.Schema | None]) -> pa.Schema | None:
        """One schema for what several tasks added to the table's."""
        whole: pa.Schema | None = None
        for schema in schemas:
            if schema is not None:
                whole = schema if whole is None else self._both(whole, schema)
        return whole

    def _both(self, one: pa.Schema, other: pa.Schema) -> pa.Schema:
        location, can_widen = self.table.location, self.table.can_widen
        return grown(one, other, location, can_widen=can_widen) or one

    def _check_kind(self) -> None:
        layout = self.snapshot.properties.get(LAYOUT, LAYOUT_VERSION)
        if layout not in {LAYOUT_VERSION, LAYOUT_FOLLOWED, LAYOUT_KEYED}:
            raise TableRefused(
                f"{self.table.location} has layout version {layout}, this release reads up to "
                f"{LAYOUT_KEYED}: a newer release made it"
            )
        found = self.snapshot.properties.get(KIND)
        if found not in self._kinds:
            raise TableRefused(
                f"{self.table.location} is a table of {found or 'another program'}, "
                f"not of {self._kinds[0]}"
            )


def _mode(keys: Sequence[str]) -> str:
    return f"one row for each {_named(keys)}" if keys else "a row for each record"


def _named(keys: Sequence[str]) -> str:
    return ", ".join(keys)
