"""`kafka-topics`: topics created, listed, described, altered, deleted."""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import click

from odradek.cli.kafka.script import Misused, Script, ask, needed, the_one, told
from odradek.cli.reaching.talking import settings_of
from odradek.cli.words.failing import Failed
from odradek.cli.words.numbers import PARTITIONS_MAX, REPLICAS_MAX, Whole
from odradek.client.admin import admin
from odradek.client.admin.placement import Ongoing, reassignments_if_known
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.config.describe import Source
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition, topic_id_text
from odradek.model.names import INTERNAL_TOPICS
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

COLLIDING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') "
    "could collide. To avoid issues it is best to use either, but not both."
)
SELECTIONS = (
    "under_replicated_partitions",
    "unavailable_partitions",
    "under_min_isr_partitions",
    "at_min_isr_partitions",
)


@click.command("kafka-topics", cls=Script)
@click.option("--create", is_flag=True)
@click.option("--list", "list_", is_flag=True)
@click.option("--describe", is_flag=True)
@click.option("--alter", is_flag=True)
@click.option("--delete", is_flag=True)
@click.option("--topic", help="A name; a regular expression where topics are looked for.")
@click.option("--partitions", type=Whole(largest=PARTITIONS_MAX))
@click.option("--replication-factor", type=Whole(largest=REPLICAS_MAX))
@click.option("--replica-assignment", metavar="1:2,2:3", help="The replicas of each partition.")
@click.option("--config", "configs", multiple=True, metavar="NAME=VALUE")
@click.option("--if-exists", is_flag=True)
@click.option("--if-not-exists", is_flag=True)
@click.option("--exclude-internal", is_flag=True)
@click.option("--topics-with-overrides", is_flag=True)
@click.option("--under-replicated-partitions", is_flag=True)
@click.option("--unavailable-partitions", is_flag=True)
@click.option("--under-min-isr-partitions", is_flag=True)
@click.option("--at-min-isr-partitions", is_flag=True)
def command(
    *, list_: bool, create: bool, describe: bool, alter: bool, delete: bool, **said: Any
) -> None:
    """Kafka's script for topics."""
    action = the_one(
        {"list": list_, "describe": describe, "create": create, "alter": alter, "delete": delete}
    )
    actions: dict[str, Callable[[Cluster, dict[str, Any]], Any]] = {
        "list": _list,
        "describe": _describe,
        "create": _create,
        "alter": _alter,
        "delete": _delete,
    }
    if action not in {"list", "describe"}:
        needed(said["topic"], "topic")
    try:
        ask(lambda cluster: actions[action](cluster, said))
    except (BrokerError, Failed) as error:
        if isinstance(error, Failed) and error.code != 1:
            raise
        click.echo(f"Error while executing topic command : {told(error)}")
        raise SystemExit(1) from None


async def topics_like(cluster: Cluster, said: dict[str, Any]) -> list[MetadataResponseTopic]:
    """Those whose whole name fits the expression; with commas it is several."""
    wanted = said["topic"]
    pattern = re.compile((wanted or ".*").strip().replace(",", "|").replace(" ", ""))
    answer = await cluster.refresh(None)
    found = [
        topic
        for topic in sorted(answer.topics, key=lambda it: it.name or "")
        if pattern.fullmatch(topic.name or "")
        and not (said.get("exclude_internal") and topic.name in INTERNAL_TOPICS)
    ]
    if wanted and not found and not said.get("if_exists"):
        raise Failed(f"Topic '{wanted}' does not exist as expected")
    return found


async def _list(cluster: Cluster, said: dict[str, Any]) -> None:
    for topic in await topics_like(cluster, {**said, "if_exists": True}):
        click.echo(topic.name)


async def _describe(cluster: Cluster, said: dict[str, Any]) -> None:
    topics = await topics_like(cluster, said)
    settings = await _settings(cluster, [topic.name or "" for topic in topics])
    selections = [name for name in SELECTIONS if said[name]]
    alive = set(cluster.brokers)
    moves = await reassignments_if_known(cluster) if topics else {}
    for topic in topics:
        name = topic.name or ""
        its = settings[name]
        every = [
            Partition.of(row, moves.get(TopicPartition(name, row.partition_index)))
            for row in sorted(topic.partitions, key=lambda it: it.partition_index)
        ]
        shown = [
            it for it in every if not selections or _is_selected(it, selections[0], its, alive)
        ]
        own = {key: value for key, (value, source) in its.items() if source != Source.DEFAULT}
        if said["topics_with_overrides"] and not own:
            continue
        if not selections:
            factor = every[0].factor if every else 0
            text = ",".join(f"{key}={own[key]}" for key in sorted(own))
            topic_id = topic_id_text(TopicId(bytes(topic.topic_id)))
            click.echo(
                f"Topic: {name}\tTopicId: {topic_id}\tPartitionCount: {len(topic.partitions)}"
                f"\tReplicationFactor: {factor}\tConfigs: {text}"
            )
        if not said["topics_with_overrides"]:
            for it in shown:
                click.echo(_line(name, it))


class Partition(NamedTuple):
    """As the brokers have it, and what is being moved of it."""

    row: MetadataResponsePartition
    move: Ongoing | None

    @classmethod
    def of(cls, row: MetadataResponsePartition, move: Ongoing | None) -> "Partition":
        """A move that ended between the two questions is none."""
        if move is not None and not {*move.adding, *move.removing} & {*row.replica_nodes}:
            move = None
        return cls(row, move)

    @property
    def factor(self) -> int:
        """Without replicas that are being added."""
        return len(self.row.replica_nodes if self.move is None else self.move.origin)


def _line(name: str, partition: Partition) -> str:
    row, move = partition
    leader = row.leader_id if row.leader_id >= 0 else "none"
    changes = ""
    if move is not None:
        adding, removing = _ids(move.adding), _ids(move.removing)
        changes = f"\tAdding Replicas: {adding}\tRemoving Replicas: {removing}"
    return (
        f"\tTopic: {name}\tPartition: {row.partition_index}\tLeader: {leader}"
        f"\tReplicas: {_ids(row.replica_nodes)}\tIsr: {_ids(row.isr_nodes)}{changes}"
        f"\tElr: \tLastKnownElr: "
    )


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def _is_selected(
    partition: Partition,
    selection: str,
    settings: dict[str, tuple[str | None, int]],
    alive: set[BrokerId],
) -> bool:
    row = partition.row
    in_sync, minimum = len(row.isr_nodes), int(settings["min.insync.replicas"][0] or 1)
    if selection == "under_replicated_partitions":
        return in_sync < partition.factor
    if selection == "unavailable_partitions":
        return row.leader_id not in alive
    return in_sync < minimum if selection == "under_min_isr_partitions" else in_sync == minimum


async def _settings(
    cluster: Cluster, names: Iterable[str]
) -> dict[str, dict[str, tuple[str | None, int]]]:
    resources = [DescribeConfigsResource(admin.TOPIC, name, None) for name in names]
    if not resources:
        return {}
    answer = await (await cluster.any()).ask(DescribeConfigsRequest(resources))
    return {
        result.resource_name: {it.name: (it.value, it.config_source) for it in result.configs}
        for result in answer.results
    }


async def _create(cluster: Cluster, said: dict[str, Any]) -> None:
    name = said["topic"]
    if "." in name or "_" in name:
        click.echo(COLLIDING)
    configs = [CreatableTopicConfig(*pair) for pair in settings_of(said["configs"]).items()]
    assignments = _assignments(said["replica_assignment"] or "")
    if assignments and (said["partitions"] or said["replication_factor"]):
        raise Misused("--replica-assignment excludes --partitions and --replication-factor")
    wanted = CreatableTopic(
        name,
        -1 if said["partitions"] is None else said["partitions"],
        -1 if said["replication_factor"] is None else said["replication_factor"],
        assignments=assignments,
        configs=configs,
    )
    controller = await cluster.controller()
    answer = await controller.ask(CreateTopicsRequest([wanted], admin.TIMEOUT_MS))
    (row,) = answer.topics
    if row.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and said["if_not_exists"]:
        return
    if row.error_code:
        raise Refused(row.error_code, row.error_message)
    click.echo(f"Created topic {name}.")


def _assignments(text: str) -> list[CreatableReplicaAssignment]:
    return [
        CreatableReplicaAssignment(number, [int(it) for it in replicas.split(":")])
        for number, replicas in enumerate(text.split(",") if text else [])
    ]


async def _alter(cluster: Cluster, said: dict[str, Any]) -> None:
    count = needed(said["partitions"], "partitions")
    for topic in await topics_like(cluster, said):
        await admin.grow_topic(cluster, topic.name or "", count)


async def _delete(cluster: Cluster, said: dict[str, Any]) -> None:
    names = [topic.name or "" for topic in await topics_like(cluster, said)]
    for name, code in (await admin.delete_topics(cluster, names)).items():
        if code is not ErrorCode.NONE:
            raise Refused(code, about=f"topic {name!r}")
