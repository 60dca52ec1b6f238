"""The APIs that this broker serves: the table that `dispatch` reads, and clients are told."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.broker.handlers import (
    allocate_producer_ids,
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    api_versions,
    controlled_shutdown,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    elect_leaders,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leader_and_isr,
    leave_group,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    stop_replica,
    sync_group,
    update_metadata,
)
from odradek.broker.handlers.api import Api

OFFERED: Final[Mapping[int, Api]] = MappingProxyType(
    {
        api.key: api
        for api in (
            alter_configs.API,
            list_partition_reassignments.API,
            elect_leaders.API,
            controlled_shutdown.API,
            alter_partition_reassignments.API,
            alter_partition.API,
            allocate_producer_ids.API,
            api_versions.API,
            create_partitions.API,
            create_topics.API,
            delete_groups.API,
            delete_records.API,
            delete_topics.API,
            describe_cluster.API,
            describe_configs.API,
            describe_groups.API,
            describe_log_dirs.API,
            describe_producers.API,
            describe_topic_partitions.API,
            fetch.API,
            find_coordinator.API,
            heartbeat.API,
            incremental_alter_configs.API,
            init_producer_id.API,
            join_group.API,
            leader_and_isr.API,
            leave_group.API,
            list_groups.API,
            list_offsets.API,
            metadata.API,
            offset_commit.API,
            offset_delete.API,
            offset_fetch.API,
            offset_for_leader_epoch.API,
            produce.API,
            stop_replica.API,
            sync_group.API,
            update_metadata.API,
        )
    }
)
"""Every API by its key; what is not here is not named to clients."""
