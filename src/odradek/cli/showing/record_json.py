"""A record as a line of JSON: what `consume --json` prints, `produce --input json` reads back.

Keys and values are strings where they are UTF-8, `{"base64": "..."}` where they are not, and null
where there is none. Headers are a list, because a name may come twice.
"""

import base64
import json
from typing import Any, NamedTuple

from odradek.cli.showing.printing import json_text
from odradek.cli.words.failing import Failed
from odradek.client.records.reader import Found
from odradek.records.record import Headers


class RecordFields(NamedTuple):
    """What a line says of a record; a partition only if it names one."""

    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


def json_of_record(found: Found) -> bytes:
    """One line."""
    record = found.record
    line: dict[str, Any] = {
        "topic": found.partition.topic,
        "partition": found.partition.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": json_text(record.key),
        "value": json_text(record.value),
    }
    if record.headers:
        line["headers"] = [
            {"name": name.decode("utf-8", "replace"), "value": json_text(value)}
            for name, value in record.headers
        ]
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def record_of_json(line: bytes, number: int) -> RecordFields:
    """What one line says; other keys, such as the offset, do not count."""
    try:
        row = json.loads(line)
        headers = tuple(
            (it["name"].encode(), _bytes(it.get("value"))) for it in row.get("headers", ())
        )
        partition = row.get("partition")
        where = None if partition is None else int(partition)
        return RecordFields(where, _bytes(row.get("key")), _bytes(row.get("value")), headers)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"line {number} is no record: {error}"
        raise Failed(
            text, 'write {"key": "a", "value": "b"}, as consume --json prints it'
        ) from None


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"], validate=True)
    return json.dumps(value, ensure_ascii=False).encode()
