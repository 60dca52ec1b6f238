"""The requests of a fetcher as Kafka's messages, and what their answers say of each partition."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import NO_BROKER_EPOCH, BrokerEpoch, LeaderEpoch, Offset
from odradek.model.units import MIB, SECOND, Bytes, Millis
from odradek.replication.follower_session import SessionTurn
from odradek.replication.following import (
    AskingEpochEnd,
    AskingLatest,
    EpochEnd,
    Fetched,
    FetchPosition,
    Follower,
)
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

TOPIC_IDS_FROM: Final = 13
"""From this version on a fetch names topics by their ids."""
REPLICA_STATE_FROM: Final = 15
"""From this version on a fetch names the broker epoch of the follower (KIP-903)."""
LATEST: Final = -1
EARLIEST: Final = -2


class FetcherSettings(NamedTuple):
    """How much a fetch asks for, and for how long."""

    fetch_version: int = 17  # what inter.broker.protocol.version names
    wait_max: Millis = Millis(500)  # replica.fetch.wait.max.ms
    bytes_min: Bytes = Bytes(1)  # replica.fetch.min.bytes
    partition_bytes_max: Bytes = MIB  # replica.fetch.max.bytes
    response_bytes_max: Bytes = Bytes(10 * MIB)  # replica.fetch.response.max.bytes
    partitions_max: int = 1_000  # named in one request: ten milliseconds of either broker
    patience: Millis = Millis(50)  # for logs that are being changed, before going on without them
    backoff_min: Millis = Millis(20)  # after a first failed request; each one in a row doubles it
    backoff_max: Millis = Millis(SECOND)  # replica.fetch.backoff.ms


class Sender(NamedTuple):
    """On whose behalf it is asked."""

    broker: BrokerId
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH


def error_of(number: int) -> ErrorCode:
    """A code on the wire; one that Kafka adds some day is an unexpected error."""
    if not number:
        return ErrorCode.NONE
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def fetch(
    sender: Sender,
    turn: SessionTurn,
    *,
    named: Iterable[tuple[Follower, FetchPosition, Bytes]],
    forgotten: Iterable[Follower],
    wait: Millis,
    settings: FetcherSettings,
) -> FetchRequest:
    """Of these partitions, so many bytes of each, and of all that the session holds besides."""
    version = settings.fetch_version
    topics: dict[str, FetchTopic] = {}
    for follower, position, bytes_max in named:
        name, number = follower.partition
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = FetchTopic(name, follower.topic_id, [])
        topic.partitions.append(  # type: ignore[attr-defined]  # the list of the line above
            FetchPartition(
                number,
                position.leader_epoch,
                position.offset,
                position.last_fetched_epoch,
                position.log_start_offset,
                bytes_max,
                incarnation=position.incarnation,
            )
        )
    gone: dict[str, ForgottenTopic] = {}
    for follower in forgotten:
        name, number = follower.partition
        there = gone.setdefault(name, ForgottenTopic(name, follower.topic_id, []))
        there.partitions.append(number)  # type: ignore[attr-defined]
    request = FetchRequest(
        max_wait_ms=wait,
        min_bytes=settings.bytes_min,
        max_bytes=settings.response_bytes_max,
        session_id=turn.session_id,
        session_epoch=turn.epoch,
        topics=list(topics.values()),
        forgotten_topics_data=list(gone.values()),
    )
    if version < REPLICA_STATE_FROM:
        request.replica_id = sender.broker
    else:
        request.replica_state = ReplicaState(sender.broker, sender.broker_epoch)
    return request


def fetched(data: PartitionData) -> Fetched:
    """What a fetch's answer says of one partition."""
    diverging = None
    if data.diverging_epoch is not None and data.diverging_epoch.end_offset >= 0:
        at = data.diverging_epoch
        diverging = EpochEnd(LeaderEpoch(at.epoch), Offset(at.end_offset))
    records = data.records
    assert not isinstance(records, list), "an answer that was received is in one piece"
    return Fetched(
        error_of(data.error_code) if data.error_code else ErrorCode.NONE,
        Offset(data.high_watermark),
        Offset(data.log_start_offset),
        diverging,
        memoryview(records) if records else None,
    )


def epoch_ends(
    sender: Sender, asking: Iterable[tuple[Follower, AskingEpochEnd]]
) -> OffsetForLeaderEpochRequest:
    """Where these epochs end at the leader."""
    topics: dict[str, list[OffsetForLeaderPartition]] = {}
    for follower, state in asking:
        name, number = follower.partition
        topics.setdefault(name, []).append(
            OffsetForLeaderPartition(number, follower.leader_epoch, state.leader_epoch)
        )
    return OffsetForLeaderEpochRequest(
        sender.broker, [OffsetForLeaderTopic(name, its) for name, its in topics.items()]
    )


def epoch_ends_told(
    response: OffsetForLeaderEpochResponse,
) -> Iterator[tuple[TopicPartition, ErrorCode, EpochEnd]]:
    """What the leader says of each."""
    for topic in response.topics:
        for it in topic.partitions:
            end = EpochEnd(LeaderEpoch(it.leader_epoch), Offset(it.end_offset))
            yield TopicPartition(topic.topic, it.partition), error_of(it.error_code), end


def offsets(sender: Sender, asking: Iterable[tuple[Follower, object]]) -> ListOffsetsRequest:
    """Where these logs end, or start, at the leader."""
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for follower, state in asking:
        name, number = follower.partition
        which = LATEST if isinstance(state, AskingLatest) else EARLIEST
        topics.setdefault(name, []).append(
            ListOffsetsPartition(number, follower.leader_epoch, which)
        )
    return ListOffsetsRequest(
        sender.broker, topics=[ListOffsetsTopic(name, its) for name, its in topics.items()]
    )


def offsets_told(
    response: ListOffsetsResponse,
) -> Iterator[tuple[TopicPartition, ErrorCode, Offset]]:
    """What the leader says of each."""
    for topic in response.topics:
        for it in topic.partitions:
            partition = TopicPartition(topic.name, it.partition_index)
            yield partition, error_of(it.error_code), Offset(it.offset)
