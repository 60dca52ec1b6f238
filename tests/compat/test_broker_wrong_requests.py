"""Requests that are well formed and wrong: each part is refused by itself, with a code that fits.

Beside each of them a producer and a consumer go on, and miss nothing.
"""

import struct
from collections.abc import Iterator, Mapping
from itertools import count

import pytest

from odradek.broker.partitions.replicas.produce_rules import UNPACKED_BYTES_MAX
from odradek.model.errors import ErrorCode
from odradek.records.batch import HEADER, read_header, seal
from odradek.records.build import build_batch
from odradek.records.compression import Codec
from odradek.records.record import Record
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.compat.broker_process import Broker, OdradekBroker, eventually
from tests.compat.hostile import Raw
from tests.compat.librdkafka import create_topic

pytestmark = pytest.mark.usefixtures("peace")

TIME = 1_700_000_000_000
TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
SESSION_MS = 6_000
SUBSCRIBED = struct.pack(">hii", 0, 0, -1)  # a consumer's, to nothing
_NUMBERS = count()

ILLEGAL = {
    "nothing": "",
    "here": ".",
    "above": "..",
    "too long": "a" * 250,
    "a path": "orders/../../etc",
    "a path upwards": "../../etc/passwd",
    "NUL": "orders\x00",
    "a line end": "orders\n",
    "a blank": "my orders",
    "an umlaut": "aufträge",
    "an escape": "\x1b[2J",
    "the longest string": "a" * 32_767,
}


@pytest.fixture
def client(broker: Broker) -> Iterator[Raw]:
    """A connection of the test's own."""
    with Raw(broker) as client:
        yield client


def fresh(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{next(_NUMBERS)}"


# Wrong batches


def batch(*values: bytes, **how: int) -> bytearray:
    """A right one."""
    records = [Record(at, TIME, b"key", value) for at, value in enumerate(values or (b"value",))]
    codec = Codec(how.pop("codec", 0))
    return build_batch(records, codec=codec, **how)  # type: ignore[arg-type]


def resealed(**fields: int) -> bytearray:
    """A batch with fields that lie, under a checksum that holds."""
    data = batch(b"a", b"b")
    header = read_header(data)
    for name, value in fields.items():
        setattr(header, name, value)
    seal(data, header)
    return data


def harmed(at: int, value: int) -> bytearray:
    """A batch with another byte, under its old checksum."""
    data = batch(b"a", b"b")
    data[at] = value
    return data


def old_messages(magic: int) -> bytes:
    """A message set from before there were batches."""
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", TIME) if magic else b"")
    body += struct.pack(">i", -1) + struct.pack(">i", 5) + b"value"
    return struct.pack(">qiI", 0, len(body) + 4, 0) + body


CORRUPT, INVALID = ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD
WRONG: Mapping[str, tuple[bytes | bytearray, ErrorCode]] = {
    "its checksum does not hold": (harmed(17, 0), CORRUPT),
    "a record was harmed": (harmed(70, 255), CORRUPT),
    "it is cut short": (batch()[:-1], CORRUPT),
    "its header is cut short": (batch()[:40], CORRUPT),
    "its length is negative": (harmed(8, 255), CORRUPT),
    "it is magic 0": (old_messages(0), INVALID),
    "it is magic 1": (old_messages(1), INVALID),
    "it is magic 3": (harmed(16, 3), INVALID),
    "it is two": (batch() + batch(), INVALID),
    "there is something behind it": (batch() + b"more", INVALID),
    "it has fewer records than it says": (resealed(record_count=5), INVALID),
    "its last offset lies": (resealed(last_offset_delta=7), INVALID),
    "it has 2^31 - 1 records": (
        resealed(record_count=(1 << 31) - 1, last_offset_delta=(1 << 31) - 2),
        INVALID,
    ),
    "it has -1 records": (resealed(record_count=-1, last_offset_delta=-2), CORRUPT),
    "it is a marker": (resealed(attributes=0x30, producer_id=1, producer_epoch=0), INVALID),
    "it has its time from a broker": (resealed(attributes=8), ErrorCode.INVALID_TIMESTAMP),
    "there is no such codec": (resealed(attributes=7), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "its producer has no epoch": (resealed(producer_id=5, base_sequence=0), INVALID),
    "it is empty": (b"", INVALID),
}


def produce(client: Raw, topic: str, *batches: bytes | bytearray) -> list[tuple[ErrorCode, int]]:
    """One batch for each partition; what each was answered."""
    data = [PartitionProduceData(at, it) for at, it in enumerate(batches)]
    request = ProduceRequest(None, -1, 10_000, [TopicProduceData(topic, partition_data=data)])
    rows = client.ask(request).responses[0].partition_responses
    return [(ErrorCode(row.error_code), row.base_offset) for row in rows]


def end_offsets(client: Raw, topic: str, partitions: int) -> list[int]:
    """Where each partition ends."""
    wanted = [ListOffsetsPartition(number, timestamp=-1) for number in range(partitions)]
    answer = client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, wanted)]))
    rows = sorted(answer.topics[0].partitions, key=lambda row: row.partition_index)
    return [row.offset for row in rows]


def test_a_wrong_batch_is_refused_alone(broker: Broker, client: Raw) -> None:
    """For its partition; what the same request has for the others is appended."""
    topic = create_topic(broker, fresh("orders"), 2 * len(WRONG))
    batches = [part for wrong, _ in WRONG.values() for part in (batch(), wrong)]
    answers = produce(client, topic, *batches)
    assert dict(zip(WRONG, answers[1::2], strict=True)) == {
        name: (code, -1) for name, (_, code) in WRONG.items()
    }
    assert answers[0::2] == [(ErrorCode.NONE, 0)] * len(WRONG)
    assert end_offsets(client, topic, len(batches)) == [1, 0] * len(WRONG)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_batch_by_itself(broker: Broker, client: Raw, name: str) -> None:
    """The commonest request goes another way through the broker; it is as strict."""
    topic, (wrong, code) = create_topic(broker, fresh("orders")), WRONG[name]
    assert produce(client, topic, wrong) == [(code, -1)]
    assert produce(client, topic, batch()) == [(ErrorCode.NONE, 0)]


def test_offsets_and_epochs_are_the_broker_s(broker: Broker, client: Raw) -> None:
    """What a producer says of them lies outside the checksum, and is written over."""
    topic = create_topic(broker, fresh("orders"))
    lying = resealed(base_offset=1 << 40, leader_epoch=77)
    assert produce(client, topic, lying) == [(ErrorCode.NONE, 0)]
    assert produce(client, topic, lying) == [(ErrorCode.NONE, 2)]
    wanted = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(topics=[FetchTopic(topic, partitions=[wanted])])
    records = client.ask(request).responses[0].partitions[0].records
    assert HEADER.unpack_from(records)[0] == 0


def test_producers_that_count_wrongly(broker: Broker, client: Raw) -> None:
    """A gap is refused, a repetition is the same record, an epoch of before is over."""
    topic = create_topic(broker, fresh("orders"))
    ids: list[int] = []

    def has_id() -> bool:
        ids.append(client.ask(InitProducerIdRequest(None, 0)).producer_id)
        return ids[-1] >= 0

    eventually(has_id)

    def say(sequence: int, epoch: int = 1) -> tuple[ErrorCode, int]:
        counted = {"producer_id": ids[-1], "producer_epoch": epoch, "base_sequence": sequence}
        (answer,) = produce(client, topic, batch(**counted))
        return answer

    assert say(0) == (ErrorCode.NONE, 0)
    assert say(1) == (ErrorCode.NONE, 1)
    assert say(1) == (ErrorCode.NONE, 1)
    gap = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    eventually(lambda: say(7) == gap, what="a gap")  # at first ours asks for what may still come
    assert say(2, epoch=0) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert say(2) == (ErrorCode.NONE, 2)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD, Codec.SNAPPY])
def test_what_unpacks_to_a_hundred_times_its_size(
    broker: Broker, client: Raw, codec: Codec
) -> None:
    """Where the broker looks at records it stops unpacking in time; elsewhere it never begins."""
    bomb = batch(bytes(UNPACKED_BYTES_MAX), codec=codec)
    looked_at = create_topic(broker, fresh("looked-at"), cleanup_policy="compact")
    ((code, _),) = produce(client, looked_at, bomb)
    assert code in {ErrorCode.MESSAGE_TOO_LARGE, INVALID, CORRUPT}
    assert produce(client, looked_at, batch()) == [(ErrorCode.NONE, 0)]


def test_compacted_topics_want_keys(broker: Broker, client: Raw) -> None:
    """A record that could never be replaced is refused."""
    topic = create_topic(broker, fresh("compacted"), cleanup_policy="compact")
    without = build_batch([Record(0, TIME, None, b"value")])
    assert produce(client, topic, without) == [(INVALID, -1)]


# Names


@pytest.mark.parametrize("said", ILLEGAL)
def test_no_topic_has_an_illegal_name(client: Raw, said: str) -> None:
    """However it is asked for, and nothing is made of it."""
    name = ILLEGAL[said]
    before = {row.name for row in client.ask(MetadataRequest(topics=None)).topics}
    (made,) = client.ask(CreateTopicsRequest(topics=[CreatableTopic(name, 1, 1)])).topics
    assert made.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
    (found,) = client.ask(asked, 9).topics
    assert found.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    ((code, _),) = produce(client, name, batch())
    assert code in {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION}
    (gone,) = client.ask(DeleteTopicsRequest([DeleteTopicState(name)], timeout_ms=1_000)).responses
    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {row.name for row in client.ask(MetadataRequest(topics=None)).topics} == before


def test_names_that_metrics_could_not_tell_apart(broker: Broker, client: Raw) -> None:
    """`.` and `_` are one to them."""
    name = create_topic(broker, fresh("new.orders"))
    wanted = CreatableTopic(name.replace(".", "_"), 1, 1)
    (made,) = client.ask(CreateTopicsRequest(topics=[wanted])).topics
    assert made.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


# Absurd administration


def test_topics_that_cannot_be(client: Raw) -> None:
    """Each is refused for its own reason; the one that can be is made."""
    good = fresh("good")
    on = CreatableReplicaAssignment
    wanted = {
        good: (CreatableTopic(good, 1, 1), ErrorCode.NONE),
        "none": (CreatableTopic("none", 0, 1), ErrorCode.INVALID_PARTITIONS),
        "negative": (CreatableTopic("negative", -7, 1), ErrorCode.INVALID_PARTITIONS),
        "no-replica": (CreatableTopic("no-replica", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        "negative-replicas": (
            CreatableTopic("negative-replicas", 1, -2),
            ErrorCode.INVALID_REPLICATION_FACTOR,
        ),
        "more-than-brokers": (
            CreatableTopic("more-than-brokers", 1, 99),
            ErrorCode.INVALID_REPLICATION_FACTOR,
        ),
        "unknown-broker": (
            CreatableTopic("unknown-broker", -1, -1, [on(0, [77])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
        "twice-on-one": (
            CreatableTopic("twice-on-one", -1, -1, [on(0, [1, 1])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
        "a-hole": (
            CreatableTopic("a-hole", -1, -1, [on(3, [1])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
        "nowhere": (
            CreatableTopic("nowhere", -1, -1, [on(0, [])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
        "both": (CreatableTopic("both", 2, 1, [on(0, [1])]), ErrorCode.INVALID_REQUEST),
    }
    answer = client.ask(CreateTopicsRequest(topics=[topic for topic, _ in wanted.values()]))
    found = {row.name: ErrorCode(row.error_code) for row in answer.topics}
    assert found == {name: code for name, (_, code) in wanted.items()}


@pytest.mark.parametrize("partitions", [1_000_000, (1 << 31) - 1])
def test_a_million_partitions(broker: Broker, client: Raw, partitions: int) -> None:
    """Neither at once nor by and by."""
    if not isinstance(broker, OdradekBroker):
        pytest.skip("Kafka tries")
    wanted = CreatableTopic("huge", partitions, 1)
    (made,) = client.ask(CreateTopicsRequest(topics=[wanted])).topics
    assert made.error_code == ErrorCode.INVALID_PARTITIONS
    name = create_topic(broker, fresh("grows"))
    grow = CreatePartitionsRequest([CreatePartitionsTopic(name, partitions, None)], 5_000)
    assert client.ask(grow).results[0].error_code == ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("partitions", [-1, 0, 1])
def test_topics_do_not_shrink(broker: Broker, client: Raw, partitions: int) -> None:
    """The records of the partitions that go would be gone."""
    name = create_topic(broker, fresh("grown"), 2)
    grow = CreatePartitionsRequest([CreatePartitionsTopic(name, partitions, None)], 5_000)
    assert client.ask(grow).results[0].error_code == ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("no.such.setting", "1"),
        ("retention.ms", "soon"),
        ("segment.bytes", "-5"),
        ("segment.bytes", str(1 << 70)),
        ("cleanup.policy", "burn"),
        ("min.insync.replicas", "0"),
        ("compression.type", "bzip2"),
        ("message.timestamp.type", ""),
        ("", "1"),
    ],
)
def test_settings_that_cannot_be(broker: Broker, client: Raw, setting: str, value: str) -> None:
    """Neither when a topic is made, nor later."""
    config = [CreatableTopicConfig(setting, value)]
    wanted = CreatableTopic(fresh("never"), 1, 1, configs=config)
    (made,) = client.ask(CreateTopicsRequest(topics=[wanted])).topics
    assert made.error_code == ErrorCode.INVALID_CONFIG
    name = create_topic(broker, fresh("orders"))
    assert alter(client, TOPIC, name, AlterableConfig(setting, SET, value)) in {
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
    }


def alter(client: Raw, kind: int, name: str, *changes: AlterableConfig) -> ErrorCode:
    """What became of it."""
    resource = AlterConfigsResource(kind, name, list(changes))
    answer = client.ask(IncrementalAlterConfigsRequest([resource]))
    return ErrorCode(answer.responses[0].error_code)


def test_alterations_that_cannot_be(broker: Broker, client: Raw) -> None:
    """Of what is not there, of what is no list, or twice in one breath."""
    name = create_topic(broker, fresh("orders"))
    longer = AlterableConfig("retention.ms", APPEND, "1")
    assert alter(client, TOPIC, name, longer) == ErrorCode.INVALID_CONFIG
    one, other = (AlterableConfig("retention.ms", SET, value) for value in ("1000", "2000"))
    assert alter(client, TOPIC, name, one, other) == ErrorCode.INVALID_REQUEST
    assert alter(client, TOPIC, "not-there", one) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(client, TOPIC, name, AlterableConfig("retention.ms", 9, "1")) != ErrorCode.NONE
    assert alter(client, BROKER, "77", one) == ErrorCode.INVALID_REQUEST
    assert alter(client, 99, name, one) != ErrorCode.NONE


def test_deletions_that_cannot_be(broker: Broker, client: Raw) -> None:
    """Of records that were never there, and of those that only compaction may take."""
    name = create_topic(broker, fresh("orders"))
    compacted = create_topic(broker, fresh("compacted"), cleanup_policy="compact")
    assert produce(client, name, batch()) == [(ErrorCode.NONE, 0)]

    def delete(topic: str, partition: int, offset: int) -> ErrorCode:
        wanted = DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])
        answer = client.ask(DeleteRecordsRequest([wanted], 5_000))
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    assert delete(name, 0, 2) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete(name, 0, -7) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete(name, 9, 0) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete(name, -1, 0) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete(compacted, 0, 0) == ErrorCode.POLICY_VIOLATION
    assert delete(name, 0, 1) == ErrorCode.NONE


def test_nobody_may_pose_as_a_follower(broker: Broker, client: Raw) -> None:
    """A fetch with a broker's id would move the high watermark (CVE-2018-1288)."""
    name = create_topic(broker, fresh("orders"))
    assert produce(client, name, batch()) == [(ErrorCode.NONE, 0)]
    for replica in (0, 1, 2, 77):
        wanted = FetchPartition(0, fetch_offset=1_000, partition_max_bytes=1 << 20)
        request = FetchRequest(replica_id=replica, topics=[FetchTopic(name, partitions=[wanted])])
        (row,) = client.ask(request).responses[0].partitions
        assert row.error_code != ErrorCode.NONE
    assert end_offsets(client, name, 1) == [1]


@pytest.mark.parametrize("offset", [-1, -(1 << 63), 2, (1 << 63) - 1])
def test_offsets_that_are_not_there(broker: Broker, client: Raw, offset: int) -> None:
    """A reader that is told so begins elsewhere."""
    name = create_topic(broker, fresh("orders"))
    assert produce(client, name, batch()) == [(ErrorCode.NONE, 0)]
    for number, expected in ((0, "OFFSET_OUT_OF_RANGE"), (5, "UNKNOWN_TOPIC_OR_PARTITION")):
        wanted = FetchPartition(number, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(topics=[FetchTopic(name, partitions=[wanted])])
        (row,) = client.ask(request).responses[0].partitions
        assert ErrorCode(row.error_code).name == expected


# Groups


def join(group: str, member: str = "", session_ms: int = SESSION_MS) -> JoinGroupRequest:
    """To be asked."""
    protocols = [JoinGroupRequestProtocol("range", SUBSCRIBED)]
    return JoinGroupRequest(group, session_ms, 60_000, member, None, "consumer", protocols)


def coordinated(client: Raw, group: str) -> str:
    """The group, once somebody coordinates it."""

    def is_there() -> bool:
        request = FindCoordinatorRequest(coordinator_keys=[group])
        found: int = client.ask(request).coordinators[0].error_code
        return found == ErrorCode.NONE and commit(client, group) == ErrorCode.NONE

    create_on_demand = MetadataRequest(topics=[MetadataRequestTopic(name="committed")])
    client.ask(create_on_demand, 9)
    eventually(is_there)
    return group


def commit(client: Raw, group: str, member: str = "", generation: int = -1) -> ErrorCode:
    """An offset of `committed-0`."""
    topics = [
        OffsetCommitRequestTopic("committed", partitions=[OffsetCommitRequestPartition(0, 1)])
    ]
    answer = client.ask(OffsetCommitRequest(group, generation, member, topics=topics))
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def member_of(client: Raw, group: str, session_ms: int = SESSION_MS) -> tuple[str, int]:
    """Joined and synced, alone; its id and the generation."""
    given = client.ask(join(group, session_ms=session_ms))
    assert given.error_code == ErrorCode.MEMBER_ID_REQUIRED
    joined = client.ask(join(group, given.member_id, session_ms))
    assert joined.error_code == ErrorCode.NONE
    member, generation = joined.member_id, joined.generation_id
    share = [SyncGroupRequestAssignment(member, b"all")]
    synced = client.ask(
        SyncGroupRequest(group, generation, member, None, "consumer", "range", share)
    )
    assert synced.error_code == ErrorCode.NONE
    return member, generation


def test_the_dead_do_not_commit(client: Raw) -> None:
    """Nor who was never born, nor who slept through a generation."""
    group = coordinated(client, fresh("readers"))
    member, generation = member_of(client, group)
    assert commit(client, group, member, generation) == ErrorCode.NONE
    assert commit(client, group, member, generation - 1) == ErrorCode.ILLEGAL_GENERATION
    assert commit(client, group, member, generation + 1) == ErrorCode.ILLEGAL_GENERATION
    assert commit(client, group, "somebody else", generation) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(client, group) == ErrorCode.UNKNOWN_MEMBER_ID
    left = LeaveGroupRequest(group, members=[MemberIdentity(member)])
    assert client.ask(left).error_code == ErrorCode.NONE
    assert commit(client, group, member, generation) == ErrorCode.UNKNOWN_MEMBER_ID
    beat = HeartbeatRequest(group, generation, member, None)
    assert client.ask(beat).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(client, group) == ErrorCode.NONE, "a group without members takes anybody's"


def test_who_was_silent_for_too_long_is_dead(client: Raw) -> None:
    """Its session is over; its commit comes too late, whoever has its partitions now."""
    group = coordinated(client, fresh("readers"))
    member, generation = member_of(client, group, session_ms=100)
    eventually(lambda: commit(client, group) == ErrorCode.NONE)
    assert commit(client, group, member, generation) == ErrorCode.UNKNOWN_MEMBER_ID


def test_groups_that_cannot_be(client: Raw) -> None:
    """Without a name, with a session that is too short or too long, with nothing in common."""
    group = coordinated(client, fresh("readers"))
    assert client.ask(join("")).error_code == ErrorCode.INVALID_GROUP_ID
    for session in (-1, 0, 99, (1 << 31) - 1):
        refused = client.ask(join(group, session_ms=session))
        assert refused.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    unknown = client.ask(join(group, "a member that is not there"))
    assert unknown.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    member_of(client, group)
    other = join(group)
    other.protocol_type = "connect"
    assert client.ask(other).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    none = JoinGroupRequest(group, SESSION_MS, 60_000, "", None, "", [])
    assert client.ask(none).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


# Claims


def claim(key: int, version: int, body: bytes, *, flexible: bool) -> bytes:
    """A request with a body by hand."""
    header = struct.pack(">hhih", key, version, 7, -1) + (b"\x00" if flexible else b"")
    return struct.pack(">i", len(header) + len(body)) + header + body


UNSIGNED_MAX = b"\xff\xff\xff\xff\x0f"
CLAIMS = {
    "2^31 - 1 topics": claim(3, 1, struct.pack(">i", (1 << 31) - 1), flexible=False),
    "-2 topics": claim(3, 1, struct.pack(">i", -2), flexible=False),
    "2^32 - 2 topics": claim(3, 9, UNSIGNED_MAX, flexible=True),
    "more topics than bytes": claim(3, 9, b"\xff\x7f" + bytes(9_000), flexible=True),
    "a varint without end": claim(3, 9, b"\xff" * 64, flexible=True),
    "a string longer than the request": claim(3, 1, b"\x00\x00\x00\x01\x7f\xff", flexible=False),
    "a string of 2^32 bytes": claim(3, 9, b"\x02" + UNSIGNED_MAX, flexible=True),
    "a string of -2 bytes": claim(3, 1, b"\x00\x00\x00\x01\xff\xfe", flexible=False),
    "a name that is not UTF-8": claim(3, 1, b"\x00\x00\x00\x01\x00\x02\xff\xfe", flexible=False),
    "2^32 - 1 tags": claim(3, 9, b"\x00\x01\x00\x00" + UNSIGNED_MAX, flexible=True),
    "a tag longer than the request": claim(
        3, 9, b"\x00\x01\x00\x00\x01\x07" + UNSIGNED_MAX, flexible=True
    ),
    "records longer than the request": claim(
        0,
        3,
        struct.pack(">hhiih1siii", -1, -1, 1, 1, 1, b"a", 1, 0, (1 << 31) - 1),
        flexible=False,
    ),
    "twenty million tags": claim(
        18, 3, b"\x02a\x02a" + b"\x80\xda\xc4\x09" + b"\x00" * 40_000_000, flexible=True
    ),
    "twenty million topics": claim(
        3, 1, struct.pack(">i", 20_000_000) + bytes(40_000_000), flexible=False
    ),
}


@pytest.mark.parametrize("said", CLAIMS)
def test_counts_that_cannot_be_true(broker: Broker, said: str) -> None:
    """Nothing is made of them; the connection is of no more use."""
    with Raw(broker) as client:
        client.send(CLAIMS[said])
        assert client.is_sent_away()
