"""Records of `__transaction_state` as bytes: the versions that Kafka writes.

Version 0 has no room for what version 2 of transactions needs. It is what is written at level 0 of
`transaction.version`, but for producers that speak version 2 nevertheless: they have not heard yet
that the level has fallen. A Kafka 3.9 reads version 1, too, and passes over what it does not know.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from sys import intern  # a topic stands in many transactions, and its name is kept once
from typing import Any, Final

from odradek.coordinator.decision import Entry
from odradek.coordinator.transactions.states import WRITTEN, State
from odradek.coordinator.transactions.values import (
    EPOCH_MAX,
    Identity,
    Transaction,
    TransactionKey,
)
from odradek.model.errors import InvalidRecord
from odradek.model.ids import NO_PRODUCER, ProducerId, TopicPartition, by_topic
from odradek.model.names import TRANSACTION_STATE_TOPIC
from odradek.records.control import EPOCH_FOR_EACH_SINCE
from odradek.wire.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from odradek.wire.prefixed import UnknownRecord, read_key, read_value, write_key, write_value
from odradek.wire.schema import Buffer

NO_PARTITIONS: Final[frozenset[TopicPartition]] = frozenset()
_STATES: Final = {int(state): state for state in WRITTEN}

# A key: type 0, the id's length. Values without partitions: version, producer id, epoch, time-out,
# status, count of topics (-1 or 0; in version 1 a varint, one more than that), two times.
_KEY: Final = struct.Struct(">hh")
_VALUE_0: Final = struct.Struct(">hqhibiqq")
_VALUE_1: Final = struct.Struct(">hqhibBqq")
_TAGS_1: Final = {b"\0": 0, b"\1\2\2\0\2": EPOCH_FOR_EACH_SINCE}
"""What may lie behind the times in version 1: nothing, or the version of transactions."""


def encoder(level: Callable[[], int]) -> Callable[[Entry], tuple[bytes, bytes | None]]:
    """Writes at the version that the cluster's level of transactions has."""
    return lambda entry: encode(entry, min(level(), 1))


def encode(entry: Entry, version: int) -> tuple[bytes, bytes | None]:
    """The record's key and value; no value deletes."""
    assert isinstance(entry.key, TransactionKey), entry
    key = write_key(TransactionLogKey(entry.key.subject))
    return key, None if entry.value is None else _encode(entry.value, version)


def _encode(value: Any, version: int) -> bytes:
    assert isinstance(value, Transaction), value
    if value.version >= EPOCH_FOR_EACH_SINCE or value.next_producer_id != NO_PRODUCER:
        version = max(version, 1)
    topics = [PartitionsSchema(*it) for it in by_topic(sorted(value.partitions)).items()]
    record = TransactionLogValue(
        producer_id=value.identity.producer_id,
        producer_epoch=value.identity.producer_epoch,
        transaction_timeout_ms=value.timeout,
        transaction_status=value.state,
        transaction_partitions=None if value.state is State.EMPTY else topics,
        transaction_last_update_timestamp_ms=value.updated_at,
        transaction_start_timestamp_ms=value.started_at,
    )
    if version:
        record.previous_producer_id = value.previous_producer_id
        record.next_producer_id = value.next_producer_id
        record.client_transaction_version = value.version
    return write_value(record, version)


def decode(
    key: Buffer | None, value: Buffer | None, producer: ProducerId | None = None
) -> Entry | None:
    """What a record says; None if it is of a type or version that does not concern us.

    InvalidRecord where the bytes are none of Kafka's, or say what cannot be.
    """
    if key is not None and value is not None and producer is None:
        entry = read_at_rest(key, value)
        if entry is not None:
            return entry
    return decode_any(key, value, producer)


def decode_any(
    key: Buffer | None, value: Buffer | None, producer: ProducerId | None
) -> Entry | None:
    """Likewise, by the compiled codec alone."""
    if key is None:
        raise InvalidRecord(f"a record without a key in {TRANSACTION_STATE_TOPIC}")
    if producer is not None:
        raise InvalidRecord(f"a record of a transaction in {TRANSACTION_STATE_TOPIC}")
    try:
        subject = read_key(TRANSACTION_STATE_TOPIC, key)
        if not isinstance(subject, TransactionLogKey):
            return None
        about = TransactionKey(subject.transactional_id)
        if value is None:
            return Entry(about, None)
        record = read_value(subject, value)
    except UnknownRecord:
        return None
    assert isinstance(record, TransactionLogValue), record
    return Entry(about, _decode(record))


def read_at_rest(key: Buffer, value: Buffer) -> Entry | None:
    """By hand, for one who loads very many: an id without partitions, as most of them are.

    It declines everything else, and all that makes no sense: the compiled codec says what it is.
    """
    try:
        kind, size = _KEY.unpack_from(key)
        if len(value) == _VALUE_0.size:
            of, producer, epoch, timeout, status, topics, updated, started = _VALUE_0.unpack(value)
            version = 0 if of == 0 and -1 <= topics <= 0 else None
        else:
            of, producer, epoch, timeout, status, topics, updated, started = _VALUE_1.unpack_from(
                value
            )
            is_empty = of == 1 and topics <= 1
            version = _TAGS_1.get(bytes(value[_VALUE_1.size :])) if is_empty else None
        state = _STATES.get(status)
        if (
            version is None
            or state is None
            or kind
            or len(key) != _KEY.size + size
            or producer < 0
            or not 0 <= epoch < EPOCH_MAX
        ):
            return None
        subject = str(key[_KEY.size :], "utf-8")
    except (struct.error, UnicodeDecodeError):
        return None
    return Entry(
        TransactionKey(subject),
        Transaction(
            Identity(producer, epoch),
            timeout,
            state,
            updated,
            NO_PARTITIONS,
            started,
            NO_PRODUCER,
            NO_PRODUCER,
            version,
        ),
    )


def _decode(record: Any) -> Transaction:
    """Of a TransactionLogValue, whose numbers go without a call for each: a log has very many."""
    state = _STATES.get(record.transaction_status)
    if state is None:
        raise InvalidRecord(f"a transaction in state {record.transaction_status}")
    if record.producer_id < 0 or not 0 <= record.producer_epoch <= EPOCH_MAX:
        raise InvalidRecord(
            f"producer {record.producer_id} with epoch {record.producer_epoch} in a transaction"
        )
    if record.producer_epoch == EPOCH_MAX and state is State.ONGOING:
        raise InvalidRecord(f"an open transaction of epoch {EPOCH_MAX}, which no producer is given")
    topics = record.transaction_partitions
    return Transaction(
        Identity(record.producer_id, record.producer_epoch),
        record.transaction_timeout_ms,
        state,
        record.transaction_last_update_timestamp_ms,
        frozenset(_partitions(topics)) if topics else NO_PARTITIONS,
        record.transaction_start_timestamp_ms,
        record.previous_producer_id,
        record.next_producer_id,
        record.client_transaction_version,
    )


def _partitions(topics: Iterable[PartitionsSchema]) -> Iterator[TopicPartition]:
    for topic in topics:
        name = intern(topic.topic)
        for number in topic.partition_ids:
            yield TopicPartition(name, number)
