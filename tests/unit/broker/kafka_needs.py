"""What each request needs, and what a refusal looks like, as Kafka's `KafkaApis` has it in 3.9.

Facts, read in Kafka's source; `test_access_as_kafka` holds a broker against them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from odradek.model.access import Operation, ResourceType
from odradek.wire.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    allocate_producer_ids,
    alter_client_quotas,
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    controlled_shutdown,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leader_and_isr,
    leave_group,
    list_offsets,
    list_partition_reassignments,
    metadata,
    odradek_admin,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    stop_replica,
    sync_group,
    txn_offset_commit,
    update_features,
    update_metadata,
    write_txn_markers,
)
from odradek.wire.schema import Request

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
TRANSACTION = ResourceType.TRANSACTIONAL_ID
NAMES = {TOPIC: "orders-1", GROUP: "readers-1", CLUSTER: "kafka-cluster", TRANSACTION: "mover-1"}
OTHER_BROKER = 99
STALE = 0  # a controller epoch that is over


class Right(NamedTuple):
    """What must be allowed."""

    operation: Operation
    on: ResourceType = CLUSTER


class Fact(NamedTuple):
    """A request about a topic, or about a group; each of its rights is needed, in this order."""

    request: Callable[[str, str], Request]
    rights: tuple[Right, ...]
    instead: tuple[Right, ...] = ()  # each of these would do as well


def _commit(topic: str, group: str) -> Request:
    rows = [offset_commit.OffsetCommitRequestPartition(0)]
    topics = [offset_commit.OffsetCommitRequestTopic(topic, partitions=rows)]
    return offset_commit.OffsetCommitRequest(group, topics=topics)


def _offsets(topic: str, group: str) -> Request:
    topics = [offset_fetch.OffsetFetchRequestTopics(topic, partition_indexes=[0])]
    asked = offset_fetch.OffsetFetchRequestGroup(group, topics=topics)
    return offset_fetch.OffsetFetchRequest(groups=[asked])


def _forget(topic: str, group: str) -> Request:
    rows = [offset_delete.OffsetDeleteRequestPartition(0)]
    topics = [offset_delete.OffsetDeleteRequestTopic(topic, rows)]
    return offset_delete.OffsetDeleteRequest(group, topics)


def _produce(topic: str, _: str) -> Request:
    data = [produce.TopicProduceData(topic, partition_data=[produce.PartitionProduceData(0, b"")])]
    return produce.ProduceRequest(None, -1, 1_000, data)


def _produce_in_transaction(topic: str, group: str) -> Request:
    request = _produce(topic, group)
    assert isinstance(request, produce.ProduceRequest)
    request.transactional_id = NAMES[TRANSACTION]
    return request


def _commit_in_transaction(topic: str, group: str) -> Request:
    rows = [txn_offset_commit.TxnOffsetCommitRequestPartition(0)]
    topics = [txn_offset_commit.TxnOffsetCommitRequestTopic(topic, partitions=rows)]
    return txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id=NAMES[TRANSACTION], group_id=group, topics=topics
    )


def _add_partitions(topic: str, _group: str) -> Request:
    """As brokers ask; what clients ask is in `test_access_as_kafka`."""
    topics = [add_partitions_to_txn.AddPartitionsToTxnTopic(topic, [0])]
    transaction = add_partitions_to_txn.AddPartitionsToTxnTransaction(
        NAMES[TRANSACTION], 7, 0, topics=topics
    )
    return add_partitions_to_txn.AddPartitionsToTxnRequest([transaction])


def _markers(topic: str, _group: str) -> Request:
    topics = [write_txn_markers.WritableTxnMarkerTopic(topic, [0])]
    marker = write_txn_markers.WritableTxnMarker(7, 0, topics=topics)
    return write_txn_markers.WriteTxnMarkersRequest([marker])


def _fetch(topic: str, _: str) -> Request:
    wanted = [fetch.FetchTopic(topic, partitions=[fetch.FetchPartition(0)])]
    return fetch.FetchRequest(max_wait_ms=0, topics=wanted)


def _ends(topic: str, _: str) -> Request:
    rows = [list_offsets.ListOffsetsPartition(0, timestamp=-1)]
    return list_offsets.ListOffsetsRequest(-1, topics=[list_offsets.ListOffsetsTopic(topic, rows)])


def _epochs(topic: str, _: str) -> Request:
    rows = [offset_for_leader_epoch.OffsetForLeaderPartition(0)]
    topics = [offset_for_leader_epoch.OffsetForLeaderTopic(topic, rows)]
    return offset_for_leader_epoch.OffsetForLeaderEpochRequest(-1, topics)


def _settings_of(kind: int) -> Callable[[str, str], tuple[int, str]]:
    return lambda topic, _: (kind, topic if kind == TOPIC else "1")


def _alter(kind: int, module: Any) -> Callable[[str, str], Request]:
    requests = {
        alter_configs: "AlterConfigsRequest",
        incremental_alter_configs: "IncrementalAlterConfigsRequest",
    }
    of = _settings_of(kind)
    build: Any = getattr(module, requests[module])
    return lambda *names: build([module.AlterConfigsResource(*of(*names))], validate_only=True)


def _describe(kind: int) -> Callable[[str, str], Request]:
    of = _settings_of(kind)
    row = describe_configs.DescribeConfigsResource
    return lambda *names: describe_configs.DescribeConfigsRequest([row(*of(*names), None)])


def _same(request: Request) -> Callable[[str, str], Request]:
    return lambda _topic, _group: request


FACTS: dict[str, Fact] = {
    # Records
    "Produce": Fact(_produce, (Right(Operation.WRITE, TOPIC),)),
    "Produce in a transaction": Fact(
        _produce_in_transaction,
        (Right(Operation.WRITE, TRANSACTION), Right(Operation.WRITE, TOPIC)),
    ),
    "TxnOffsetCommit": Fact(
        _commit_in_transaction,
        (
            Right(Operation.WRITE, TRANSACTION),
            Right(Operation.READ, GROUP),
            Right(Operation.READ, TOPIC),
        ),
    ),
    "AddPartitionsToTxn": Fact(_add_partitions, (Right(Operation.CLUSTER_ACTION),)),
    "AddOffsetsToTxn": Fact(
        lambda _topic, group: add_offsets_to_txn.AddOffsetsToTxnRequest(
            NAMES[TRANSACTION], 7, 0, group
        ),
        (Right(Operation.WRITE, TRANSACTION), Right(Operation.READ, GROUP)),
    ),
    "EndTxn": Fact(
        _same(end_txn.EndTxnRequest(NAMES[TRANSACTION], 7, 0)),
        (Right(Operation.WRITE, TRANSACTION),),
    ),
    "UpdateFeatures": Fact(
        _same(
            update_features.UpdateFeaturesRequest(
                feature_updates=[update_features.FeatureUpdateKey("transaction.version", 0)]
            )
        ),
        (Right(Operation.ALTER),),
    ),
    "WriteTxnMarkers": Fact(
        _markers, (Right(Operation.CLUSTER_ACTION),), instead=(Right(Operation.ALTER),)
    ),
    "Fetch": Fact(_fetch, (Right(Operation.READ, TOPIC),)),
    "ListOffsets": Fact(_ends, (Right(Operation.DESCRIBE, TOPIC),)),
    "OffsetForLeaderEpoch": Fact(
        _epochs, (Right(Operation.DESCRIBE, TOPIC),), (Right(Operation.CLUSTER_ACTION),)
    ),
    "DeleteRecords": Fact(
        lambda topic, _: delete_records.DeleteRecordsRequest(
            [
                delete_records.DeleteRecordsTopic(
                    topic, [delete_records.DeleteRecordsPartition(0, 0)]
                )
            ],
            1_000,
        ),
        (Right(Operation.DELETE, TOPIC),),
    ),
    "DescribeProducers": Fact(
        lambda topic, _: describe_producers.DescribeProducersRequest(
            [describe_producers.TopicRequest(topic, [0])]
        ),
        (Right(Operation.READ, TOPIC),),
    ),
    "InitProducerId": Fact(
        _same(init_producer_id.InitProducerIdRequest(None, 1_000)),
        (Right(Operation.IDEMPOTENT_WRITE),),
        (Right(Operation.WRITE, TOPIC),),
    ),
    # Topics
    "Metadata": Fact(
        lambda topic, _: metadata.MetadataRequest(
            topics=[metadata.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        ),
        (Right(Operation.DESCRIBE, TOPIC),),
    ),
    "DescribeTopicPartitions": Fact(
        lambda topic, _: describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest(topic)]
        ),
        (Right(Operation.DESCRIBE, TOPIC),),
    ),
    "CreateTopics": Fact(
        lambda topic, _: create_topics.CreateTopicsRequest(
            [create_topics.CreatableTopic(topic, 1, 1)], validate_only=True
        ),
        (Right(Operation.CREATE, TOPIC),),
        (Right(Operation.CREATE),),
    ),
    "CreatePartitions": Fact(
        lambda topic, _: create_partitions.CreatePartitionsRequest(
            [create_partitions.CreatePartitionsTopic(topic, 9, None)], 1_000, validate_only=True
        ),
        (Right(Operation.ALTER, TOPIC),),
    ),
    "DescribeConfigs": Fact(_describe(2), (Right(Operation.DESCRIBE_CONFIGS, TOPIC),)),
    "DescribeConfigs of a broker": Fact(_describe(4), (Right(Operation.DESCRIBE_CONFIGS),)),
    "AlterConfigs": Fact(_alter(2, alter_configs), (Right(Operation.ALTER_CONFIGS, TOPIC),)),
    "AlterConfigs of a broker": Fact(_alter(4, alter_configs), (Right(Operation.ALTER_CONFIGS),)),
    "IncrementalAlterConfigs": Fact(
        _alter(2, incremental_alter_configs), (Right(Operation.ALTER_CONFIGS, TOPIC),)
    ),
    "IncrementalAlterConfigs of a broker": Fact(
        _alter(4, incremental_alter_configs), (Right(Operation.ALTER_CONFIGS),)
    ),
    # Groups
    "FindCoordinator": Fact(
        lambda _, group: find_coordinator.FindCoordinatorRequest(
            key_type=0, coordinator_keys=[group]
        ),
        (Right(Operation.DESCRIBE, GROUP),),
    ),
    "JoinGroup": Fact(
        lambda _, group: join_group.JoinGroupRequest(group, 10_000),
        (Right(Operation.READ, GROUP),),
    ),
    "SyncGroup": Fact(
        lambda _, group: sync_group.SyncGroupRequest(
            group, protocol_type="consumer", protocol_name="range"
        ),
        (Right(Operation.READ, GROUP),),
    ),
    "Heartbeat": Fact(
        lambda _, group: heartbeat.HeartbeatRequest(group), (Right(Operation.READ, GROUP),)
    ),
    "LeaveGroup": Fact(
        lambda _, group: leave_group.LeaveGroupRequest(group), (Right(Operation.READ, GROUP),)
    ),
    "OffsetCommit": Fact(_commit, (Right(Operation.READ, GROUP), Right(Operation.READ, TOPIC))),
    "OffsetFetch": Fact(
        _offsets, (Right(Operation.DESCRIBE, GROUP), Right(Operation.DESCRIBE, TOPIC))
    ),
    "OffsetDelete": Fact(_forget, (Right(Operation.DELETE, GROUP), Right(Operation.READ, TOPIC))),
    "DescribeGroups": Fact(
        lambda _, group: describe_groups.DescribeGroupsRequest([group]),
        (Right(Operation.DESCRIBE, GROUP),),
    ),
    "DeleteGroups": Fact(
        lambda _, group: delete_groups.DeleteGroupsRequest([group]),
        (Right(Operation.DELETE, GROUP),),
    ),
    # The cluster
    "CreateAcls": Fact(
        _same(create_acls.CreateAclsRequest([create_acls.AclCreation()])), (Right(Operation.ALTER),)
    ),
    "DescribeAcls": Fact(
        _same(describe_acls.DescribeAclsRequest(1, None, 1, None, None, 1, 1)),
        (Right(Operation.DESCRIBE),),
    ),
    "DeleteAcls": Fact(
        _same(delete_acls.DeleteAclsRequest([delete_acls.DeleteAclsFilter(pattern_type_filter=9)])),
        (Right(Operation.ALTER),),
    ),
    "DescribeLogDirs": Fact(
        _same(describe_log_dirs.DescribeLogDirsRequest([])), (Right(Operation.DESCRIBE),)
    ),
    "AlterReplicaLogDirs": Fact(
        lambda topic, _: alter_replica_log_dirs.AlterReplicaLogDirsRequest(
            [
                alter_replica_log_dirs.AlterReplicaLogDir(
                    "disk-x", [alter_replica_log_dirs.AlterReplicaLogDirTopic(topic, [0])]
                )
            ]
        ),
        (Right(Operation.ALTER),),
    ),
    "ElectLeaders": Fact(
        lambda topic, _: elect_leaders.ElectLeadersRequest(
            topic_partitions=[elect_leaders.TopicPartitions(topic, [0])]
        ),
        (Right(Operation.ALTER),),
    ),
    "AlterPartitionReassignments": Fact(
        _same(alter_partition_reassignments.AlterPartitionReassignmentsRequest()),
        (Right(Operation.ALTER),),
    ),
    "ListPartitionReassignments": Fact(
        _same(list_partition_reassignments.ListPartitionReassignmentsRequest()),
        (Right(Operation.DESCRIBE),),
    ),
    "DescribeUserScramCredentials": Fact(
        _same(describe_user_scram_credentials.DescribeUserScramCredentialsRequest(None)),
        (Right(Operation.DESCRIBE),),
    ),
    "AlterUserScramCredentials": Fact(
        _same(
            alter_user_scram_credentials.AlterUserScramCredentialsRequest(
                [alter_user_scram_credentials.ScramCredentialDeletion("mallory", 1)]
            )
        ),
        (Right(Operation.ALTER),),
    ),
    "DescribeClientQuotas": Fact(
        _same(describe_client_quotas.DescribeClientQuotasRequest()),
        (Right(Operation.DESCRIBE_CONFIGS),),
    ),
    "AlterClientQuotas": Fact(
        _same(
            alter_client_quotas.AlterClientQuotasRequest([alter_client_quotas.RequestEntryData()])
        ),
        (Right(Operation.ALTER_CONFIGS),),
    ),
    "OdradekAdmin": Fact(
        _same(odradek_admin.OdradekAdminRequest("controller.describe", 4, "kafka-cluster")),
        (Right(Operation.DESCRIBE),),
    ),
    "OdradekAdmin that alters": Fact(
        _same(odradek_admin.OdradekAdminRequest("logdirs.cordon", 100, "1", "{}")),
        (Right(Operation.ALTER),),
    ),
    "OdradekAdmin that a broker forwards": Fact(
        _same(
            odradek_admin.OdradekAdminRequest(
                "controller.describe", 4, "kafka-cluster", forwarded_by=OTHER_BROKER
            )
        ),
        (Right(Operation.CLUSTER_ACTION),),
    ),
    # Brokers among themselves
    "LeaderAndIsr": Fact(
        _same(leader_and_isr.LeaderAndIsrRequest(OTHER_BROKER, controller_epoch=STALE)),
        (Right(Operation.CLUSTER_ACTION),),
    ),
    "StopReplica": Fact(
        _same(stop_replica.StopReplicaRequest(OTHER_BROKER, controller_epoch=STALE)),
        (Right(Operation.CLUSTER_ACTION),),
    ),
    "UpdateMetadata": Fact(
        _same(update_metadata.UpdateMetadataRequest(OTHER_BROKER, controller_epoch=STALE)),
        (Right(Operation.CLUSTER_ACTION),),
    ),
    "ControlledShutdown": Fact(
        _same(controlled_shutdown.ControlledShutdownRequest(OTHER_BROKER)),
        (Right(Operation.CLUSTER_ACTION),),
    ),
    "AlterPartition": Fact(
        _same(alter_partition.AlterPartitionRequest(OTHER_BROKER)),
        (Right(Operation.CLUSTER_ACTION),),
    ),
    "AllocateProducerIds": Fact(
        _same(allocate_producer_ids.AllocateProducerIdsRequest(OTHER_BROKER)),
        (Right(Operation.CLUSTER_ACTION),),
    ),
    # What comes last, because it takes the topic away
    "DeleteTopics": Fact(
        lambda topic, _: delete_topics.DeleteTopicsRequest(
            [delete_topics.DeleteTopicState(topic)], timeout_ms=1_000
        ),
        (Right(Operation.DELETE, TOPIC),),
    ),
}
WITHOUT_REFUSAL = {"ApiVersions", "DescribeCluster", "ListGroups", "ListTransactions"} | {
    "SaslAuthenticate",
    "SaslHandshake",
}
"""Served to everybody; what a client may not see is left out."""
ELSEWHERE = {"DescribeTransactions"}
"""Of transactional ids."""
