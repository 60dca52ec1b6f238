"""What is wrong in a cluster: causes from its controller, and log dirs as each broker sees its own.

Kafka's brokers do not know the controller's operation. For them the same is concluded from
metadata, which tells less: not why a live replica may not lead, nor what a deletion waits for.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from odradek.cli import throttle
from odradek.cli.logdirs import log_dirs_of
from odradek.cli.naming import ANSWER_SECONDS, silence
from odradek.client.cluster import Cluster
from odradek.client.operations import Wanted, operate
from odradek.client.placement_admin import NOTHING_MOVES, Ongoing, reassignments_if_known
from odradek.model.admin_operations import (
    CLUSTER_HEALTH,
    CONTROLLER_PLACEMENT,
    LOG_DIRS_DESCRIBE,
)
from odradek.model.errors import BrokerError, ErrorCode, UnsupportedVersion
from odradek.model.ids import BrokerId, TopicPartition
from odradek.peers.errors import ConnectionGone
from odradek.wire.messages.metadata import MetadataResponse, MetadataResponsePartition

TOPICS_NAMED: Final = 4
"""More are only counted, on the screen; `--json` has them all."""

NO_LEADER: Final = "no leader"
DELETION_WAITS: Final = "deletion waits"
REASSIGNMENT_WAITS: Final = "reassignment waits"
CAPPED: Final = "min.insync.replicas counts as the number of replicas"
BEING_DELETED: Final = "has not deleted its replica yet"
"""As the controller calls effects, and a cause that passes."""

THROTTLE_LEFT: Final = "throttle left"
DISK_MAY_FAIL: Final = "disk may fail soon"
WARNINGS: Final = frozenset(
    {DELETION_WAITS, REASSIGNMENT_WAITS, CAPPED, THROTTLE_LEFT, DISK_MAY_FAIL}
)
"""What may last for weeks, and what a restart of a broker makes no worse."""

Partitions = Mapping[str, list[int]]
"""Numbers of partitions by topic."""


class Sick(NamedTuple):
    """One thing that is wrong: why, of what kind, and what suffers from it."""

    cause: str
    problem: str
    partitions: Partitions = MappingProxyType({})

    @property
    def where(self) -> str:
        """The partitions, for a line."""
        count = sum(map(len, self.partitions.values()))
        if not count:
            return "-"
        named = [f"{topic}: {spans(them)}" for topic, them in self.partitions.items()]
        more = len(named) - TOPICS_NAMED
        text = ", ".join(named[:TOPICS_NAMED]) + (f" and {more} more topics" if more > 0 else "")
        return f"{count} ({text})"


def spans(numbers: Iterable[int]) -> str:
    """`0-3 7`: runs of numbers are told by their ends."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


async def sick(cluster: Cluster) -> list[Sick]:
    """All that is wrong."""
    answer = await cluster.refresh([])
    missing = await _missing_controller(cluster, answer)
    if missing is not None:
        found = [missing, *_concluded(await cluster.refresh(None), {})]
    else:
        found = await _partition_problems(cluster)
    silent, sick_dirs = await _asked_of_brokers(cluster, sorted(cluster.brokers))
    left = await _left_throttle(cluster, sorted(cluster.brokers.keys() - silent))
    return [*found, *sick_dirs, *left]


async def _left_throttle(cluster: Cluster, brokers: Iterable[BrokerId]) -> list[Sick]:
    """Of a move that is over: it would bound the next one."""
    found = await throttle.rates_of(cluster, brokers)
    told: list[str] = []
    if found.moves and not await reassignments_if_known(cluster):
        told = [throttle.told(found.moves)]
    idle = {it: rate for it, rate in found.log_dirs.items() if not await _copies(cluster, it)}
    told += [throttle.told_of_log_dirs(idle)] if idle else []
    return [Sick(f"{it}, and nothing is moved: {throttle.LIFT}", THROTTLE_LEFT) for it in told]


async def _copies(cluster: Cluster, broker: int) -> bool:
    """Whether it copies a replica from one of its log dirs to another."""
    try:
        log_dirs = await log_dirs_of(cluster, BrokerId(broker))
    except ConnectionGone:
        return False
    rows = (row for it in log_dirs for topic in it.topics for row in topic.partitions)
    return any(row.is_future_key for row in rows)


async def deletions_that_wait(cluster: Cluster) -> dict[str, list[str]]:
    """What each topic's deletion waits for that does not come by itself."""
    try:
        health = await operate(cluster, Wanted(CLUSTER_HEALTH))
    except UnsupportedVersion:
        return {}
    found: dict[str, list[str]] = {}
    for problem in health["problems"]:
        for topic in problem["effects"].get(DELETION_WAITS, ()):
            if not problem["cause"].endswith(BEING_DELETED):
                found.setdefault(topic, []).append(problem["cause"])
    return found


async def why_leaderless(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, str]:
    """What each partition that has no leader waits for."""
    wanted = list(partitions)
    found: dict[TopicPartition, list[str]] = {it: [] for it in wanted}
    for it in await _partition_problems(cluster):
        for topic, numbers in it.partitions.items() if it.problem == NO_LEADER else ():
            for partition in (TopicPartition(topic, number) for number in numbers):
                if partition in found:
                    found[partition].append(it.cause)
    return {it: f"no leader: {', '.join(why) or 'an election'}" for it, why in found.items()}


async def _partition_problems(cluster: Cluster) -> list[Sick]:
    try:
        return _told(await operate(cluster, Wanted(CLUSTER_HEALTH)))
    except UnsupportedVersion:
        moves = await reassignments_if_known(cluster)
        return _concluded(await cluster.refresh(None), moves)


async def _missing_controller(cluster: Cluster, answer: MetadataResponse) -> Sick | None:
    """Why there is none, as ZooKeeper has it: brokers may still name the last one."""
    try:
        found = await operate(cluster, Wanted(CONTROLLER_PLACEMENT))
    except UnsupportedVersion:
        is_missing, cause = answer.controller_id < 0, "no controller is elected"
    except BrokerError as error:
        if error.code is not ErrorCode.BROKER_NOT_AVAILABLE:
            raise
        is_missing, cause = True, "ZooKeeper is away: a broker that was asked does not reach it"
    else:
        is_missing, cause = found["controller"] is None, "no controller is elected"
        if not found["preferred"] and not found["fallback"]:
            cause = (
                "no preferred broker lives, and allow.preferred.controller.fallback is false: "
                "`odradek controller prefer BROKER` gives the cluster a controller"
            )
    return Sick(cause, "nothing is decided") if is_missing else None


def _told(health: Mapping[str, list[Mapping[str, Mapping[str, Partitions]]]]) -> list[Sick]:
    """As the controller says."""
    return [
        Sick(str(problem["cause"]), effect, partitions)
        for problem in health["problems"]
        for effect, partitions in problem["effects"].items()
    ]


def _concluded(answer: MetadataResponse, moves: Mapping[TopicPartition, Ongoing]) -> list[Sick]:
    """Partitions without a leader, and with replicas out of sync that are not being added."""
    alive = {broker.node_id for broker in answer.brokers}
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for topic in sorted(answer.topics, key=lambda it: it.name or ""):
        for row in sorted(topic.partitions, key=lambda it: it.partition_index):
            problem = NO_LEADER if row.leader_id < 0 else "out of sync"
            move = moves.get(TopicPartition(topic.name or "", row.partition_index), NOTHING_MOVES)
            there = {*row.isr_nodes, *move.adding}
            missing = [it for it in row.replica_nodes if it not in there]
            for broker in row.isr_nodes if row.leader_id < 0 else missing:
                where = found.setdefault((_state(broker, row, alive), problem), {})
                where.setdefault(topic.name or "", []).append(row.partition_index)
    return [Sick(cause, problem, where) for (cause, problem), where in found.items()]


def _state(broker: int, row: MetadataResponsePartition, alive: set[int]) -> str:
    if broker not in alive:
        return f"broker {broker} is not registered"
    if broker in row.offline_replicas:
        return f"a log dir of broker {broker} is offline"
    return f"broker {broker} has not caught up yet"


async def _asked_of_brokers(
    cluster: Cluster, brokers: Iterable[BrokerId]
) -> tuple[set[BrokerId], list[Sick]]:
    """Who does not answer; that, and the log dirs to see to, as each broker tells of its own."""
    async with asyncio.TaskGroup() as tasks:
        asked = {it: tasks.create_task(_sick_log_dirs(cluster, it)) for it in brokers}
    told = {it: task.result() for it, task in asked.items()}
    silent = {it for it, found in told.items() if isinstance(found, str)}
    return silent, [one for it, found in told.items() for one in _of_broker(it, found)]


def _of_broker(broker: BrokerId, found: list[Sick] | str) -> list[Sick]:
    return [Sick(found, f"no answer from broker {broker}")] if isinstance(found, str) else found


async def _sick_log_dirs(cluster: Cluster, broker: BrokerId) -> list[Sick] | str:
    """Or why it does not answer: one that stands still is listed until its session is over."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await cluster.broker(broker)
            return await _log_dirs_to_see_to(cluster, broker)
    except (BrokerError, TimeoutError) as error:
        return silence(error)


async def _log_dirs_to_see_to(cluster: Cluster, broker: BrokerId) -> list[Sick]:
    """Those that failed or hang, and those that still work and should be replaced."""
    wanted = Wanted(LOG_DIRS_DESCRIBE, resource=str(broker), broker=broker)
    try:
        dirs = (await operate(cluster, wanted))["dirs"]
    except UnsupportedVersion:
        offline = await log_dirs_of(cluster, broker)
        dirs = [{"dir": it.log_dir, "state": "offline"} for it in offline if it.error_code]
    return [
        Sick(f"broker {broker}: {it['dir']}{why}", problem)
        for it in dirs
        for problem, why in _of_log_dir(it)
    ]


def _of_log_dir(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if found["state"] == "offline":
        yield "log dir offline", ""
        return
    if found["state"] == "hangs":
        yield "disk hangs", ""
    if found.get("reason"):
        yield DISK_MAY_FAIL, f": {found['reason']}"
