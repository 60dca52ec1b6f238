"""A Delta table: commits written as the Delta protocol has them, read by every Delta reader.

Where the table ends in a partition is a `txn` action of that commit: its `appId` names cluster,
topic, topic id and partition, its `version` is the end offset. Checkpoints keep these actions, and
other writers leave them alone. The commit is written here and not by `deltalake`, which can neither
remove single files in a commit nor refuse to be moved behind another commit; checkpoints are its.
Written is what reader version 1 and writer version 2 allow: a table that needs more is refused.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

import pyarrow as pa

from odradek import __version__
from odradek.pipelines.errors import Away
from odradek.pipelines.positions import NO_EPOCH
from odradek.pipelines.tables.earlier import earlier_of
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.local_store import LocalStore
from odradek.pipelines.tables.log import LogState, TopicEnds
from odradek.pipelines.tables.object_store import ObjectStore
from odradek.pipelines.tables.partitioning import IDENTITY, NULL, PartitionField, parse
from odradek.pipelines.tables.store import Store, nonce
from odradek.pipelines.tables.table import Change, TableRefused

LOG: Final = "_delta_log"
LAST_CHECKPOINT: Final = f"{LOG}/_last_checkpoint"
READER_MAX: Final = 1
WRITER_MAX: Final = 2
PROPERTY: Final = "odradek."
PARTITIONING: Final = "odradek.partitioning"
APPEND_ONLY: Final = "delta.appendOnly"
INVARIANTS: Final = "delta.invariants"
CHECKPOINT_COLUMNS: Final = ("txn", "add", "remove", "metaData", "protocol")

_APP_ID = re.compile(
    r"odradek:(?P<kind>end|epoch):(?P<cluster>[^:]*):(?P<topic_id>[^:]*):(?P<partition>\d+):"
    r"(?P<topic>.+)"
)


class DeltaFormat:
    """The log in `_delta_log`."""

    name = "delta"
    checkpoint_every = 20
    holds_partition_columns = False

    def key(self, version: int) -> str:
        """As the protocol names it."""
        return f"{LOG}/{version:020d}.json"

    def first(self, state: LogState, now_ms: int) -> bytes:
        """Protocol, metadata, and where the table ends already."""
        actions = [
            _commit_info("CREATE TABLE", {}, now_ms),
            {"protocol": {"minReaderVersion": READER_MAX, "minWriterVersion": WRITER_MAX}},
            _meta_data(state, _first_said(state, now_ms)),
            *_txns({}, state, now_ms),
        ]
        return _lines(actions)

    def encode(self, base: LogState, change: Change, now_ms: int) -> bytes:
        """The actions of one commit."""
        data_change = change.operation != "merge"
        actions: list[dict[str, Any]] = [_commit_info(change.operation, change.summary, now_ms)]
        if change.schema is not None or change.properties is not None:
            grown = LogState(base.version, change.schema or base.schema, base.partitioning)
            grown.properties = dict(change.properties or {})
            actions.append(_meta_data(grown, base.said, keeps_schema=change.schema is None))
        if change.positions is not None:
            after = LogState(base.version, base.schema)
            after.follow(change.positions)
            actions += _txns(base.topics, after, now_ms)
        actions += [_remove(file, now_ms, data_change=data_change) for file in change.remove]
        actions += [_add(file, data_change=data_change) for file in change.add]
        return _lines(actions)

    def apply(self, state: LogState | None, version: int, data: bytes) -> LogState:
        """One commit's lines."""
        return _apply(state, version, (json.loads(line) for line in data.splitlines()))

    def summary(self, data: bytes) -> Mapping[str, str]:
        """The parameters of its operation."""
        for line in data.splitlines():
            if (row := json.loads(line).get("commitInfo")) is not None:
                return {
                    name: str(it) for name, it in (row.get("operationParameters") or {}).items()
                }
        return {}

    def checkpoint(self, store: Store) -> LogState | None:
        """The Parquet file, or files, that `_last_checkpoint` names."""
        last = store.get(LAST_CHECKPOINT)
        if last is None:
            return None
        pointer = json.loads(last)
        version = int(pointer["version"])
        if "v2Checkpoint" in pointer:
            raise TableRefused("the table has checkpoints of version 2, which are not supported")
        parts = pointer.get("parts")
        names = (
            [f"{LOG}/{version:020d}.checkpoint.parquet"]
            if parts is None
            else [
                f"{LOG}/{version:020d}.checkpoint.{n:010d}.{parts:010d}.parquet"
                for n in range(1, parts + 1)
            ]
        )
        actions = [action for name in names for action in _checkpoint_actions(store, name)]
        return _apply(None, version, actions)

    def write_checkpoint(self, store: Store, state: LogState) -> None:  # noqa: ARG002
        """By `deltalake`, which knows the layout."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            DeltaTable(store.uri, storage_options=storage_options(store)).create_checkpoint()
        except (DeltaError, OSError) as error:
            first = str(error).strip().splitlines()[0]
            raise Away(f"{store.uri}: no checkpoint could be written: {first[:300]}") from error

    def clean(self, store: Store, before_ms: int) -> int:
        """By the age of the objects; the versions from the last checkpoint on stay."""
        last = json.loads(store.get(LAST_CHECKPOINT) or b'{"version": 0}')["version"]
        old = [
            entry.key
            for entry in store.list(LOG)
            if entry.modified_ms < before_ms and 0 <= _number(entry.key) < last
        ]
        store.delete(old)
        return len(old)


def storage_options(store: Store) -> dict[str, str]:
    """What `deltalake` is told about a store."""
    if isinstance(store, LocalStore):
        return {}
    assert isinstance(store, ObjectStore)
    prefix = "aws_" if store.scheme == "s3" else ""
    options = {f"{prefix}{name}": value for name, value in store.options}
    return {**options, "allow_http": "true"} if store.is_plain else options


def _apply(state: LogState | None, version: int, actions: Iterable[Mapping[str, Any]]) -> LogState:
    state = state or LogState(version, pa.schema([]))
    add: list[DataFile] = []
    remove: dict[str, int] = {}
    for action in actions:
        if (row := action.get("metaData")) is not None:
            _take_meta_data(state, row)
        elif (row := action.get("protocol")) is not None:
            _check_protocol(row)
        elif (row := action.get("txn")) is not None:
            _take_txn(state, row)
        elif (row := action.get("remove")) is not None:
            remove[unquote(row["path"])] = row.get("deletionTimestamp") or 0
        elif (row := action.get("add")) is not None:
            add.append(_file(row, state.partitioning))
    state.take(add, remove)
    for path in remove.keys() - state.files.keys():  # a checkpoint's tombstones
        state.removed_ms[path] = remove[path]
    state.version = version
    return state


def _checkpoint_actions(store: Store, name: str) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(store.reading(name))
    columns = [column for column in CHECKPOINT_COLUMNS if column in file.schema_arrow.names]
    rows = file.read(columns=columns).to_pylist(maps_as_pydicts="lossy")
    order = ("protocol", "metaData", "txn", "remove", "add")
    return [{kind: row[kind]} for kind in order for row in rows if row.get(kind) is not None]


def _check_protocol(row: Mapping[str, Any]) -> None:
    reader, writer = row["minReaderVersion"], row["minWriterVersion"]
    if reader > READER_MAX or writer > WRITER_MAX:
        raise TableRefused(
            f"the table needs Delta reader version {reader} and writer version {writer}; "
            f"supported are {READER_MAX} and {WRITER_MAX}"
        )


def _take_meta_data(state: LogState, row: Mapping[str, Any]) -> None:
    from deltalake import Schema

    settings = dict(row.get("configuration") or {})
    columns = row["partitionColumns"]
    written = settings.get(PARTITIONING)
    state.partitioning = (
        tuple(PartitionField(IDENTITY, column) for column in columns)
        if written is None
        else tuple(parse(text) for text in written.split(",") if text)
    )
    derived = {field.name for field in state.partitioning if field.transform != IDENTITY}
    _check_invariants(row["schemaString"])
    schema = pa.schema(Schema.from_json(row["schemaString"]).to_arrow())
    state.schema = pa.schema([field for field in schema if field.name not in derived])
    state.properties = {
        name.removeprefix(PROPERTY): value
        for name, value in settings.items()
        if name.startswith(PROPERTY) and name != PARTITIONING
    }
    state.said = {key: value for key, value in row.items() if value is not None}
    state.is_append_only = settings.get(APPEND_ONLY, "").lower() == "true"


def _check_invariants(schema: str) -> None:
    """Writer version 2 includes them: conditions in SQL that each row has to fulfil."""
    if INVARIANTS not in schema:
        return
    for field in json.loads(schema)["fields"]:
        if INVARIANTS in json.dumps(field):
            raise TableRefused(
                f"column {field['name']} has an invariant, which is not supported: a condition of "
                "[expectations] can say the same"
            )


def _first_said(state: LogState, now_ms: int) -> dict[str, Any]:
    return {
        "id": nonce() + nonce(),
        "format": {"provider": "parquet", "options": {}},
        "partitionColumns": [field.name for field in state.partitioning],
        "configuration": {PARTITIONING: ",".join(str(field) for field in state.partitioning)},
        "createdTime": now_ms,
    }


def _meta_data(
    state: LogState, said: Mapping[str, Any], *, keeps_schema: bool = False
) -> dict[str, Any]:
    """What the table was said to be, with the schema and the properties of this state."""
    from deltalake import Schema

    settings = {f"{PROPERTY}{name}": value for name, value in state.properties.items()}
    changes: dict[str, Any] = {"configuration": {**(said.get("configuration") or {}), **settings}}
    if not keeps_schema:
        derived = [
            pa.field(field.name, field.type)
            for field in state.partitioning
            if field.transform != IDENTITY
        ]
        schema = json.loads(Schema.from_arrow(pa.schema([*state.schema, *derived])).to_json())
        before = json.loads(said["schemaString"]) if "schemaString" in said else None
        changes["schemaString"] = json.dumps(_grown_type(before, schema))
    return {"metaData": {**said, **changes}}


def _grown_type(before: Any, after: Any) -> Any:
    """A type as it is, with what is new or wider: comments and the like are others' to change."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    if before.get("type") == after.get("type") == "struct":
        known = {it["name"]: it for it in before["fields"]}
        new = {it["name"]: it for it in after["fields"]}
        fields = [_grown_field(it, new.get(name)) for name, it in known.items()]
        more = [it for name, it in new.items() if name not in known]
        return {**before, "fields": [*fields, *more]}
    inner = [
        key for key in ("elementType", "keyType", "valueType") if key in before and key in after
    ]
    return {**before, **{key: _grown_type(before[key], after[key]) for key in inner}}


def _grown_field(before: dict[str, Any], after: dict[str, Any] | None) -> dict[str, Any]:
    if after is None:
        return before
    metadata = {**(after.get("metadata") or {}), **(before.get("metadata") or {})}
    return {**before, "type": _grown_type(before["type"], after["type"]), "metadata": metadata}


def _txns(before: Mapping[str, TopicEnds], after: LogState, now_ms: int) -> list[dict[str, Any]]:
    actions = []
    for name, topic in sorted(after.topics.items()):
        known = before.get(name)
        if known is not None and known.topic_id != topic.topic_id:
            known = None
        for number, (end, era) in sorted(topic.ends.items()):
            was = known.ends.get(number) if known else None
            tail = f"{after.cluster_id}:{topic.topic_id}:{number}:{name}"
            for kind, value, old in (
                ("end", end, was and was[0]),
                ("epoch", era, was[1] if was else NO_EPOCH),
            ):
                if value != old:
                    row = {"appId": f"odradek:{kind}:{tail}", "version": value}
                    actions.append({"txn": {**row, "lastUpdated": now_ms}})
    return actions


def _take_txn(state: LogState, row: Mapping[str, Any]) -> None:
    match = _APP_ID.fullmatch(row["appId"])
    if match is None:
        return
    if match["topic_id"] in earlier_of(state.properties):
        return
    state.cluster_id = match["cluster"]
    topic = state.topics.get(match["topic"])
    if topic is None or topic.topic_id != match["topic_id"]:
        topic = state.topics[match["topic"]] = TopicEnds(match["topic_id"])
    end, era = topic.ends.get(int(match["partition"]), (0, NO_EPOCH))
    value = int(row["version"])
    pair = (value, era) if match["kind"] == "end" else (end, value)
    topic.ends[int(match["partition"])] = pair


def _add(file: DataFile, *, data_change: bool) -> dict[str, Any]:
    return {
        "add": {
            "path": quote(file.path, safe="/=:"),
            "partitionValues": _partition_values(file),
            "size": file.bytes,
            "modificationTime": file.modified_ms,
            "dataChange": data_change,
            "stats": file.stats or json.dumps({"numRecords": file.rows}),
        }
    }


def _remove(file: DataFile, now_ms: int, *, data_change: bool) -> dict[str, Any]:
    return {
        "remove": {
            "path": quote(file.path, safe="/=:"),
            "deletionTimestamp": now_ms,
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": _partition_values(file),
            "size": file.bytes,
        }
    }


def _partition_values(file: DataFile) -> dict[str, str | None]:
    return {name: None if value == NULL else value for name, value in file.values}


def _file(row: Mapping[str, Any], partitioning: tuple[PartitionField, ...]) -> DataFile:
    if row.get("deletionVector"):
        raise TableRefused("the table has deletion vectors, which are not supported")
    values = dict(row.get("partitionValues") or {})
    stats = row.get("stats") or ""
    return DataFile(
        unquote(row["path"]),
        row["size"],
        json.loads(stats).get("numRecords", 0) if stats else 0,
        tuple(
            (it.name, NULL if values.get(it.name) is None else values[it.name])
            for it in partitioning
        ),
        stats,
        row["modificationTime"],
    )


def _commit_info(operation: str, summary: Mapping[str, str], now_ms: int) -> dict[str, Any]:
    return {
        "commitInfo": {
            "timestamp": now_ms,
            "operation": operation.upper(),
            "operationParameters": dict(summary),
            "isBlindAppend": operation == "append",
            "engineInfo": f"odradek/{__version__}",
            "txnId": nonce(),
        }
    }


def _lines(actions: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def _number(key: str) -> int:
    digits = key.rpartition("/")[2].partition(".")[0]
    return int(digits) if digits.isdigit() else -1
