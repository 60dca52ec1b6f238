"""What operators ask of a cluster: topics, settings, groups, log dirs, records that are to go."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from odradek.client.cluster import Cluster
from odradek.client.errors import Refused, UnreadableLog, check
from odradek.client.records.member import commit
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from odradek.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.list_groups import ListedGroup, ListGroupsRequest
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

TIMEOUT_MS: Final = 30_000
TOPIC: Final = 2
BROKER: Final = 4
SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3


class NewTopic(NamedTuple):
    """A topic to be made; -1: as the brokers' settings say."""

    name: str
    partitions: int = -1
    factor: int = -1
    settings: Mapping[str, str] = {}
    assigned: Sequence[Sequence[int]] = ()  # the replicas of each partition; then no counts


# Topics


async def create_topic(cluster: Cluster, topic: NewTopic) -> None:
    """Makes it, and waits until it can be used."""
    configs = [CreatableTopicConfig(name, value) for name, value in topic.settings.items()]
    assigned = [CreatableReplicaAssignment(at, it) for at, it in enumerate(topic.assigned)]
    counts = (-1, -1) if assigned else (topic.partitions, topic.factor)
    wanted = CreatableTopic(topic.name, *counts, assigned, configs)
    controller = await cluster.controller()
    answer = await controller.ask(CreateTopicsRequest([wanted], TIMEOUT_MS))
    (made,) = answer.topics
    check(made.error_code, made.error_message)


async def delete_topics(
    cluster: Cluster, names: Iterable[str], timeout_ms: int = TIMEOUT_MS
) -> dict[str, ErrorCode]:
    """Takes them away; each has its own outcome. What is not begun in time is done later."""
    states = [DeleteTopicState(name) for name in names]
    controller = await cluster.controller()
    answer = await controller.ask(DeleteTopicsRequest(states, timeout_ms=timeout_ms))
    return {row.name: ErrorCode(row.error_code) for row in answer.responses}


async def grow_topic(cluster: Cluster, name: str, count: int) -> None:
    """Gives it so many partitions."""
    controller = await cluster.controller()
    wanted = CreatePartitionsTopic(name, count, None)
    answer = await controller.ask(CreatePartitionsRequest([wanted], TIMEOUT_MS))
    (row,) = answer.results
    check(row.error_code, row.error_message)


async def partitions_of(cluster: Cluster, topic: str) -> list[TopicPartition]:
    """All of a topic's."""
    found = await cluster.topic(topic)
    return sorted(TopicPartition(topic, row.partition_index) for row in found.partitions)


async def delete_records(cluster: Cluster, before: Mapping[TopicPartition, int]) -> dict[str, int]:
    """Moves the start of logs to these offsets; where they begin now."""
    starts = {}
    for partition, offset in before.items():
        topic = DeleteRecordsTopic(
            partition.topic, [DeleteRecordsPartition(partition.partition, offset)]
        )
        connection = await cluster.leader(partition)
        answer = await connection.ask(DeleteRecordsRequest([topic], TIMEOUT_MS))
        row = answer.topics[0].partitions[0]
        check(row.error_code, about=str(partition))
        starts[str(partition)] = row.low_watermark
    return starts


# Settings


async def describe_settings(
    cluster: Cluster, kind: int, name: str, *, asks_controller: bool = False
) -> list[DescribeConfigsResourceResult]:
    """All that holds for a topic or a broker; as the controller has it, where that decides."""
    connection = await _whom(cluster, kind, name, asks_controller=asks_controller)
    resource = DescribeConfigsResource(kind, name, None)
    answer = await connection.ask(DescribeConfigsRequest([resource]))
    (result,) = answer.results
    check(result.error_code, result.error_message)
    return list(result.configs)


async def alter_settings(
    cluster: Cluster,
    kind: int,
    name: str,
    *,
    to: Mapping[str, str],
    delete: Iterable[str] = (),
) -> None:
    """Sets some, and takes others back."""
    changes = [AlterableConfig(setting, SET, value) for setting, value in to.items()]
    changes += [AlterableConfig(setting, DELETE, None) for setting in delete]
    await _change(cluster, kind, name, changes)


async def alter_list(
    cluster: Cluster,
    kind: int,
    name: str,
    settings: Mapping[str, str],
    *,
    take: bool = False,
    asks_controller: bool = False,
) -> None:
    """Lengthens settings that are lists, or shortens them, whatever else is in them.

    A broker acts at once on what it has written itself, and later on what others have.
    """
    operation = SUBTRACT if take else APPEND
    changes = [AlterableConfig(setting, operation, value) for setting, value in settings.items()]
    await _change(cluster, kind, name, changes, asks_controller=asks_controller)


async def _change(
    cluster: Cluster,
    kind: int,
    name: str,
    changes: list[AlterableConfig],
    *,
    asks_controller: bool = False,
) -> None:
    """A broker may not have heard of a topic that was just made: then the controller, which has."""
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, changes)])
    connection = await _whom(cluster, kind, name, asks_controller=asks_controller)
    (row,) = (await connection.ask(request)).responses
    if row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        (row,) = (await (await cluster.controller()).ask(request)).responses
    check(row.error_code, row.error_message)


async def _whom(cluster: Cluster, kind: int, name: str, *, asks_controller: bool) -> Any:
    return await (cluster.controller() if asks_controller else who_knows(cluster, kind, name))


async def who_knows(cluster: Cluster, kind: int, name: str) -> Any:
    """The broker to ask: one broker knows its own settings only."""
    if kind == BROKER and name.isdecimal():
        return await cluster.broker(BrokerId(int(name)))
    return await cluster.any()


# Groups


async def list_groups(cluster: Cluster) -> list[ListedGroup]:
    """Those of every broker; one that has just gone is asked for until the cluster knows it."""

    async def attempt() -> list[ListedGroup]:
        await cluster.refresh([])
        listed = await groups_of(cluster, sorted(cluster.brokers))
        if listed.unreadable:
            raise listed.unreadable[0]
        return listed.groups

    return await cluster.patiently(attempt)


class ListedGroups(NamedTuple):
    """By name, and who cannot read the logs of others."""

    groups: list[ListedGroup]
    unreadable: list[UnreadableLog]


async def groups_of(cluster: Cluster, brokers: Iterable[BrokerId]) -> ListedGroups:
    """Those that these brokers coordinate."""
    found: list[ListedGroup] = []
    unreadable: list[UnreadableLog] = []
    for broker in brokers:
        answer = await (await cluster.broker(broker)).ask(ListGroupsRequest())
        if answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
            unreadable.append(UnreadableLog(broker, "groups"))
        else:
            check(answer.error_code)
        found += answer.groups
    return ListedGroups(sorted(found, key=lambda group: group.group_id), unreadable)


async def describe_group(cluster: Cluster, group: str) -> DescribedGroup:
    """Who is in it."""
    answer = await cluster.ask_coordinator(group, DescribeGroupsRequest([group]))
    described: DescribedGroup = answer.groups[0]
    check(described.error_code, described.error_message)
    return described


async def delete_group(cluster: Cluster, group: str) -> None:
    """Forgets a group that has no members."""
    answer = await cluster.ask_coordinator(group, DeleteGroupsRequest([group]))
    (row,) = answer.results
    check(row.error_code)


async def remove_member(cluster: Cluster, group: str, member: str, instance: str | None) -> None:
    """Takes a member out of its group, as if it had left."""
    members = [MemberIdentity(member, instance, "removed by an operator")]
    answer = await cluster.ask_coordinator(group, LeaveGroupRequest(group, members=members))
    check(answer.error_code)
    (row,) = answer.members
    check(row.error_code)


async def delete_offsets(
    cluster: Cluster, group: str, partitions: Iterable[TopicPartition]
) -> None:
    """Forgets where a group is in these."""
    topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
    for it in partitions:
        topics.setdefault(it.topic, []).append(OffsetDeleteRequestPartition(it.partition))
    rows = [OffsetDeleteRequestTopic(name, them) for name, them in topics.items()]
    answer = await cluster.ask_coordinator(group, OffsetDeleteRequest(group, rows))
    check(answer.error_code)
    for topic in answer.topics:
        for row in topic.partitions:
            if row.error_code:
                raise Refused(row.error_code, about=f"{topic.name}-{row.partition_index}")


async def reset_offsets(
    cluster: Cluster, group: str, positions: Mapping[TopicPartition, int]
) -> None:
    """Moves a group that has no members."""
    await commit(cluster, group, positions)


# Log dirs


async def log_dirs(cluster: Cluster) -> dict[BrokerId, list[DescribeLogDirsResult]]:
    """What lies where, on every broker."""
    await cluster.refresh([])
    found = {}
    for broker in sorted(cluster.brokers):
        answer = await (await cluster.broker(broker)).ask(DescribeLogDirsRequest(None))
        check(answer.error_code)
        found[broker] = list(answer.results)
    return found


async def move_replicas(
    cluster: Cluster, broker: BrokerId, target: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Begins to move replicas of a broker to another of its log dirs; each has its own outcome."""
    topics: dict[str, list[int]] = {}
    for name, number in partitions:
        topics.setdefault(name, []).append(number)
    wanted = [AlterReplicaLogDirTopic(name, numbers) for name, numbers in topics.items()]
    request = AlterReplicaLogDirsRequest([AlterReplicaLogDir(target, wanted)])
    answer = await (await cluster.broker(broker)).ask(request)
    return {
        TopicPartition(topic.topic_name, row.partition_index): ErrorCode(row.error_code)
        for topic in answer.results
        for row in topic.partitions
    }
