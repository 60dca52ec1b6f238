"""Every API, and every type of record in an internal topic, with the module that has it.

Generated from `codegen/messages` by `python -m codegen`.
"""

from typing import Final, NamedTuple


class ApiRow(NamedTuple):
    """One API: its name, the versions of which we know the wire, and where they are."""

    name: str
    module: str
    last_version: int
    flexible_from: int | None


class RecordRow(NamedTuple):
    """One type of record, and where it is."""

    name: str
    module: str


API_ROWS: Final = {
    0: ApiRow("Produce", "produce", 13, 9),
    1: ApiRow("Fetch", "fetch", 18, 12),
    2: ApiRow("ListOffsets", "list_offsets", 11, 6),
    3: ApiRow("Metadata", "metadata", 13, 9),
    4: ApiRow("LeaderAndIsr", "leader_and_isr", 7, 4),
    5: ApiRow("StopReplica", "stop_replica", 4, 2),
    6: ApiRow("UpdateMetadata", "update_metadata", 8, 6),
    7: ApiRow("ControlledShutdown", "controlled_shutdown", 3, 3),
    8: ApiRow("OffsetCommit", "offset_commit", 10, 8),
    9: ApiRow("OffsetFetch", "offset_fetch", 10, 6),
    10: ApiRow("FindCoordinator", "find_coordinator", 6, 3),
    11: ApiRow("JoinGroup", "join_group", 9, 6),
    12: ApiRow("Heartbeat", "heartbeat", 4, 4),
    13: ApiRow("LeaveGroup", "leave_group", 5, 4),
    14: ApiRow("SyncGroup", "sync_group", 5, 4),
    15: ApiRow("DescribeGroups", "describe_groups", 6, 5),
    16: ApiRow("ListGroups", "list_groups", 5, 3),
    17: ApiRow("SaslHandshake", "sasl_handshake", 1, None),
    18: ApiRow("ApiVersions", "api_versions", 4, 3),
    19: ApiRow("CreateTopics", "create_topics", 7, 5),
    20: ApiRow("DeleteTopics", "delete_topics", 6, 4),
    21: ApiRow("DeleteRecords", "delete_records", 2, 2),
    22: ApiRow("InitProducerId", "init_producer_id", 6, 2),
    23: ApiRow("OffsetForLeaderEpoch", "offset_for_leader_epoch", 4, 4),
    24: ApiRow("AddPartitionsToTxn", "add_partitions_to_txn", 5, 3),
    25: ApiRow("AddOffsetsToTxn", "add_offsets_to_txn", 4, 3),
    26: ApiRow("EndTxn", "end_txn", 5, 3),
    27: ApiRow("WriteTxnMarkers", "write_txn_markers", 2, 1),
    28: ApiRow("TxnOffsetCommit", "txn_offset_commit", 5, 3),
    29: ApiRow("DescribeAcls", "describe_acls", 3, 2),
    30: ApiRow("CreateAcls", "create_acls", 3, 2),
    31: ApiRow("DeleteAcls", "delete_acls", 3, 2),
    32: ApiRow("DescribeConfigs", "describe_configs", 4, 4),
    33: ApiRow("AlterConfigs", "alter_configs", 2, 2),
    34: ApiRow("AlterReplicaLogDirs", "alter_replica_log_dirs", 2, 2),
    35: ApiRow("DescribeLogDirs", "describe_log_dirs", 5, 2),
    36: ApiRow("SaslAuthenticate", "sasl_authenticate", 2, 2),
    37: ApiRow("CreatePartitions", "create_partitions", 3, 2),
    38: ApiRow("CreateDelegationToken", "create_delegation_token", 3, 2),
    39: ApiRow("RenewDelegationToken", "renew_delegation_token", 2, 2),
    40: ApiRow("ExpireDelegationToken", "expire_delegation_token", 2, 2),
    41: ApiRow("DescribeDelegationToken", "describe_delegation_token", 3, 2),
    42: ApiRow("DeleteGroups", "delete_groups", 2, 2),
    43: ApiRow("ElectLeaders", "elect_leaders", 2, 2),
    44: ApiRow("IncrementalAlterConfigs", "incremental_alter_configs", 1, 1),
    45: ApiRow("AlterPartitionReassignments", "alter_partition_reassignments", 1, 0),
    46: ApiRow("ListPartitionReassignments", "list_partition_reassignments", 0, 0),
    47: ApiRow("OffsetDelete", "offset_delete", 0, None),
    48: ApiRow("DescribeClientQuotas", "describe_client_quotas", 1, 1),
    49: ApiRow("AlterClientQuotas", "alter_client_quotas", 1, 1),
    50: ApiRow("DescribeUserScramCredentials", "describe_user_scram_credentials", 0, 0),
    51: ApiRow("AlterUserScramCredentials", "alter_user_scram_credentials", 0, 0),
    52: ApiRow("Vote", "vote", 2, 0),
    53: ApiRow("BeginQuorumEpoch", "begin_quorum_epoch", 1, 1),
    54: ApiRow("EndQuorumEpoch", "end_quorum_epoch", 1, 1),
    55: ApiRow("DescribeQuorum", "describe_quorum", 2, 0),
    56: ApiRow("AlterPartition", "alter_partition", 3, 0),
    57: ApiRow("UpdateFeatures", "update_features", 2, 0),
    58: ApiRow("Envelope", "envelope", 0, 0),
    59: ApiRow("FetchSnapshot", "fetch_snapshot", 1, 0),
    60: ApiRow("DescribeCluster", "describe_cluster", 2, 0),
    61: ApiRow("DescribeProducers", "describe_producers", 0, 0),
    62: ApiRow("BrokerRegistration", "broker_registration", 4, 0),
    63: ApiRow("BrokerHeartbeat", "broker_heartbeat", 2, 0),
    64: ApiRow("UnregisterBroker", "unregister_broker", 0, 0),
    65: ApiRow("DescribeTransactions", "describe_transactions", 0, 0),
    66: ApiRow("ListTransactions", "list_transactions", 2, 0),
    67: ApiRow("AllocateProducerIds", "allocate_producer_ids", 0, 0),
    68: ApiRow("ConsumerGroupHeartbeat", "consumer_group_heartbeat", 1, 0),
    69: ApiRow("ConsumerGroupDescribe", "consumer_group_describe", 1, 0),
    70: ApiRow("ControllerRegistration", "controller_registration", 0, 0),
    71: ApiRow("GetTelemetrySubscriptions", "get_telemetry_subscriptions", 0, 0),
    72: ApiRow("PushTelemetry", "push_telemetry", 0, 0),
    73: ApiRow("AssignReplicasToDirs", "assign_replicas_to_dirs", 0, 0),
    74: ApiRow("ListConfigResources", "list_config_resources", 1, 0),
    75: ApiRow("DescribeTopicPartitions", "describe_topic_partitions", 0, 0),
    76: ApiRow("ShareGroupHeartbeat", "share_group_heartbeat", 1, 0),
    77: ApiRow("ShareGroupDescribe", "share_group_describe", 1, 0),
    78: ApiRow("ShareFetch", "share_fetch", 2, 0),
    79: ApiRow("ShareAcknowledge", "share_acknowledge", 2, 0),
    80: ApiRow("AddRaftVoter", "add_raft_voter", 1, 0),
    81: ApiRow("RemoveRaftVoter", "remove_raft_voter", 0, 0),
    82: ApiRow("UpdateRaftVoter", "update_raft_voter", 0, 0),
    83: ApiRow("InitializeShareGroupState", "initialize_share_group_state", 0, 0),
    84: ApiRow("ReadShareGroupState", "read_share_group_state", 0, 0),
    85: ApiRow("WriteShareGroupState", "write_share_group_state", 1, 0),
    86: ApiRow("DeleteShareGroupState", "delete_share_group_state", 0, 0),
    87: ApiRow("ReadShareGroupStateSummary", "read_share_group_state_summary", 1, 0),
    88: ApiRow("StreamsGroupHeartbeat", "streams_group_heartbeat", 0, 0),
    89: ApiRow("StreamsGroupDescribe", "streams_group_describe", 0, 0),
    90: ApiRow("DescribeShareGroupOffsets", "describe_share_group_offsets", 1, 0),
    91: ApiRow("AlterShareGroupOffsets", "alter_share_group_offsets", 0, 0),
    92: ApiRow("DeleteShareGroupOffsets", "delete_share_group_offsets", 0, 0),
    20292: ApiRow("OdradekAdmin", "odradek_admin", 0, 0),
}

RECORD_ROWS: Final = {
    ("__consumer_offsets", 3): RecordRow("ConsumerGroupMetadata", "consumer_group_records"),
    ("__consumer_offsets", 4): RecordRow(
        "ConsumerGroupPartitionMetadata", "consumer_group_records"
    ),
    ("__consumer_offsets", 5): RecordRow("ConsumerGroupMemberMetadata", "consumer_group_records"),
    ("__consumer_offsets", 6): RecordRow(
        "ConsumerGroupTargetAssignmentMetadata", "consumer_group_records"
    ),
    ("__consumer_offsets", 7): RecordRow(
        "ConsumerGroupTargetAssignmentMember", "consumer_group_records"
    ),
    ("__consumer_offsets", 8): RecordRow(
        "ConsumerGroupCurrentMemberAssignment", "consumer_group_records"
    ),
    ("__consumer_offsets", 16): RecordRow(
        "ConsumerGroupRegularExpression", "consumer_group_records"
    ),
    ("__consumer_offsets", 0): RecordRow("LegacyOffsetCommit", "offset_records"),
    ("__consumer_offsets", 1): RecordRow("OffsetCommit", "offset_records"),
    ("__consumer_offsets", 2): RecordRow("GroupMetadata", "offset_records"),
    ("__consumer_offsets", 10): RecordRow("ShareGroupMemberMetadata", "share_group_records"),
    ("__consumer_offsets", 11): RecordRow("ShareGroupMetadata", "share_group_records"),
    ("__consumer_offsets", 12): RecordRow(
        "ShareGroupTargetAssignmentMetadata", "share_group_records"
    ),
    ("__consumer_offsets", 13): RecordRow(
        "ShareGroupTargetAssignmentMember", "share_group_records"
    ),
    ("__consumer_offsets", 14): RecordRow(
        "ShareGroupCurrentMemberAssignment", "share_group_records"
    ),
    ("__consumer_offsets", 15): RecordRow(
        "ShareGroupStatePartitionMetadata", "share_group_records"
    ),
    ("__share_group_state", 0): RecordRow("ShareSnapshot", "share_state_records"),
    ("__share_group_state", 1): RecordRow("ShareUpdate", "share_state_records"),
    ("__consumer_offsets", 17): RecordRow("StreamsGroupMetadata", "streams_group_records"),
    ("__consumer_offsets", 19): RecordRow("StreamsGroupMemberMetadata", "streams_group_records"),
    ("__consumer_offsets", 20): RecordRow(
        "StreamsGroupTargetAssignmentMetadata", "streams_group_records"
    ),
    ("__consumer_offsets", 21): RecordRow(
        "StreamsGroupTargetAssignmentMember", "streams_group_records"
    ),
    ("__consumer_offsets", 22): RecordRow(
        "StreamsGroupCurrentMemberAssignment", "streams_group_records"
    ),
    ("__consumer_offsets", 23): RecordRow("StreamsGroupTopology", "streams_group_records"),
    ("__transaction_state", 0): RecordRow("TransactionLog", "transaction_records"),
}
