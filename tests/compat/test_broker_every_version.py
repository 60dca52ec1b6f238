"""Each API that is offered, in each version that is offered, read by codecs that are not ours.

For each there is a request that is right and one that is wrong. What comes back must be well
formed to the last byte for kio and for kafka-python, whichever of them knows the version, and must
have the codes that Kafka's would have.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final, NamedTuple

import pytest

from odradek.broker import apis
from odradek.broker.handlers import odradek_admin
from odradek.client.connection_limits import FETCH_BY_NAME
from odradek.model.errors import ErrorCode
from odradek.records.record import Record
from odradek.wire.apis import APIS
from odradek.wire.headers import response_header_version
from odradek.wire.messages import (
    alter_client_quotas,
    alter_configs,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sasl_authenticate,
    sasl_handshake,
    sync_group,
)
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.schema import Request
from tests.compat import questions_among_brokers, questions_of_transactions
from tests.compat.broker_process import Broker, eventually
from tests.compat.hostile import Raw
from tests.compat.librdkafka import create_topic
from tests.compat.test_broker_wrong_requests import batch
from tests.compat.witnesses import codes_in, witnesses
from tests.unit.records.test_legacy import message

TOPIC, MISSING = "every-version", "not-there"
GROUP = "every-version"
SESSION_MS: Final = 60_000
KIND = "consumer"
KAFKAS: Final = {key: api for key, api in apis.OFFERED.items() if api is not odradek_admin.API}
"""What other libraries can read."""
OFFERED: Final = [(key, v) for key, api in sorted(KAFKAS.items()) for v in api.offered]
_NUMBERS = count()
NONE = ErrorCode.NONE


class Case(NamedTuple):
    """What is said, and which codes must be in the answer; no others may but none."""

    request: Request
    codes: set[ErrorCode]


class Member(NamedTuple):
    """Of a group, alone in it."""

    group: str
    id: str
    generation: int


@pytest.fixture(scope="module")
def client(broker: Broker) -> Iterator[Raw]:
    """One connection for all of them: none may cost it."""
    create_topic(broker, TOPIC)
    with Raw(broker) as client:
        commit = offset_commit.OffsetCommitRequest(GROUP, -1, "", topics=[position(TOPIC)])

        def is_coordinated() -> bool:
            client.ask(find_coordinator.FindCoordinatorRequest(GROUP), 1)
            (topic,) = client.ask(commit, 5).topics
            return bool(topic.partitions[0].error_code == NONE)

        eventually(is_coordinated)

        def is_decided_here() -> bool:
            client.ask(find_coordinator.FindCoordinatorRequest(questions_of_transactions.ID, 1), 1)
            described = describe_transactions.DescribeTransactionsRequest(
                [questions_of_transactions.ID]
            )
            (state,) = client.ask(described, 0).transaction_states
            return bool(state.error_code == Code.TRANSACTIONAL_ID_NOT_FOUND)

        eventually(is_decided_here)
        eventually(
            lambda: client.ask(init_producer_id.InitProducerIdRequest(None, 1), 1).producer_id >= 0
        )
        yield client


def position(topic: str) -> offset_commit.OffsetCommitRequestTopic:
    """To be committed."""
    return offset_commit.OffsetCommitRequestTopic(
        topic, partitions=[offset_commit.OffsetCommitRequestPartition(0, 1, committed_metadata="")]
    )


def member(client: Raw) -> Member:
    """Of a group of its own, which nobody else joins."""
    group = f"group-{next(_NUMBERS)}"
    protocols = [join_group.JoinGroupRequestProtocol("range", b"")]
    request = join_group.JoinGroupRequest(group, SESSION_MS, SESSION_MS, "", None, KIND, protocols)
    joined = client.ask(request, 3)  # before an id was required
    assert joined.error_code == NONE
    share = [sync_group.SyncGroupRequestAssignment(joined.member_id, b"all")]
    generation = joined.generation_id
    synced = client.ask(
        sync_group.SyncGroupRequest(group, generation, joined.member_id, None, None, None, share), 3
    )
    assert synced.error_code == NONE
    return Member(group, joined.member_id, generation)


# What is said

Question = Callable[[Raw, int, str], Case]  # on this connection, in this version, of this topic
Code = ErrorCode


def right(found: str, otherwise: ErrorCode) -> set[ErrorCode]:
    """Nothing, of a topic that is there."""
    return {NONE} if found == TOPIC else {otherwise}


def _produce(client: Raw, version: int, topic: str) -> Case:
    records = bytes(batch())
    if version < 3:
        records = message(Record(0, 1_700_000_000_000, None, b"old"), 1 if version == 2 else 0)
    data = produce.PartitionProduceData(0, records)
    rows = [produce.TopicProduceData(topic, partition_data=[data])]
    del client
    return Case(
        produce.ProduceRequest(None, 1, 5_000, rows), right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION)
    )


def _fetch(client: Raw, version: int, topic: str) -> Case:
    wanted = fetch.FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
    rows = [fetch.FetchTopic(topic, partitions=[wanted])]
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    if version > FETCH_BY_NAME:
        rows[0].topic_id, unknown = id_of(client, topic), Code.UNKNOWN_TOPIC_ID
    request = fetch.FetchRequest(topics=rows)
    request.max_wait_ms, request.min_bytes = 0, 0
    return Case(request, right(topic, unknown))


def id_of(client: Raw, topic: str) -> bytes:
    """As Metadata says; one that no topic has where there is none."""
    wanted = [metadata.MetadataRequestTopic(name=topic)]
    request = metadata.MetadataRequest(wanted, allow_auto_topic_creation=False)
    (row,) = client.ask(request, 12).topics
    return row.topic_id if row.error_code == NONE else b"?" * 16


def _list_offsets(client: Raw, version: int, topic: str) -> Case:
    del client, version
    wanted = [list_offsets.ListOffsetsPartition(0, timestamp=-1, max_num_offsets=1)]
    request = list_offsets.ListOffsetsRequest(-1, 0, [list_offsets.ListOffsetsTopic(topic, wanted)])
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _metadata(client: Raw, version: int, topic: str) -> Case:
    del client
    name = topic if topic == TOPIC else "no name"
    request = metadata.MetadataRequest([metadata.MetadataRequestTopic(name=name)])
    if version >= 4:
        request.allow_auto_topic_creation = False
    return Case(request, right(topic, Code.INVALID_TOPIC_EXCEPTION))


def _offset_commit(client: Raw, version: int, topic: str) -> Case:
    group, member_id, generation = (GROUP, "", -1) if topic == TOPIC else member(client)
    if topic != TOPIC:
        generation += 7
    request = offset_commit.OffsetCommitRequest(
        group, generation, member_id, topics=[position(TOPIC)]
    )
    del version
    return Case(request, right(topic, Code.ILLEGAL_GENERATION))


def _offset_fetch(client: Raw, version: int, topic: str) -> Case:
    del client
    group = GROUP if topic == TOPIC else ""
    if version < 8:
        rows = [offset_fetch.OffsetFetchRequestTopic(topic, [0])]
        return Case(offset_fetch.OffsetFetchRequest(group, rows), {NONE})
    wanted = [offset_fetch.OffsetFetchRequestTopics(topic, partition_indexes=[0])]
    groups = [offset_fetch.OffsetFetchRequestGroup(group, topics=wanted)]
    return Case(offset_fetch.OffsetFetchRequest(groups=groups), {NONE})


def _find_coordinator(client: Raw, version: int, topic: str) -> Case:
    del client
    kind = 0 if topic == TOPIC or not version else 99
    request = find_coordinator.FindCoordinatorRequest(GROUP, kind)
    if version >= 4:
        request = find_coordinator.FindCoordinatorRequest("", kind, [GROUP])
    return Case(request, {NONE} if not kind else {Code.INVALID_REQUEST})


def _join_group(client: Raw, version: int, topic: str) -> Case:
    del client
    protocols = [join_group.JoinGroupRequestProtocol("range", b"")]
    session = SESSION_MS if topic == TOPIC else -1
    group = f"joined-{next(_NUMBERS)}"
    request = join_group.JoinGroupRequest(group, session, SESSION_MS, "", None, KIND, protocols)
    if topic != TOPIC:
        return Case(request, {Code.INVALID_SESSION_TIMEOUT})
    return Case(request, {NONE if version < 4 else Code.MEMBER_ID_REQUIRED})


def _sync_group(client: Raw, version: int, topic: str) -> Case:
    found = member(client)
    kind, name = (KIND, "range") if version >= 5 else (None, None)
    generation = found.generation if topic == TOPIC else 77
    request = sync_group.SyncGroupRequest(found.group, generation, found.id, None, kind, name, [])
    return Case(request, right(topic, Code.ILLEGAL_GENERATION))


def _heartbeat(client: Raw, version: int, topic: str) -> Case:
    del version
    found = member(client)
    who = found.id if topic == TOPIC else "nobody"
    request = heartbeat.HeartbeatRequest(found.group, found.generation, who, None)
    return Case(request, right(topic, Code.UNKNOWN_MEMBER_ID))


def _leave_group(client: Raw, version: int, topic: str) -> Case:
    found = member(client)
    who = found.id if topic == TOPIC else "nobody"
    if version < 3:
        return Case(
            leave_group.LeaveGroupRequest(found.group, who), right(topic, Code.UNKNOWN_MEMBER_ID)
        )
    request = leave_group.LeaveGroupRequest(
        found.group, members=[leave_group.MemberIdentity(who, None)]
    )
    return Case(request, right(topic, Code.UNKNOWN_MEMBER_ID))


def _describe_groups(client: Raw, version: int, topic: str) -> Case:
    group = member(client).group if topic == TOPIC else MISSING
    missing = Code.GROUP_ID_NOT_FOUND if version >= 6 else NONE
    return Case(describe_groups.DescribeGroupsRequest([group]), right(topic, missing))


def _list_groups(client: Raw, version: int, topic: str) -> Case:
    del client
    states = [] if version < 4 or topic == TOPIC else ["No such state"]
    return Case(list_groups.ListGroupsRequest(states), {NONE})


def _api_versions(client: Raw, version: int, topic: str) -> Case:
    del client
    name = "tests" if topic == TOPIC else "%"
    request = ApiVersionsRequest(name, "1")
    return Case(request, {NONE} if version < 3 else right(topic, Code.INVALID_REQUEST))


def _create_topics(client: Raw, version: int, topic: str) -> Case:
    del client, version
    name = f"made-{next(_NUMBERS)}" if topic == TOPIC else TOPIC
    request = create_topics.CreateTopicsRequest([create_topics.CreatableTopic(name, 1, 1)], 5_000)
    return Case(request, right(topic, Code.TOPIC_ALREADY_EXISTS))


def _delete_topics(client: Raw, version: int, topic: str) -> Case:
    name = MISSING
    if topic == TOPIC:
        name = f"made-{next(_NUMBERS)}"
        made = [create_topics.CreatableTopic(name, 1, 1)]
        client.ask(create_topics.CreateTopicsRequest(made, 5_000), 2)
    request = delete_topics.DeleteTopicsRequest(topic_names=[name], timeout_ms=5_000)
    if version >= 6:
        request = delete_topics.DeleteTopicsRequest([delete_topics.DeleteTopicState(name)])
        request.timeout_ms = 5_000
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _delete_records(client: Raw, version: int, topic: str) -> Case:
    del client, version
    rows = [delete_records.DeleteRecordsPartition(0, 0)]
    request = delete_records.DeleteRecordsRequest(
        [delete_records.DeleteRecordsTopic(topic, rows)], 5_000
    )
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _init_producer_id(client: Raw, version: int, topic: str) -> Case:
    del client
    request = init_producer_id.InitProducerIdRequest(None, 1_000)
    if topic == TOPIC or version < 3:
        return Case(request, {NONE})
    request.producer_id, request.producer_epoch = 5, -1
    return Case(request, {Code.INVALID_REQUEST})


def _offset_for_leader_epoch(client: Raw, version: int, topic: str) -> Case:
    del client, version
    rows = [offset_for_leader_epoch.OffsetForLeaderPartition(0, -1, 0)]
    topics = [offset_for_leader_epoch.OffsetForLeaderTopic(topic, rows)]
    request = offset_for_leader_epoch.OffsetForLeaderEpochRequest(-1, topics)
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _describe_configs(client: Raw, version: int, topic: str) -> Case:
    del client
    rows = [describe_configs.DescribeConfigsResource(2, topic, None)]
    request = describe_configs.DescribeConfigsRequest(rows)
    if version >= 1:
        request.include_synonyms = True
    if version >= 3:
        request.include_documentation = True
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _alter_configs(client: Raw, version: int, topic: str) -> Case:
    del client, version
    wanted = alter_configs.AlterableConfig("retention.ms", "1000000")
    rows = [alter_configs.AlterConfigsResource(2, topic, [wanted])]
    request = alter_configs.AlterConfigsRequest(rows)
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _incremental_alter_configs(client: Raw, version: int, topic: str) -> Case:
    del client, version
    wanted = incremental_alter_configs.AlterableConfig("retention.ms", 0, "1000000")
    rows = [incremental_alter_configs.AlterConfigsResource(2, topic, [wanted])]
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(rows)
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _describe_log_dirs(client: Raw, version: int, topic: str) -> Case:
    del client, version
    rows = [describe_log_dirs.DescribableLogDirTopic(topic, [0])]
    return Case(describe_log_dirs.DescribeLogDirsRequest(rows), {NONE})


def _create_partitions(client: Raw, version: int, topic: str) -> Case:
    del version
    name = MISSING
    if topic == TOPIC:
        name = f"made-{next(_NUMBERS)}"
        made = [create_topics.CreatableTopic(name, 1, 1)]
        client.ask(create_topics.CreateTopicsRequest(made, 5_000), 2)
    rows = [create_partitions.CreatePartitionsTopic(name, 2, None)]
    request = create_partitions.CreatePartitionsRequest(rows, 5_000)
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _delete_groups(client: Raw, version: int, topic: str) -> Case:
    del version
    group = member(client).group if topic == TOPIC else MISSING
    codes = {Code.NON_EMPTY_GROUP} if topic == TOPIC else {Code.GROUP_ID_NOT_FOUND}
    return Case(delete_groups.DeleteGroupsRequest([group]), codes)


def _offset_delete(client: Raw, version: int, topic: str) -> Case:
    del client, version
    rows = [offset_delete.OffsetDeleteRequestPartition(0)]
    group = "another" if topic != TOPIC else "deleted"
    request = offset_delete.OffsetDeleteRequest(
        group, [offset_delete.OffsetDeleteRequestTopic(topic, rows)]
    )
    return Case(request, {Code.GROUP_ID_NOT_FOUND})


def _describe_cluster(client: Raw, version: int, topic: str) -> Case:
    del client
    request = describe_cluster.DescribeClusterRequest()
    if topic == TOPIC or version < 1:
        return Case(request, {NONE})
    request.endpoint_type = 2  # controllers of a quorum
    return Case(request, {Code.MISMATCHED_ENDPOINT_TYPE})


def _describe_producers(client: Raw, version: int, topic: str) -> Case:
    del client, version
    rows = [describe_producers.TopicRequest(topic, [0])]
    request = describe_producers.DescribeProducersRequest(rows)
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _describe_topic_partitions(client: Raw, version: int, topic: str) -> Case:
    del client, version
    rows = [describe_topic_partitions.TopicRequest(topic)]
    request = describe_topic_partitions.DescribeTopicPartitionsRequest(rows)
    return Case(request, right(topic, Code.UNKNOWN_TOPIC_OR_PARTITION))


def _describe_acls(client: Raw, version: int, topic: str) -> Case:
    del client, version, topic
    return Case(describe_acls.DescribeAclsRequest(), {Code.SECURITY_DISABLED})


def _create_acls(client: Raw, version: int, topic: str) -> Case:
    del client, version
    wanted = create_acls.AclCreation(2, topic, 3, "User:me", "*", 2, 3)
    return Case(create_acls.CreateAclsRequest([wanted]), {Code.SECURITY_DISABLED})


def _delete_acls(client: Raw, version: int, topic: str) -> Case:
    del client, version
    wanted = delete_acls.DeleteAclsFilter(2, topic)
    return Case(delete_acls.DeleteAclsRequest([wanted]), {Code.SECURITY_DISABLED})


def _alter_replica_log_dirs(client: Raw, version: int, topic: str) -> Case:
    del client, version
    wanted = alter_replica_log_dirs.AlterReplicaLogDirTopic(topic, [0])
    rows = [alter_replica_log_dirs.AlterReplicaLogDir("/nowhere", [wanted])]
    request = alter_replica_log_dirs.AlterReplicaLogDirsRequest(rows)
    return Case(request, {Code.LOG_DIR_NOT_FOUND})


def _describe_client_quotas(client: Raw, version: int, topic: str) -> Case:
    del client, version
    wanted = describe_client_quotas.ComponentData("client-id", 0, topic)
    return Case(describe_client_quotas.DescribeClientQuotasRequest([wanted]), {NONE})


def _alter_client_quotas(client: Raw, version: int, topic: str) -> Case:
    del client, version
    entity = [alter_client_quotas.EntityData("client-id", topic)]
    wanted = alter_client_quotas.RequestEntryData(entity, [alter_client_quotas.OpData("x", 1.0)])
    request = alter_client_quotas.AlterClientQuotasRequest([wanted])
    return Case(request, {Code.INVALID_REQUEST})


def _describe_user_scram_credentials(client: Raw, version: int, topic: str) -> Case:
    del client, version
    users = None if topic == TOPIC else [describe_user_scram_credentials.UserName("me")]
    request = describe_user_scram_credentials.DescribeUserScramCredentialsRequest(users)
    return Case(request, right(topic, Code.RESOURCE_NOT_FOUND))


def _alter_user_scram_credentials(client: Raw, version: int, topic: str) -> Case:
    del client, version, topic
    wanted = alter_user_scram_credentials.ScramCredentialDeletion("me", 1)
    request = alter_user_scram_credentials.AlterUserScramCredentialsRequest([wanted])
    return Case(request, {Code.RESOURCE_NOT_FOUND})


def _sasl_handshake(client: Raw, version: int, topic: str) -> Case:
    del client, version, topic
    return Case(sasl_handshake.SaslHandshakeRequest("PLAIN"), {Code.ILLEGAL_SASL_STATE})


def _sasl_authenticate(client: Raw, version: int, topic: str) -> Case:
    del client, version, topic
    return Case(sasl_authenticate.SaslAuthenticateRequest(b"x"), {Code.ILLEGAL_SASL_STATE})


def _among_brokers(key: int) -> Question:
    def question(client: Raw, version: int, topic: str) -> Case:
        del client, version
        return Case(*questions_among_brokers.asked(key, topic, exists=topic == TOPIC))

    return question


def _of_transactions(key: int) -> Question:
    def question(client: Raw, version: int, topic: str) -> Case:
        del client
        exists = topic == TOPIC
        return Case(*questions_of_transactions.asked(key, version, topic, exists=exists))

    return question


QUESTIONS: Final[dict[int, Question]] = {
    **{key: _among_brokers(key) for key in (4, 5, 6, 7, 43, 45, 46, 56, 67)},
    **{key: _of_transactions(key) for key in questions_of_transactions.KEYS},
    0: _produce,
    1: _fetch,
    2: _list_offsets,
    3: _metadata,
    8: _offset_commit,
    9: _offset_fetch,
    10: _find_coordinator,
    11: _join_group,
    12: _heartbeat,
    13: _leave_group,
    14: _sync_group,
    15: _describe_groups,
    16: _list_groups,
    17: _sasl_handshake,
    18: _api_versions,
    19: _create_topics,
    20: _delete_topics,
    21: _delete_records,
    22: _init_producer_id,
    23: _offset_for_leader_epoch,
    29: _describe_acls,
    30: _create_acls,
    31: _delete_acls,
    32: _describe_configs,
    33: _alter_configs,
    34: _alter_replica_log_dirs,
    35: _describe_log_dirs,
    36: _sasl_authenticate,
    37: _create_partitions,
    42: _delete_groups,
    44: _incremental_alter_configs,
    47: _offset_delete,
    48: _describe_client_quotas,
    49: _alter_client_quotas,
    50: _describe_user_scram_credentials,
    51: _alter_user_scram_credentials,
    60: _describe_cluster,
    61: _describe_producers,
    75: _describe_topic_partitions,
}


# What comes back


def test_each_api_that_is_offered_is_asked() -> None:
    """None is left out below."""
    assert set(QUESTIONS) == set(KAFKAS)


@pytest.mark.parametrize("topic", [TOPIC, MISSING], ids=["right", "wrong"])
@pytest.mark.parametrize(
    ("key", "version"), OFFERED, ids=[f"{APIS[key].name}-{version}" for key, version in OFFERED]
)
def test_it_is_answered(client: Raw, key: int, version: int, topic: str) -> None:
    """Well formed, with the right codes; a version that is too old, with one that says so."""
    case = QUESTIONS[key](client, version, topic)
    client.send(client.frame(case.request, version))
    frame = client.answer()
    body = frame[4 + response_header_version(APIS[key], version) :]
    found = witnesses(key, version, body)
    assert found, "nobody can read this"
    expected = case.codes
    if version not in apis.OFFERED[key].versions:
        expected = {Code.UNSUPPORTED_VERSION}
    for read in found:
        assert {ErrorCode(code) for code in codes_in(read)} - {NONE} == expected - {NONE}, read
