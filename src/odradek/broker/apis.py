"""The APIs that this broker serves: the table that `dispatch` reads, and clients are told."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.broker.exchange import Api
from odradek.broker.handlers import (
    alter_configs,
    api_versions,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_configs,
    describe_groups,
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
    produce,
    sync_group,
)

OFFERED: Final[Mapping[int, Api]] = MappingProxyType(
    {
        api.key: api
        for api in (
            produce.API,
            fetch.API,
            offset_commit.API,
            list_offsets.API,
            metadata.API,
            offset_fetch.API,
            find_coordinator.API,
            join_group.API,
            heartbeat.API,
            leave_group.API,
            sync_group.API,
            describe_groups.API,
            list_groups.API,
            api_versions.API,
            create_topics.API,
            delete_topics.API,
            init_producer_id.API,
            create_partitions.API,
            delete_records.API,
            describe_configs.API,
            alter_configs.API,
            delete_groups.API,
            incremental_alter_configs.API,
            offset_delete.API,
        )
    }
)
"""Every API by its key; what is not here is not named to clients."""
