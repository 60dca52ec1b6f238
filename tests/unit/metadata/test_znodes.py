"""The bytes of znodes against what Kafka 3.9.1 wrote for the same values, both ways."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from odradek.config.listeners import SecurityProtocol
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import (
    Assignment,
    Broker,
    Endpoint,
    PartitionState,
    TopicAssignment,
    VersionRange,
)
from odradek.metadata.znodes.admin import (
    DeleteTopicZnode,
    IsrChangeZnode,
    LogDirEventZnode,
    PreferredElectionZnode,
    ReassignPartitionsZnode,
)
from odradek.metadata.znodes.broker import BrokerIdsZnode, BrokerZnode
from odradek.metadata.znodes.cluster import (
    ClusterIdZnode,
    ControllerEpochZnode,
    ControllerZnode,
    Features,
    FeatureStatus,
    FeatureZnode,
    ProducerIdBlock,
    ProducerIdBlockZnode,
)
from odradek.metadata.znodes.settings import (
    Entity,
    EntityType,
    SettingsChangeZnode,
    SettingsZnode,
)
from odradek.metadata.znodes.topic import (
    PartitionStateZnode,
    PartitionZnode,
    TopicsZnode,
    TopicZnode,
)
from odradek.model.ids import BrokerId, ProducerId, TopicPartition, topic_id_from_text
from odradek.model.positions import (
    BrokerEpoch,
    ControllerEpoch,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
)
from odradek.model.units import Timestamp

NOW = Timestamp(1795223293299)
A0, B3 = TopicPartition("a", 0), TopicPartition("b", 3)


def ids(*brokers: int) -> tuple[BrokerId, ...]:
    """Brokers by number."""
    return tuple(map(BrokerId, brokers))


THREE_LISTENERS = Broker(
    BrokerId(7),
    (
        Endpoint("PLAINTEXT", "h1", 9092, SecurityProtocol.PLAINTEXT),
        Endpoint("CLIENT", "h2", 9093, SecurityProtocol.SSL),
        Endpoint("REPLICATION", "::1", 9094, SecurityProtocol.SASL_PLAINTEXT),
    ),
    rack='r"1',
    epoch=BrokerEpoch(99),
)
TLS_ONLY = Broker(
    BrokerId(8),
    (Endpoint("LISTENER0", "h0", 9092, SecurityProtocol.SSL),),
    features=(("metadata.version", VersionRange(1, 3)),),
)
MOVING = TopicAssignment(
    {
        0: Assignment(ids(0, 1)),
        1: Assignment(ids(4, 2, 3), adding=ids(4), removing=ids(2)),
        2: Assignment(ids(2, 0)),
    },
    topic_id_from_text("ASNFZ4mrze___________g"),
)
STATE = PartitionState(
    BrokerId(1), LeaderEpoch(5), ids(1, 0, 2), PartitionEpoch(9), ControllerEpoch(12)
)
SETTINGS = {
    "cleanup.policy": "compact,delete",
    "retention.ms": "1000",
    "x": '"\\/\u00e9\u2028\u0001\t\U0001f600\u007f',
}


class Sample(NamedTuple):
    """What Kafka wrote, what we write, and what we read from it."""

    kafka: str
    ours: bytes
    read: object
    expected: object


def sample(kafka: str, ours: bytes, decode: Callable[[bytes], object], expected: object) -> Sample:
    """One kind of znode, and the value that both ends mean."""
    return Sample(kafka, ours, decode(kafka.encode()), expected)


TOPIC_ENTITY = Entity(EntityType.TOPICS, "orders")
SAMPLES = {
    "controller": sample(
        '{"version":2,"brokerid":3,"timestamp":"1795223293299","kraftControllerEpoch":-1}',
        ControllerZnode.encode(BrokerId(3), NOW),
        ControllerZnode.decode,
        3,
    ),
    "controller epoch": sample(
        "7", ControllerEpochZnode.encode(ControllerEpoch(7)), ControllerEpochZnode.decode, 7
    ),
    "broker": sample(
        '{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","CLIENT":"SSL",'
        '"REPLICATION":"SASL_PLAINTEXT"},"endpoints":["PLAINTEXT://h1:9092","CLIENT://h2:9093",'
        '"REPLICATION://[::1]:9094"],"rack":"r\\"1","jmx_port":-1,"port":9092,"host":"h1",'
        '"version":5,"timestamp":"1795223293299"}',
        BrokerZnode.encode(THREE_LISTENERS, NOW),
        lambda data: BrokerZnode.decode(BrokerId(7), data, czxid=99),
        THREE_LISTENERS,
    ),
    "broker without a plain listener": sample(
        '{"features":{"metadata.version":{"min_version":1,"max_version":3}},'
        '"listener_security_protocol_map":{"LISTENER0":"SSL"},"endpoints":["LISTENER0://h0:9092"],'
        '"jmx_port":-1,"port":-1,"host":null,"version":5,"timestamp":"1795223293299"}',
        BrokerZnode.encode(TLS_ONLY, NOW),
        lambda data: BrokerZnode.decode(BrokerId(8), data),
        TLS_ONLY,
    ),
    "topic": sample(
        '{"partitions":{"0":[0,1],"1":[4,2,3],"2":[2,0]},"topic_id":"ASNFZ4mrze___________g",'
        '"adding_replicas":{"1":[4]},"removing_replicas":{"1":[2]},"version":3}',
        TopicZnode.encode(MOVING),
        lambda data: TopicZnode.decode("t", data),
        MOVING,
    ),
    "topic without an id": sample(
        '{"partitions":{"0":[0,1]},"adding_replicas":{},"removing_replicas":{},"version":3}',
        TopicZnode.encode(TopicAssignment({0: Assignment(ids(0, 1))})),
        lambda data: TopicZnode.decode("t", data),
        TopicAssignment({0: Assignment(ids(0, 1))}),
    ),
    "state": sample(
        '{"controller_epoch":12,"leader":1,"version":1,"leader_epoch":5,"isr":[1,0,2]}',
        PartitionStateZnode.encode(STATE),
        lambda data: PartitionStateZnode.decode(A0, data, 9),
        STATE,
    ),
    "state of a recovery": sample(
        '{"controller_epoch":12,"leader":1,"version":1,"leader_recovery_state":1,'
        '"leader_epoch":5,"isr":[1,0,2]}',
        PartitionStateZnode.encode(STATE._replace(recovering=True)),
        lambda data: PartitionStateZnode.decode(A0, data, 9),
        STATE._replace(recovering=True),
    ),
    "state without a leader": sample(
        '{"controller_epoch":12,"leader":-1,"version":1,"leader_epoch":5,"isr":[1]}',
        PartitionStateZnode.encode(STATE._replace(leader=None, isr=ids(1))),
        lambda data: PartitionStateZnode.decode(A0, data, 9),
        STATE._replace(leader=None, isr=ids(1)),
    ),
    "settings": sample(
        '{"version":1,"config":{"cleanup.policy":"compact,delete","retention.ms":"1000",'
        '"x":"\\"\\\\/\u00e9\u2028\\u0001\\t\\uD83D\\uDE00\u007f"}}',
        SettingsZnode.encode(SETTINGS),
        lambda data: SettingsZnode.decode(TOPIC_ENTITY, data),
        SETTINGS,
    ),
    "no settings": sample(
        '{"version":1,"config":{}}',
        SettingsZnode.encode({}),
        lambda data: SettingsZnode.decode(TOPIC_ENTITY, data),
        {},
    ),
    "change of settings": sample(
        '{"version":2,"entity_path":"users/a/clients/b"}',
        SettingsChangeZnode.encode(Entity(EntityType.USERS, "a/clients/b")),
        SettingsChangeZnode.decode,
        Entity(EntityType.USERS, "a/clients/b"),
    ),
    "cluster id": sample(
        '{"version":"1","id":"abcdefghijklmnopqrstuv"}',
        ClusterIdZnode.encode("abcdefghijklmnopqrstuv"),
        ClusterIdZnode.decode,
        "abcdefghijklmnopqrstuv",
    ),
    "producer ids": sample(
        '{"version":1,"broker":4,"block_start":"1000","block_end":"1999"}',
        ProducerIdBlockZnode.encode(
            ProducerIdBlock(BrokerId(4), ProducerId(1000), ProducerId(1999))
        ),
        ProducerIdBlockZnode.decode,
        ProducerIdBlock(BrokerId(4), ProducerId(1000), ProducerId(1999)),
    ),
    "features": sample(
        '{"features":{"f":{"max_version_level":3}},"version":2,"status":1}',
        FeatureZnode.encode(Features(FeatureStatus.ENABLED, (("f", VersionRange(3, 3)),))),
        FeatureZnode.decode,
        Features(FeatureStatus.ENABLED, (("f", VersionRange(3, 3)),)),
    ),
    "reassignment": sample(
        '{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1,2]},'
        '{"topic":"b","partition":3,"replicas":[2]}]}',
        ReassignPartitionsZnode.encode({B3: ids(2), A0: ids(1, 2)}),
        ReassignPartitionsZnode.decode,
        {A0: ids(1, 2), B3: ids(2)},
    ),
    "preferred election": sample(
        '{"version":1,"partitions":[{"topic":"a","partition":0},{"topic":"b","partition":3}]}',
        PreferredElectionZnode.encode([B3, A0]),
        PreferredElectionZnode.decode,
        [A0, B3],
    ),
    "change of an ISR": sample(
        '{"version":1,"partitions":[{"topic":"a","partition":0},{"topic":"b","partition":3}]}',
        IsrChangeZnode.encode([B3, A0]),
        IsrChangeZnode.decode,
        [A0, B3],
    ),
    "event of a log dir": sample(
        '{"version":1,"broker":2,"event":1}',
        LogDirEventZnode.encode(BrokerId(2)),
        LogDirEventZnode.decode,
        2,
    ),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_we_write_what_kafka_writes(kind: str) -> None:
    """A neighbour that is a real Kafka broker reads our bytes as its own."""
    assert SAMPLES[kind].ours.decode() == SAMPLES[kind].kafka


@pytest.mark.parametrize("kind", SAMPLES)
def test_we_read_what_kafka_writes(kind: str) -> None:
    """What comes back is the value that went in, with what the path and the stat add."""
    assert SAMPLES[kind].read == SAMPLES[kind].expected


def test_paths_are_kafkas() -> None:
    """The tree is the contract: whoever looks for a znode knows its place."""
    assert BrokerZnode.path(BrokerId(3)) == "/brokers/ids/3"
    assert TopicZnode.path("a") == "/brokers/topics/a"
    assert PartitionZnode.parent("a") == "/brokers/topics/a/partitions"
    assert PartitionZnode.path(A0) == "/brokers/topics/a/partitions/0"
    assert PartitionStateZnode.path(A0) == "/brokers/topics/a/partitions/0/state"
    assert SettingsZnode.path(TOPIC_ENTITY) == "/config/topics/orders"
    assert SettingsZnode.parent(EntityType.IPS) == "/config/ips"
    assert SettingsChangeZnode.CREATE_PATH == "/config/changes/config_change_"
    assert IsrChangeZnode.CREATE_PATH == "/isr_change_notification/isr_change_"
    assert LogDirEventZnode.CREATE_PATH == "/log_dir_event_notification/log_dir_event_"
    assert DeleteTopicZnode.path("a") == "/admin/delete_topics/a"


@pytest.mark.parametrize(
    "body",
    [
        b'{"version":1,"host":"h1","port":9092,"jmx_port":9999,"timestamp":"1"}',
        b'{"version":2,"host":"x","port":1,"endpoints":["PLAINTEXT://h1:9092"],"timestamp":"1"}',
        b'{"version":3,"endpoints":["plaintext://h1:9092"],"rack":null}',
        (
            b'{"version":4,"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
            b'"endpoints":["PLAINTEXT://h1:9092"],"unheard":[1]}'
        ),
    ],
)
def test_every_version_of_a_registration_is_read(body: bytes) -> None:
    """A cluster is moved over broker by broker, from any release."""
    plain = Endpoint("PLAINTEXT", "h1", 9092, SecurityProtocol.PLAINTEXT)
    assert BrokerZnode.decode(BrokerId(3), body) == Broker(BrokerId(3), (plain,))
    assert Broker(BrokerId(3), (plain,)).endpoint("PLAINTEXT") == plain
    assert Broker(BrokerId(3), (plain,)).endpoint("CLIENT") is None


def test_old_topics_have_no_id_and_old_features_two_levels() -> None:
    """Versions 1 of both znodes are what clusters from before the change have."""
    assert TopicZnode.decode("t", b'{"version":1,"partitions":{"0":[1]}}') == TopicAssignment(
        {0: Assignment(ids(1))}
    )
    old = b'{"version":1,"status":0,"features":{"f":{"min_version_level":2,"max_version_level":3}}}'
    assert FeatureZnode.decode(old).levels == (("f", VersionRange(2, 3)),)


def test_who_is_eligible_is_named_with_the_number_that_it_rests_on() -> None:
    """Without it nothing is known of what was committed since."""
    where = TopicPartition("orders", 0)
    small = PartitionState(
        BrokerId(1),
        LeaderEpoch(4),
        ids(1),
        PartitionEpoch(7),
        ControllerEpoch(12),
        eligible=ids(2, 3),
        eligible_min_isr=2,
    )
    data = PartitionStateZnode.encode(small)
    assert data == (
        b'{"controller_epoch":12,"leader":1,"version":1,"leader_epoch":4,"isr":[1],'
        b'"eligible_replicas":[2,3],"eligible_min_isr":2}'
    )
    assert PartitionStateZnode.decode(where, data, 7) == small
    alone = data.replace(b',"eligible_min_isr":2', b"")
    assert PartitionStateZnode.decode(where, alone, 7) == small._replace(
        eligible=(), eligible_min_isr=0
    )


def test_a_member_is_named_with_the_incarnation_of_its_log() -> None:
    """Where that never lost anything nothing is said."""
    where = TopicPartition("orders", 0)
    state = PartitionState(
        BrokerId(1),
        LeaderEpoch(4),
        ids(1, 2),
        PartitionEpoch(7),
        ControllerEpoch(12),
        incarnations=((BrokerId(2), Incarnation(1 << 40)),),
    )
    data = PartitionStateZnode.encode(state)
    assert data.endswith(b'"isr":[1,2],"incarnations":{"2":1099511627776}}')
    assert PartitionStateZnode.decode(where, data, 7) == state
    assert state.incarnation_of(BrokerId(2)) == 1 << 40
    assert state.incarnation_of(BrokerId(1)) == 0


def test_znodes_that_are_made_empty_say_nothing() -> None:
    """No block of producer ids was given out yet, and no setting was made."""
    assert ProducerIdBlockZnode.decode(None) is None
    assert ProducerIdBlockZnode.decode(b"") is None
    assert SettingsZnode.decode(TOPIC_ENTITY, None) == {}


def test_the_target_of_a_reassignment_is_what_stays() -> None:
    """Replicas are the old and the new ones; those that go are named."""
    assert MOVING.partitions[1].target == ids(4, 3)


BROKER = b'{"version":5,"listener_security_protocol_map":%s,"endpoints":[%s]}'
MALFORMED = {
    "nothing": (ControllerZnode.decode, None),
    "no JSON": (ControllerZnode.decode, b"{"),
    "no UTF-8": (ControllerZnode.decode, b'{"brokerid":1,"x":"\xff"}'),
    "a constant": (ControllerZnode.decode, b'{"brokerid":NaN}'),
    "half a pair": (ControllerZnode.decode, b'{"brokerid":1,"x":"\\ud800"}'),
    "a deep nest": (ControllerZnode.decode, b"[" * 100_000),
    "a long number": (ControllerZnode.decode, b'{"brokerid":' + b"9" * 5000 + b"}"),
    "a list": (ControllerZnode.decode, b"[1]"),
    "a missing field": (ControllerZnode.decode, b"{}"),
    "a flag": (ControllerZnode.decode, b'{"brokerid":true}'),
    "a fraction": (ControllerZnode.decode, b'{"brokerid":1.0}'),
    "a negative id": (ControllerZnode.decode, b'{"brokerid":-1}'),
    "a wide id": (ControllerZnode.decode, b'{"brokerid":2147483648}'),
    "no epoch": (ControllerEpochZnode.decode, b""),
    "a signed epoch": (ControllerEpochZnode.decode, b"+7"),
    "a blank epoch": (ControllerEpochZnode.decode, b" 7"),
    "a foreign digit": (lambda _: BrokerIdsZnode.decode_name("\u0663"), b""),
    "a wide name": (lambda _: BrokerIdsZnode.decode_name("99999999999"), b""),
    "a numeric block": (
        ProducerIdBlockZnode.decode,
        b'{"broker":1,"block_start":0,"block_end":"9"}',
    ),
    "a block backwards": (
        ProducerIdBlockZnode.decode,
        b'{"broker":1,"block_start":"10","block_end":"9"}',
    ),
    "a block of letters": (
        ProducerIdBlockZnode.decode,
        b'{"broker":1,"block_start":"ten","block_end":"9"}',
    ),
    "an unknown protocol": (
        lambda data: BrokerZnode.decode(BrokerId(1), data),
        BROKER % (b'{"A":"QUIC"}', b'"A://h:1"'),
    ),
    "an unmapped listener": (
        lambda data: BrokerZnode.decode(BrokerId(1), data),
        BROKER % (b"{}", b'"A://h:1"'),
    ),
    "a listener twice": (
        lambda data: BrokerZnode.decode(BrokerId(1), data),
        BROKER % (b'{"A":"SSL"}', b'"A://h:1","A://h:2"'),
    ),
    "a wide port": (
        lambda data: BrokerZnode.decode(BrokerId(1), data),
        BROKER % (b'{"A":"SSL"}', b'"A://h:65536"'),
    ),
    "features of none": (
        lambda data: BrokerZnode.decode(BrokerId(1), data),
        b'{"version":5,"endpoints":[],"features":{"f":{"min_version":3,"max_version":1}}}',
    ),
    "a partition of letters": (
        lambda data: TopicZnode.decode("t", data),
        b'{"version":1,"partitions":{"x":[1]}}',
    ),
    "no replicas": (
        lambda data: TopicZnode.decode("t", data),
        b'{"version":1,"partitions":{"0":[]}}',
    ),
    "a replica twice": (
        lambda data: TopicZnode.decode("t", data),
        b'{"version":1,"partitions":{"0":[1,1]}}',
    ),
    "a stranger added": (
        lambda data: TopicZnode.decode("t", data),
        b'{"version":3,"partitions":{"0":[1]},"adding_replicas":{"0":[2]}}',
    ),
    "a short topic id": (
        lambda data: TopicZnode.decode("t", data),
        b'{"version":3,"partitions":{"0":[1]},"topic_id":"abc"}',
    ),
    "a state without epoch": (
        lambda data: PartitionStateZnode.decode(A0, data, 1),
        b'{"leader":1,"isr":[1],"controller_epoch":1}',
    ),
    "an ISR of texts": (
        lambda data: PartitionStateZnode.decode(A0, data, 1),
        b'{"leader":1,"leader_epoch":1,"isr":["1"],"controller_epoch":1}',
    ),
    "a way out of the tree": (lambda _: TopicsZnode.decode_name("../x"), b""),
    "an illegal topic": (
        PreferredElectionZnode.decode,
        b'{"version":1,"partitions":[{"topic":"a/b","partition":0}]}',
    ),
    "partitions of numbers": (IsrChangeZnode.decode, b'{"version":1,"partitions":[7]}'),
    "a change of nothing": (SettingsChangeZnode.decode, b'{"version":2,"entity_path":"topics/"}'),
    "a change of a moon": (SettingsChangeZnode.decode, b'{"version":2,"entity_path":"moons/a"}'),
    "a setting of a number": (
        lambda data: SettingsZnode.decode(TOPIC_ENTITY, data),
        b'{"version":1,"config":{"retention.ms":1}}',
    ),
    "an unknown status": (FeatureZnode.decode, b'{"version":2,"status":2,"features":{}}'),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_others_wrote_is_not_believed(kind: str) -> None:
    """Anybody can write to the tree: a wrong znode is refused in words, never with a traceback."""
    decode, data = MALFORMED[kind]
    with pytest.raises(MalformedZnode):
        decode(data)
