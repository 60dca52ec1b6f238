"""An Iceberg table, through any catalog that `pyiceberg` knows.

Where the table ends is the table property `odradek.positions`, set in the transaction that makes
the snapshot, and is also in the summary of that snapshot. The catalog refuses a transaction whose
snapshot is not the current one any more; pyiceberg's own repetition, which would put it behind
another writer's, is off. Two kinds of location:

    iceberg:DIRECTORY              the directory is the table; its catalog is `catalog.db` there
    iceberg:CATALOG.NAMESPACE.NAME a table of a catalog that pyiceberg's settings or options name
"""

import json
import logging
from collections.abc import Collection, Mapping
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.positions import Positions
from odradek.pipelines.tables.addresses import open_store, scheme_of
from odradek.pipelines.tables.files import DataFile, values_of
from odradek.pipelines.tables.growth import FIRST
from odradek.pipelines.tables.iceberg_catalog import catalog_of, first_line, named, readable
from odradek.pipelines.tables.keys import KEYS, bounds_said, is_sorted, key_of_values, keys_said
from odradek.pipelines.tables.partitioning import IDENTITY, PartitionField
from odradek.pipelines.tables.store import Store, nonce
from odradek.pipelines.tables.table import (
    NOTHING_SAID,
    Change,
    CommitConflict,
    NoSuchTable,
    Snapshot,
    TableExists,
    TableRefused,
)

POSITIONS: Final = "odradek.positions"
COMMIT: Final = "odradek.commit"
PROPERTY: Final = "odradek.property."
FIRSTS: Final = "odradek.firsts"
"""Which records fixed the types of columns, as JSON by their names."""
NAME_MAPPING: Final = "schema.name-mapping.default"
METRICS: Final = "write.metadata.metrics.column."
RETRIES: Final = "commit.retry.num-retries"
FORMAT_VERSION: Final = "2"
STORE_OPTIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "s3": ("s3", ("endpoint", "region", "access-key-id", "secret-access-key", "session-token")),
    "abfss": ("adls", ("account-name", "account-key", "sas-token", "client-id", "client-secret")),
}
"""What pyiceberg and obstore call the same; for Google's store the environment says it."""
NO_STATISTICS: Final = "PyArrow statistics missing"


def _is_news(record: logging.LogRecord) -> bool:
    """Columns of bytes have no bounds by intention, and pyiceberg says so of each in each file."""
    return not record.getMessage().startswith(NO_STATISTICS)


logging.getLogger("pyiceberg.io.pyarrow").addFilter(_is_news)


class IcebergTable:
    """One table of one catalog."""

    holds_partition_columns = True
    can_widen = True

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.location = f"iceberg:{name}"
        self._options = dict(options)
        self._identifier, self._catalog, self._place = catalog_of(name, self._options)
        self._table: Any = None
        self._entries: dict[str, Any] = {}
        self._files: tuple[int, tuple[DataFile, ...]] = (-1, ())

    @property
    def store(self) -> Store:
        """Where the catalog says that the table lies; there must be one."""
        assert self._table is not None, "load or create the table before asking where it lies"
        address = self._table.location()
        told = self._table.io.properties  # with what the catalog gave for this table
        kind, names = STORE_OPTIONS.get(scheme_of(address), ("", ()))
        options = {it.replace("-", "_"): told.get(f"{kind}.{it}") for it in names}
        return open_store(address, {name: it for name, it in options.items() if it is not None})

    def load(self) -> Snapshot:
        """Asks the catalog."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            with named(self.location), readable(self.location):
                self._table = self._catalog.load_table(self._identifier)
        except (NoSuchTableError, NoSuchNamespaceError) as error:
            raise NoSuchTable(f"there is no table at {self.location}") from error
        return self._snapshot()

    def create(
        self,
        schema: pa.Schema,
        partitioning: tuple[PartitionField, ...],
        positions: Positions,
        *,
        properties: Mapping[str, str] = NOTHING_SAID,
    ) -> Snapshot:
        """One transaction of the catalog."""
        from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError

        settings = {
            "format-version": FORMAT_VERSION,
            RETRIES: "0",
            POSITIONS: json.dumps(positions.to_json()),
            **{f"{PROPERTY}{name}": value for name, value in properties.items()},
            **{f"{METRICS}{name}": "full" for name in keys_said(properties)},
        }
        try:
            with named(self.location):
                self._create_namespace()
                transaction = self._catalog.create_table_transaction(
                    self._identifier, schema, location=self._place, properties=settings
                )
                with transaction as it:
                    mapping = it.table_metadata.schema().name_mapping.model_dump_json()
                    it.set_properties({NAME_MAPPING: mapping})
                    if partitioning:
                        with it.update_spec() as spec:
                            for field in partitioning:
                                spec.add_field(field.source, _transform(field), field.name)
        except (TableAlreadyExistsError, CommitFailedException) as error:
            raise TableExists(f"{self.location} was created by another process") from error
        return self.load()

    def _create_namespace(self) -> None:
        """Another process may do it meanwhile, which is as good."""
        namespace = self._identifier[:-1]
        try:
            self._catalog.create_namespace_if_not_exists(namespace)
        except Exception:  # of SQLAlchemy
            if not self._catalog.namespace_exists(namespace):
                raise

    def commit(self, base: Snapshot, change: Change) -> Snapshot:
        """One transaction: schema, files, positions."""
        from pyiceberg.exceptions import (
            CommitFailedException,
            CommitStateUnknownException,
            ValidationException,
        )

        if self._table is None or self._table.metadata.last_sequence_number != base.version:
            raise CommitConflict(f"{self.location} has moved on from version {base.version}")
        commit_id = nonce()
        # A table made by others may have it otherwise: a repetition would not look where it begins.
        self._table.metadata.properties[RETRIES] = "0"
        try:
            with named(self.location):
                self._transact(change, commit_id)
        except (CommitFailedException, ValidationException) as error:
            raise CommitConflict(f"{self.location}: {first_line(error)}") from error
        except CommitStateUnknownException as error:
            self.load()
            if not self._holds(commit_id):
                raise CommitConflict(f"{self.location}: {first_line(error)}") from error
        return self._snapshot()

    def _transact(self, change: Change, commit_id: str) -> None:
        from pyiceberg.io.pyarrow import parquet_file_to_data_file

        with self._table.transaction() as transaction:
            if change.schema is not None:
                with transaction.update_schema() as update:
                    update.union_by_name(change.schema)
                if (firsts := _firsts(change.schema)) != self._table.properties.get(FIRSTS, "{}"):
                    transaction.set_properties({FIRSTS: firsts})
            if change.properties is not None:
                told = {f"{PROPERTY}{name}": it for name, it in change.properties.items()}
                transaction.set_properties(told)
            summary = {COMMIT: commit_id, **change.summary}
            if change.positions is not None:
                positions = json.dumps(change.positions.to_json())
                summary[POSITIONS] = positions
                transaction.set_properties({POSITIONS: positions})
            update_snapshot = transaction.update_snapshot(snapshot_properties=summary)
            producer = (
                update_snapshot.overwrite() if change.remove else update_snapshot.merge_append()
            )
            with producer as snapshot:
                for file in change.add:
                    snapshot.append_data_file(
                        parquet_file_to_data_file(
                            self._table.io, transaction.table_metadata, self._uri(file.path)
                        )
                    )
                for file in change.remove:
                    snapshot.delete_data_file(self._entries[file.path])

    def files(self, snapshot: Snapshot) -> tuple[DataFile, ...]:
        """From the manifests of the current snapshot."""
        assert self._table.metadata.last_sequence_number == snapshot.version
        if self._files[0] != snapshot.version:
            found: dict[str, tuple[int, DataFile]] = {}
            self._entries = {}
            with named(self.location), readable(self.location):
                entries = self._current_entries()
            for entry in entries:
                if entry.data_file.content.value:
                    raise TableRefused(f"{self.location} has delete files, which are not supported")
                file = self._file(entry.data_file)
                self._entries[file.path] = entry.data_file
                found[file.path] = (entry.sequence_number or 0, file)
            ordered = sorted(found.values(), key=lambda pair: (pair[0], pair[1].path))
            self._files = (snapshot.version, tuple(file for _, file in ordered))
        return self._files[1]

    def _current_entries(self) -> list[Any]:
        current, io = self._table.current_snapshot(), self._table.io
        return [
            entry
            for manifest in (current.manifests(io) if current else [])
            for entry in manifest.fetch_manifest_entry(io, discard_deleted=True)
        ]

    def summary(self, snapshot: Snapshot) -> Mapping[str, str]:
        """Of the current snapshot."""
        assert self._table.metadata.last_sequence_number == snapshot.version
        current = self._table.current_snapshot()
        found = None if current is None else current.summary
        return {} if found is None else dict(found.additional_properties)

    def referenced(self) -> Collection[str]:
        """Of all snapshots that the catalog still has."""
        self.load()
        io = self._table.io
        return {
            self._path(entry.data_file.file_path)
            for snapshot in self._table.metadata.snapshots
            for manifest in snapshot.manifests(io)
            for entry in manifest.fetch_manifest_entry(io, discard_deleted=True)
        }

    def expire(self, before_ms: int) -> int:
        """Forgets snapshots; a sweep then removes the files that only they needed."""
        self.load()
        current = self._table.current_snapshot()
        kept = {it.snapshot_id for it in self._table.metadata.refs.values()}  # tags, branches
        old = [
            it.snapshot_id
            for it in self._table.metadata.snapshots
            if it.timestamp_ms < before_ms and current and it.snapshot_id not in kept
        ]
        if old:
            with named(self.location):
                self._table.maintenance.expire_snapshots().by_ids(old).commit()
            self.load()
        return len(old)

    def _snapshot(self) -> Snapshot:
        properties = self._table.properties
        if POSITIONS not in properties:
            raise TableRefused(f"{self.location} was not made by Odradek: it has no {POSITIONS}")
        return Snapshot(
            self._table.metadata.last_sequence_number,
            _with_firsts(self._arrow(), properties.get(FIRSTS, "{}")),
            tuple(_partition_fields(self._table)),
            Positions.from_json(json.loads(properties[POSITIONS])),
            {
                name.removeprefix(PROPERTY): value
                for name, value in properties.items()
                if name.startswith(PROPERTY)
            },
        )

    def _holds(self, commit_id: str) -> bool:
        return any(
            it.summary and it.summary.additional_properties.get(COMMIT) == commit_id
            for it in self._table.metadata.snapshots
        )

    def _uri(self, path: str) -> str:
        return f"{self._table.location().rstrip('/')}/{path}"

    def _path(self, uri: str) -> str:
        return uri.removeprefix(self._table.location().rstrip("/") + "/")

    def _file(self, data_file: Any) -> DataFile:
        path = self._path(data_file.file_path)
        size, rows = data_file.file_size_in_bytes, data_file.record_count
        return DataFile(path, size, rows, values_of(path), self._stats(data_file))

    def _stats(self, data_file: Any) -> str:
        """The bounds of keys, where rows have keys and the file is in their order."""
        names = keys_said({KEYS: self._table.properties.get(f"{PROPERTY}{KEYS}", "[]")})
        if not names or not is_sorted(data_file.file_path):
            return ""
        low, high = (
            self._key(it, names) for it in (data_file.lower_bounds, data_file.upper_bounds)
        )
        return "" if low is None or high is None else json.dumps(bounds_said((low, high)))

    def _key(self, bounds: Mapping[int, bytes], names: tuple[str, ...]) -> bytes | None:
        """Of the least or of the greatest value of each column; None: one is not known."""
        from pyiceberg.conversions import from_bytes

        fields = [self._table.schema().find_field(name) for name in names]
        if any(it.field_id not in bounds for it in fields):
            return None
        schema = pa.schema([self._arrow().field(name) for name in names])
        return key_of_values(
            [from_bytes(it.field_type, bounds[it.field_id]) for it in fields], schema
        )

    def _arrow(self) -> pa.Schema:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        return _small(schema_to_pyarrow(self._table.schema(), include_field_ids=False))


def _transform(field: PartitionField) -> Any:
    from pyiceberg.transforms import DayTransform, HourTransform, IdentityTransform

    transforms = {IDENTITY: IdentityTransform, "day": DayTransform, "hour": HourTransform}
    return transforms[field.transform]()


def _partition_fields(table: Any) -> list[PartitionField]:
    names = {"identity": IDENTITY, "day": "day", "hour": "hour"}
    fields = []
    for field in table.spec().fields:
        transform = str(field.transform)
        if transform not in names:
            raise TableRefused(f"the table is partitioned by {transform}, which is not supported")
        source = table.schema().find_field(field.source_id).name
        fields.append(PartitionField(names[transform], source))
    return fields


def _firsts(schema: pa.Schema) -> str:
    said = {it.name: (it.metadata or {}).get(FIRST) for it in schema}
    return json.dumps({name: it.decode() for name, it in said.items() if it is not None})


def _with_firsts(schema: pa.Schema, firsts: str) -> pa.Schema:
    said = json.loads(firsts)
    return pa.schema(
        [
            it.with_metadata({**(it.metadata or {}), FIRST: said[it.name]})
            if it.name in said
            else it
            for it in schema
        ]
    )


def _small(schema: pa.Schema) -> pa.Schema:
    """Without the large types that pyiceberg reads text and bytes as."""
    return pa.schema([field.with_type(_small_type(field.type)) for field in schema])


def _small_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(pa.field("element", _small_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_small_type(kind.key_type), _small_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([it.with_type(_small_type(it.type)) for it in kind])
    return kind
