"""What the owner of a table says of it, by other programs, while a run works on it."""

import json
from pathlib import Path
from typing import Any


def altered(directory: Path, **changes: Any) -> dict[str, Any]:
    """Another writer's commit with the newest metadata and these changes; what it then is."""
    row = {**newest(directory), **changes}
    log = directory / "_delta_log"
    version = max(int(it.name[:20]) for it in log.glob("*[0-9].json")) + 1
    (log / f"{version:020d}.json").write_text(json.dumps({"metaData": row}) + "\n")
    return row


def newest(directory: Path) -> dict[str, Any]:
    """The metadata of the newest version that has some."""
    found: dict[str, Any] = {}
    for file in sorted((directory / "_delta_log").glob("*[0-9].json")):
        for line in file.read_text().splitlines():
            found = json.loads(line).get("metaData", found)
    return found


def require(table: Any, directory: Path, *columns: str) -> None:
    """`ALTER COLUMN ... SET NOT NULL`, also of fields within columns."""
    if table.location.startswith("delta:"):
        whole = json.loads(newest(directory)["schemaString"])
        for column in columns:
            fields, found = whole["fields"], None
            for name in column.split("."):
                found = next(it for it in fields if it["name"] == name)
                fields = found["type"]["fields"] if isinstance(found["type"], dict) else []
            assert found is not None
            found["nullable"] = False
        altered(directory, schemaString=json.dumps(whole))
    else:
        theirs = table._catalog.load_table(table._identifier)
        with theirs.update_schema(allow_incompatible_changes=True) as update:
            for column in columns:
                update.update_column(tuple(column.split(".")), required=True)
