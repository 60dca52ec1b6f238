"""A table whose versions are numbered objects of a log: what Delta and our Parquet tables share.

Version N is the object of number N, put only if it is not there. The state of the table is what
the newest checkpoint holds and the versions after it change. A format says how a version is
written and read: `LogFormat`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import pyarrow as pa

from odradek.pipelines.positions import NO_EPOCH, Positions, TopicPositions
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.object_store import NoSuchBucket, ObjectStore
from odradek.pipelines.tables.partitioning import PartitionField
from odradek.pipelines.tables.staging import StagedStore
from odradek.pipelines.tables.store import Store, now_ms
from odradek.pipelines.tables.table import (
    NOTHING_SAID,
    AppendOnly,
    Change,
    CommitConflict,
    DamagedLog,
    NoSuchTable,
    Snapshot,
    TableExists,
)

LOG_KEPT_MS: Final = 7 * 24 * 3_600_000
"""How long a version that was replaced is kept in the log, whatever `expire` is told: a writer
that decided on a version must find the next number taken, not free again."""


@dataclass(slots=True)
class TopicEnds:
    """Where the table ends in one topic: (end offset, leader epoch) by partition."""

    topic_id: str
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class LogState:
    """What the versions that were read add up to."""

    version: int
    schema: pa.Schema
    partitioning: tuple[PartitionField, ...] = ()
    cluster_id: str = ""
    topics: dict[str, TopicEnds] = field(default_factory=dict)
    files: dict[str, DataFile] = field(default_factory=dict)
    removed_ms: dict[str, int] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    said: Mapping[str, Any] = field(default_factory=dict)
    """What the newest version says of the table in the format's own words, also what others say
    there: it is written again with what changes, and nothing of it is left out."""
    is_append_only: bool = False

    def positions(self) -> Positions:
        """As the rest of the pipeline has them."""
        topics = {
            name: TopicPositions(
                topic.topic_id,
                {number: end for number, (end, _) in sorted(topic.ends.items())},
                {number: era for number, (_, era) in sorted(topic.ends.items())},
            )
            for name, topic in sorted(self.topics.items())
        }
        return Positions(self.cluster_id, topics)

    def follow(self, positions: Positions) -> None:
        """Takes over where a commit says that the table ends."""
        self.cluster_id = positions.cluster_id
        self.topics = {
            name: TopicEnds(
                topic.topic_id,
                {
                    number: (end, topic.leader_epochs.get(number, NO_EPOCH))
                    for number, end in topic.offsets.items()
                },
            )
            for name, topic in positions.topics.items()
        }

    def snapshot(self) -> Snapshot:
        """What callers see."""
        return Snapshot(
            self.version,
            self.schema,
            self.partitioning,
            self.positions(),
            dict(self.properties),
            self.is_append_only,
        )

    def take(self, add: Collection[DataFile], remove: Mapping[str, int]) -> None:
        """Files that came, and those that went at some time."""
        for path, at_ms in remove.items():
            if self.files.pop(path, None) is not None:
                self.removed_ms[path] = at_ms
        for file in add:
            self.files[file.path] = file
            self.removed_ms.pop(file.path, None)


class LogFormat(Protocol):
    """How one format writes its log."""

    @property
    def name(self) -> str:
        """As locations have it."""

    @property
    def checkpoint_every(self) -> int:
        """After how many versions."""

    @property
    def holds_partition_columns(self) -> bool:
        """Whether data files hold the columns that the table is partitioned by."""

    def key(self, version: int) -> str:
        """Where a version lies."""

    def first(self, state: LogState, now_ms: int) -> bytes:
        """Version 0."""

    def encode(self, base: LogState, change: Change, now_ms: int) -> bytes:
        """The version after `base`; no two calls give the same bytes."""

    def apply(self, state: LogState | None, version: int, data: bytes) -> LogState:
        """The state after a version."""

    def summary(self, data: bytes) -> Mapping[str, str]:
        """What a version says of itself."""

    def checkpoint(self, store: Store) -> LogState | None:
        """The state of the newest checkpoint; None: the log begins with version 0."""

    def write_checkpoint(self, store: Store, state: LogState) -> None:
        """Makes one, so that a reader need not read all versions."""

    def clean(self, store: Store, before_ms: int) -> int:
        """Deletes versions that a checkpoint covers and that are older than this; says how many."""


class LogTable:
    """A table that is a log of versions."""

    can_widen = False

    def __init__(self, store: Store, form: LogFormat) -> None:
        self.store = store
        self._form = form
        self._state: LogState | None = None
        self._in_sight: set[str] = set()
        self._out_of_sight: set[str] = set()

    @property
    def location(self) -> str:
        """As it is written in a definition."""
        return f"{self._form.name}:{self.store.uri}"

    @property
    def holds_partition_columns(self) -> bool:
        """As the format has it."""
        return self._form.holds_partition_columns

    def load(self) -> Snapshot:
        """Reads on from the version that was read last."""
        state = self._state or self._checkpoint()
        version = -1 if state is None else state.version
        while (data := self.store.get(self._form.key(version + 1))) is not None:
            version += 1
            state = self._applied(state, version, data)
        if state is None:
            return self._begun_meanwhile()
        self._state = state
        self._settle(state)
        return state.snapshot()

    def _begun_meanwhile(self) -> Snapshot:
        """By another process; `NoSuchTable`, or `DamagedLog` where versions have no first one."""
        folder = self._form.key(0).rpartition("/")[0]
        try:
            left = [it.key for it in self.store.list(folder) if it.key.endswith(".json")]
        except NoSuchBucket:
            left = []  # who makes the table is told so
        if not left:
            raise NoSuchTable(f"there is no table at {self.location}")
        if self._form.key(0) not in left:
            raise DamagedLog(
                f"{self.location}: {self._form.key(0)} is not there, and {min(left)} is: restore "
                "the log, or begin another table"
            )
        return self.load()

    def _checkpoint(self) -> LogState | None:
        try:
            return self._form.checkpoint(self.store)
        except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
            raise DamagedLog(
                f"{self.location}: the checkpoint of its log cannot be read ({error!r}): restore "
                "that file, or begin another table"
            ) from error

    def _applied(self, state: LogState | None, version: int, data: bytes) -> LogState:
        try:
            return self._form.apply(state, version, data)
        except (ValueError, KeyError, TypeError) as error:
            self._state = None
            raise DamagedLog(
                f"{self.location}: {self._form.key(version)} cannot be read ({error!r}): restore "
                "that file, or begin another table"
            ) from error

    def create(
        self,
        schema: pa.Schema,
        partitioning: tuple[PartitionField, ...],
        positions: Positions,
        *,
        properties: Mapping[str, str] = NOTHING_SAID,
    ) -> Snapshot:
        """Puts version 0."""
        if isinstance(self.store, ObjectStore):
            self.store.check_conditional_puts()
        state = LogState(0, schema, partitioning, properties=dict(properties))
        state.follow(positions)
        data = self._form.first(state, now_ms())
        if not self.store.put_new(self._form.key(0), data):
            raise TableExists(f"{self.location} was created by another process")
        self._state = self._form.apply(None, 0, data)
        return self._state.snapshot()

    def commit(self, base: Snapshot, change: Change) -> Snapshot:
        """Puts the next version, and makes a checkpoint now and then."""
        state = self._state
        if state is None or state.version != base.version:
            raise CommitConflict(f"{self.location} has moved on from version {base.version}")
        if state.is_append_only and change.remove and change.operation != "merge":
            raise AppendOnly(self.location)
        version = base.version + 1
        key = self._form.key(version)
        data = self._form.encode(state, change, now_ms())
        if not self.store.put_new(key, data) and self.store.get(key) != data:
            raise CommitConflict(f"{self.location} has a version {version} by another process")
        self._state = self._form.apply(state, version, data)
        self._settle(self._state)
        if version % self._form.checkpoint_every == 0:
            self._form.write_checkpoint(self.store, self._state)
        return self._state.snapshot()

    def files(self, snapshot: Snapshot) -> tuple[DataFile, ...]:
        """Those of the version that was read last."""
        state = self._loaded(snapshot)
        return tuple(state.files.values())

    def summary(self, snapshot: Snapshot) -> Mapping[str, str]:
        """From the version itself, which others may have written, or cleaned."""
        data = self.store.get(self._form.key(snapshot.version))
        return {} if data is None else self._form.summary(data)

    def referenced(self) -> Collection[str]:
        """What the newest version holds, and what was removed and is not expired."""
        self.load()
        assert self._state is not None
        return {*self._state.files, *self._state.removed_ms}

    def expire(self, before_ms: int) -> int:
        """Forgets removed files, and the log that a checkpoint covers."""
        self.load()
        state = self._state
        assert state is not None
        gone = [path for path, at_ms in state.removed_ms.items() if at_ms < before_ms]
        self.store.delete(gone)
        for path in gone:
            del state.removed_ms[path]
        self._form.write_checkpoint(self.store, state)
        return self._form.clean(self.store, min(before_ms, now_ms() - LOG_KEPT_MS))

    def _settle(self, state: LogState) -> None:
        """A process that knows a version gives its files their names: its author may have died."""
        if not isinstance(self.store, StagedStore):
            return
        show, hide = state.files.keys() - self._in_sight, state.removed_ms.keys()
        self.store.settle(show, hide - self._out_of_sight)
        self._in_sight, self._out_of_sight = set(state.files), set(hide)

    def _loaded(self, snapshot: Snapshot) -> LogState:
        assert self._state is not None, "load before asking for files"
        assert self._state.version == snapshot.version, (self._state.version, snapshot.version)
        return self._state
