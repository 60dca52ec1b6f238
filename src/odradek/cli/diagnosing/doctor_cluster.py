"""What is looked at of the cluster as a whole: its health, its coordinators, a record's way."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from odradek.cli.brokers.cluster_health import WARNINGS, decided_problems
from odradek.cli.diagnosing.doctor_address import CLIENT_ID, World, text
from odradek.cli.diagnosing.doctor_finding import Finding, Level, NoAnswer, answered, patience
from odradek.client.admin import admin
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.connection import Connection
from odradek.client.coordinators import COORDINATOR_VERSION, find_coordinator, read_coordinator
from odradek.client.records.producer import Producer
from odradek.client.records.reader import Reader
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.model.units import SECOND, Millis
from odradek.ports import Address
from odradek.runtime.doors.chance import SystemRandom

T = TypeVar("T")

GROUP: Final = "odradek-doctor"
PROBE_SECONDS: Final = 10.0
"""A topic is made, and the first one of a cluster takes its time."""
HEALTH: Final = "odradek cluster health"


class FromHere(Cluster):
    """Asks the broker that answered first, and tries again no longer than a step lasts."""

    def __init__(self, world: World, first: Address, seconds: float) -> None:
        super().__init__(ClientDeps(world.network, world.clock), [first], CLIENT_ID)
        self._first = first
        self._patience = Millis(int(seconds * SECOND))

    async def any(self) -> Connection:
        """Another may advertise an address that leads nowhere."""
        return await self.connection(self._first)

    async def patiently(
        self,
        attempt: Callable[[], Awaitable[T]],
        patience: Millis = Millis(0),  # noqa: ARG002 - the step's own counts
    ) -> T:
        """Less than the step has, so that the reason is told and not the time."""
        return await super().patiently(attempt, Millis(self._patience * 3 // 4))


async def health(world: World, first: Address) -> list[Finding]:
    """What the controller knows of."""
    cluster = FromHere(world, first, patience())
    try:
        found = await answered(decided_problems(cluster))
    except NoAnswer as why:
        return [Finding(Level.ERROR, "health", "cluster", f"the controller: {why}", HEALTH)]
    finally:
        cluster.close()
    if not found:
        cause = "every partition has a leader and all its replicas are in sync"
        return [Finding(Level.OK, "health", "cluster", cause)]
    return [
        Finding(
            Level.WARNING if it.problem in WARNINGS else Level.ERROR,
            "health",
            "cluster",
            f"{it.cause}: {it.problem}" + (f", {it.where}" if it.partitions else ""),
            f"{HEALTH} lists all of it",
        )
        for it in found
    ]


async def coordinator(world: World, first: Address) -> list[Finding]:
    """Asked only where groups have been: the first question would make their topic."""
    cluster = FromHere(world, first, patience())
    try:
        return [await answered(_coordinator(cluster))]
    except NoAnswer as why:
        next_step = f"groups wait until {GROUP_METADATA_TOPIC} has its leaders: {HEALTH}"
        cause = f"no group can be served: {why}"
        return [Finding(Level.ERROR, "coordinator", "cluster", cause, next_step)]
    finally:
        cluster.close()


async def _coordinator(cluster: Cluster) -> Finding:
    (topic,) = (await cluster.refresh([GROUP_METADATA_TOPIC])).topics
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        cause = "no group has been here yet: its topic is made with the first one"
        return Finding(Level.OK, "coordinator", "cluster", cause)
    answer = await (await cluster.any()).ask(find_coordinator(GROUP), COORDINATOR_VERSION)
    address = read_coordinator(answer)
    await cluster.connection(address)
    return Finding(Level.OK, "coordinator", "cluster", f"groups are served, at {text(address)}")


async def probe(world: World, first: Address) -> list[Finding]:
    """One record, through a topic of its own and back; the topic is deleted, whatever comes."""
    seconds = max(PROBE_SECONDS, patience())
    cluster = FromHere(world, first, seconds)
    name = f"{GROUP}-{SystemRandom().bytes(6).hex()}"
    try:
        async with asyncio.timeout(seconds):
            return [await _through(cluster, name)]
    except TimeoutError:
        why = f"not within {seconds:g} s"
    except BrokerError as error:
        why = str(error)
    finally:
        left = await _deleted(cluster, name)
        cluster.close()
    told = Finding(Level.ERROR, "probe", "cluster", f"no record came through: {why}", HEALTH)
    return [told, *left]


async def _through(cluster: Cluster, name: str) -> Finding:
    clock = cluster.world.clock
    await admin.create_topic(cluster, admin.NewTopic(name, partitions=1))
    partition = await Producer(cluster).partition_for(name, None)
    sent = name.encode()
    began = clock.micros()
    producer = Producer(cluster)
    producer.add(partition, sent)
    await producer.flush()
    acknowledged = clock.micros()
    await _read(cluster, partition, sent)
    read = clock.micros()
    cause = (
        f"a record with acks=all was acknowledged after {(acknowledged - began) / SECOND:.1f} ms "
        f"and read after {(read - began) / SECOND:.1f} ms"
    )
    return Finding(Level.OK, "probe", "cluster", cause)


async def _read(cluster: Cluster, partition: TopicPartition, sent: bytes) -> None:
    reader = Reader(cluster, {partition: 0})
    while not any(bytes(it.record.value or b"") == sent for it in await reader.poll()):
        pass


async def _deleted(cluster: Cluster, name: str) -> list[Finding]:
    try:
        await answered(admin.delete_topics(cluster, [name]))
    except NoAnswer as why:
        next_step = f"odradek topic delete {name}"
        return [Finding(Level.WARNING, "probe", "cluster", f"{name} is left: {why}", next_step)]
    return []
