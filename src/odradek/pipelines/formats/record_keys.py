"""What the bytes of a record's own key say of columns of a table."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.formats.fitting import NUMBER, fitted
from odradek.pipelines.formats.json_text import NoObject, read_value
from odradek.pipelines.formats.json_values import NO_UNITS, in_millis
from odradek.pipelines.formats.names import Unfit, once

CONNECT: Final = frozenset({"schema", "payload"})
"""The fields of JSON that Kafka Connect's converter writes with schemas."""


def key_values(
    key: bytes | None,
    names: Sequence[str],
    kinds: Sequence[pa.DataType],
    units: Mapping[str, str] = NO_UNITS,
) -> list[Any]:
    """What a record's key says of these columns; Unfit: it does not say all of them.

    Numbers of columns that are times count what they count in values.
    """
    if key is None:
        raise Unfit("and it has no key")
    read = _read(key)
    if isinstance(read, dict) and read.keys() == CONNECT and "payload" not in names:
        read = once(read, "payload")
    if isinstance(read, dict):
        missing = [it for it in names if once(read, it) is None]
        if missing:
            raise Unfit(f"its key says no {missing[0]}")
        values = [_scaled(read[name], name, units) for name in names]
        return [fitted(it, kind) for it, kind in zip(values, kinds, strict=True)]
    if len(names) > 1:
        raise Unfit(f"its key says no {names[0]}")
    alone = _alone(key, read, kinds[0])
    return [fitted(_scaled(alone, names[0], units), kinds[0])]


def _scaled(value: Any, name: str, units: Mapping[str, str]) -> Any:
    return in_millis(value, units[name]) if name in units else value


def _read(key: bytes) -> Any:
    try:
        return read_value(key)
    except NoObject:
        return None


def _alone(key: bytes, read: Any, kind: pa.DataType) -> Any:
    """What a key says that is the value of one column: text or number, in JSON or as it is."""
    if pa.types.is_string(kind) and not isinstance(read, str):
        try:
            return key.decode()
        except UnicodeDecodeError as error:
            raise Unfit("its key is no text in UTF-8") from error
    if pa.types.is_binary(kind):
        return key
    if isinstance(read, str) and NUMBER.fullmatch(read):
        read = Decimal(read)
    if read is None:
        raise Unfit(f"its key is no {kind}")
    return read
