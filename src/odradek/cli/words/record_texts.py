"""Keys and values of records as Kafka's script writes them: as they are, or read."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from odradek.coordinator.transactions.codec import decode
from odradek.coordinator.transactions.values import Transaction
from odradek.model.errors import BrokerError, InvalidRecord
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.records.record import Record
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from odradek.wire.messages.offset_records import GroupMetadataValue
from odradek.wire.prefixed import UnknownRecord, read_key, read_prefixed, read_value
from odradek.wire.schema import Buffer, Message, Struct

CONSUMER: Final = "consumer"
PREFIX_BYTES: Final = 2

Decoder: TypeAlias = Callable[[Record], tuple[str | None, str | None]]
"""Makes a key and a payload; what is None is not shown."""


def plain_texts(it: Record) -> tuple[str | None, str]:
    """Text, as far as it is."""
    key = None if it.key is None else it.key.decode("utf-8", "replace")
    return key, "" if it.value is None else it.value.decode("utf-8", "replace")


def transaction_texts(it: Record) -> tuple[str | None, str]:
    """A record of `__transaction_state`; what cannot be read is said to be so."""
    try:
        entry = decode(it.key, it.value)
    except InvalidRecord as error:
        return None, f"<{error}>"
    if entry is None:
        return "unknown", ""
    key = f"transaction_metadata::transactionalId={entry.key.subject}"
    if entry.value is None:
        return key, "<DELETE>"
    assert isinstance(entry.value, Transaction), entry
    value = entry.value
    partitions = ",".join(str(partition) for partition in sorted(value.partitions))
    return key, (
        f"producerId:{value.identity.producer_id},producerEpoch:{value.identity.producer_epoch},"
        f"state={value.state.title},partitions=[{partitions}],"
        f"txnLastUpdateTimestamp={value.updated_at},txnTimeoutMs={value.timeout}"
    )


def offset_texts(it: Record) -> tuple[str | None, str | None]:
    """A record of `__consumer_offsets`; what cannot be read is said to be so."""
    if it.key is None:
        return None, f"<a record without a key at offset {it.offset}>"
    try:
        key = read_key(GROUP_METADATA_TOPIC, it.key)
        about = _json("type", key.TYPE, _document(key, 0))
        if it.value is None:
            return about, "<DELETE>"
        version = _version(it.value)
        value = read_value(key, it.value)
        document = _document(value, version)
        if isinstance(value, GroupMetadataValue) and value.protocol_type == CONSUMER:
            for member in document["members"]:
                _read(member, "subscription", ConsumerProtocolSubscription)
                _read(member, "assignment", ConsumerProtocolAssignment)
    except UnknownRecord:
        return f"Unknown record type {_version(it.key)} at offset {it.offset}, skipping.", None
    except BrokerError as error:
        return f"Error at offset {it.offset}, skipping. {error}", None
    return about, _json("version", version, document)


DECODERS: Final[Mapping[str, Decoder]] = {
    TRANSACTION_STATE_TOPIC: transaction_texts,
    GROUP_METADATA_TOPIC: offset_texts,
}
"""By the topic whose records they read."""


def _json(what: str, number: int, document: dict[str, Any]) -> str:
    texts = {what: str(number), "data": document}
    return json.dumps(texts, separators=(",", ":"), ensure_ascii=False, default=_base64)


def _read(member: dict[str, Any], name: str, kind: type[Message]) -> None:
    """What a consumer has put there, in the place of its bytes; there may be nothing yet."""
    data = member[name]
    if data:
        version = min(_version(data), kind.VERSIONS[-1])
        member[name] = _document(read_prefixed(kind, data), version)


def _version(data: Buffer) -> int:
    return int.from_bytes(data[:PREFIX_BYTES], "big", signed=True)


def _document(it: Struct, version: int) -> dict[str, Any]:
    return {
        _camel(field.name): _plain(getattr(it, field.name), version)
        for field in it.FIELDS
        if field.present(version) and field.tag is None
    }


def _plain(value: Any, version: int) -> Any:
    if isinstance(value, Struct):
        return _document(value, version)
    if isinstance(value, list | tuple):
        return [_plain(one, version) for one in value]
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _base64(data: Buffer) -> str:
    return b64encode(data).decode()
