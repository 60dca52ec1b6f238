"""A Parquet table: data files, and a log of our own beside them in `_odradek/`.

A version is one JSON object that names the files that came and went and where the table ends.
Every fiftieth version has a checkpoint with the whole state. The data files lie in the directory of
the table itself, those of a table that an earlier release made in `data` there. So Spark, pyarrow
and DuckDB read the directory as it is: they pass over what begins with `_` or has another ending,
and in a directory nothing else is in sight than the files of the newest version (`staging`). In a
bucket there are no names to hide behind: files show that are not committed, or not any more.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.positions import Positions
from odradek.pipelines.tables.files import DIRECTORY, DataFile
from odradek.pipelines.tables.log import LogState
from odradek.pipelines.tables.partitioning import parse
from odradek.pipelines.tables.store import Store, nonce
from odradek.pipelines.tables.table import Change, TableRefused

FORMAT_VERSION: Final = 2
FORMAT_VERSION_MIN: Final = 1
"""Has no staged files: a release that knows no later one would take these for orphans."""
LOG: Final = "_odradek"
LATEST: Final = f"{LOG}/latest-checkpoint"


class ParquetFormat:
    """Our own log."""

    name = "parquet"
    checkpoint_every = 50
    holds_partition_columns = False

    def key(self, version: int) -> str:
        """Twenty digits, so that names sort as numbers do."""
        return f"{LOG}/{version:020d}.json"

    def first(self, state: LogState, now_ms: int) -> bytes:
        """The whole state, without files."""
        state.properties.setdefault(DIRECTORY, "")
        return json.dumps(
            {
                "format_version": FORMAT_VERSION,
                "id": nonce(),
                "at_ms": now_ms,
                "operation": "create",
                **_head(state),
            }
        ).encode()

    def encode(self, base: LogState, change: Change, now_ms: int) -> bytes:  # noqa: ARG002
        """What changes."""
        document: dict[str, Any] = {
            "format_version": FORMAT_VERSION,
            "id": nonce(),
            "at_ms": now_ms,
            "operation": change.operation,
            "summary": dict(change.summary),
            "add": [_file_to_json(file) for file in change.add],
            "remove": [file.path for file in change.remove],
        }
        if change.positions is not None:
            document["positions"] = change.positions.to_json()
        if change.schema is not None:
            document["schema"] = _schema_to_text(change.schema)
        if change.properties is not None:
            document["properties"] = dict(change.properties)
        return json.dumps(document).encode()

    def apply(self, state: LogState | None, version: int, data: bytes) -> LogState:
        """A checkpoint and version 0 have a schema, so they begin a state."""
        document = json.loads(data)
        _check_version(document)
        if state is None:
            state = LogState(version, _schema_from_text(document["schema"]))
            state.partitioning = tuple(parse(text) for text in document["partitioning"])
        elif "schema" in document:
            state.schema = _schema_from_text(document["schema"])
        state.properties.update(document.get("properties", {}))
        if "positions" in document:
            state.follow(Positions.from_json(document["positions"]))
        at_ms = int(document["at_ms"])
        state.take(
            [_file_from_json(row) for row in document.get("add", ())],
            dict.fromkeys(document.get("remove", ()), at_ms),
        )
        state.removed_ms.update(document.get("removed_ms", {}))
        state.version = version
        return state

    def summary(self, data: bytes) -> Mapping[str, str]:
        """As it was given."""
        found: dict[str, str] = json.loads(data).get("summary", {})
        return found

    def checkpoint(self, store: Store) -> LogState | None:
        """The one that `latest-checkpoint` names."""
        latest = store.get(LATEST)
        if latest is None:
            return None
        version = int(latest)
        data = store.get(_checkpoint_key(version))
        if data is None:
            raise FileNotFoundError(_checkpoint_key(version))
        return self.apply(None, version, data)

    def write_checkpoint(self, store: Store, state: LogState) -> None:
        """First the checkpoint, then the name of it."""
        document = {
            "format_version": FORMAT_VERSION,
            "at_ms": 0,
            **_head(state),
            "add": [_file_to_json(file) for file in state.files.values()],
            "removed_ms": state.removed_ms,
        }
        store.put(_checkpoint_key(state.version), json.dumps(document).encode())
        latest = store.get(LATEST)
        if latest is None or int(latest) < state.version:
            store.put(LATEST, str(state.version).encode())

    def clean(self, store: Store, before_ms: int) -> int:
        """By the age of the objects."""
        latest = int(store.get(LATEST) or b"0")
        old = [
            entry.key
            for entry in store.list(LOG)
            if entry.modified_ms < before_ms and 0 <= _number(entry.key) < latest
        ]
        store.delete(old)
        return len(old)


def _checkpoint_key(version: int) -> str:
    return f"{LOG}/{version:020d}.checkpoint.json"


def _number(key: str) -> int:
    digits = key.rpartition("/")[2].partition(".")[0]
    return int(digits) if digits.isdigit() else -1


def _check_version(document: Mapping[str, Any]) -> None:
    version = document.get("format_version")
    if not isinstance(version, int) or not FORMAT_VERSION_MIN <= version <= FORMAT_VERSION:
        raise TableRefused(
            f"the table has format version {version}, this release reads {FORMAT_VERSION}: "
            "it was written by a newer release"
        )


def _head(state: LogState) -> dict[str, Any]:
    return {
        "schema": _schema_to_text(state.schema),
        "partitioning": [str(field) for field in state.partitioning],
        "properties": state.properties,
        "positions": state.positions().to_json(),
    }


def _schema_to_text(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def _schema_from_text(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def _file_to_json(file: DataFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "bytes": file.bytes,
        "rows": file.rows,
        "values": list(file.values),
        "stats": file.stats,
        "modified_ms": file.modified_ms,
    }


def _file_from_json(row: Mapping[str, Any]) -> DataFile:
    values = tuple((str(name), str(value)) for name, value in row["values"])
    return DataFile(
        row["path"], row["bytes"], row["rows"], values, row["stats"], row["modified_ms"]
    )
