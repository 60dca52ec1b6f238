"""What every table can do, whatever its format: load, create, commit on a version, list files.

A commit names the snapshot that it was decided on. It takes effect as a whole, as the next version
after that snapshot, or not at all with `CommitConflict`: then the caller loads the table again and
decides again. The end offset of every partition is part of the snapshot, changed by the same
commit as the files, so that rows and progress cannot differ.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

import pyarrow as pa

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.positions import Positions
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.partitioning import PartitionField
from odradek.pipelines.tables.store import Store

NOTHING_SAID: Final[Mapping[str, str]] = MappingProxyType({})


class NoSuchTable(PipelineError):
    """There is no table at this location."""


class TableExists(PipelineError):
    """Another process created the table first."""


class CommitConflict(PipelineError):
    """Another commit came first; nothing was changed by this one."""


class TableRefused(PipelineError):
    """The table cannot take this change: another cluster, another topic, or not where it ends."""


class DamagedLog(TableRefused):
    """What a table says of itself cannot be read."""


class AppendOnly(TableRefused):
    """Rows shall go from a table of which its owner says that none may."""

    def __init__(self, location: str) -> None:
        super().__init__(
            f"{location} is append-only, as its property delta.appendOnly says: no row of it can "
            "be replaced or removed until that property is unset"
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of a table."""

    version: int
    schema: pa.Schema
    partitioning: tuple[PartitionField, ...]
    positions: Positions
    properties: Mapping[str, str] = field(default_factory=dict)
    is_append_only: bool = False  # somebody said so: what is in the table may not be taken out


@dataclass(frozen=True, slots=True)
class Change:
    """What one commit does, all of it or nothing."""

    operation: str
    add: tuple[DataFile, ...] = ()
    remove: tuple[DataFile, ...] = ()
    positions: Positions | None = None
    schema: pa.Schema | None = None
    properties: Mapping[str, str] | None = None  # those that change
    summary: Mapping[str, str] = field(default_factory=dict)


class Table(Protocol):
    """A table at one location. Not shared between threads."""

    @property
    def location(self) -> str:
        """As a person writes it, such as `delta:lake/orders`."""

    @property
    def store(self) -> Store:
        """Where the data files lie; their paths are relative to it."""

    @property
    def holds_partition_columns(self) -> bool:
        """Whether a data file holds the columns that the table is partitioned by."""

    @property
    def can_widen(self) -> bool:
        """Whether the type of a column may come to hold more, beside files of what it was."""

    def load(self) -> Snapshot:
        """The newest version; `NoSuchTable` if there is none."""

    def create(
        self,
        schema: pa.Schema,
        partitioning: tuple[PartitionField, ...],
        positions: Positions,
        *,
        properties: Mapping[str, str] = NOTHING_SAID,
    ) -> Snapshot:
        """The first version, without rows; `TableExists` if another process was first."""

    def commit(self, base: Snapshot, change: Change) -> Snapshot:
        """The version after `base`; `CommitConflict` if that version exists already."""

    def files(self, snapshot: Snapshot) -> tuple[DataFile, ...]:
        """The data files of the snapshot that was loaded or committed last, oldest first."""

    def summary(self, snapshot: Snapshot) -> Mapping[str, str]:
        """What the commit that made this version said of itself, if that is still known."""

    def referenced(self) -> Collection[str]:
        """Paths of the data files that any version still needs, so that no sweep deletes them."""

    def expire(self, before_ms: int) -> int:
        """Forgets versions replaced before this time, and says how many; the newest stays."""
