"""What an unclean election would lose: what replicas that could lead still have, and who is away.

Each of these brokers is asked for the end of its log. What the others have beyond it is lost.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from odradek.cli.replicas.moving import Found
from odradek.cli.showing.cells import Size
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.model.admin_operations import REPLICAS_DESCRIBE
from odradek.model.errors import BrokerError
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.metadata import MetadataResponsePartition

COLUMNS = ("partition", "candidate", "holds", "from", "to", "lost")


class Candidate(NamedTuple):
    """A replica that could lead, or None: there is none."""

    partition: TopicPartition
    broker: int | None
    log: Mapping[str, int]
    away: tuple[int, ...]

    @property
    def row(self) -> tuple[object, ...]:
        """As it is shown."""
        start, end, size = map(self.log.get, ("log_start_offset", "log_end_offset", "bytes"))
        if self.broker is None:
            lost = "no replica is alive: nothing is elected"
        else:
            whose = ",".join(map(str, self.away)) or "other replicas"
            since = "" if end is None else f" from offset {end} on"
            lost = f"what only {whose} {'has' if len(self.away) == 1 else 'have'}{since}"
        last = None if end is None or end == start else end - 1
        return (
            str(self.partition),
            self.broker,
            None if size is None else Size(size),
            None if last is None else start,
            last,
            lost,
        )


async def candidates(cluster: Cluster, found: Found) -> list[Candidate]:
    """Of each partition, the one that is chosen as a rule first."""
    alive = set(cluster.brokers)
    logs: dict[tuple[int, str], dict[int, Mapping[str, int]]] = {}
    told: list[Candidate] = []
    for partition, row in found.items():
        able = list(_able(row, alive))
        away = tuple(it for it in row.replica_nodes if it not in able)
        for broker in able:
            where = (broker, partition.topic)
            if where not in logs:
                logs[where] = await logs_of(cluster, *where)
            told.append(
                Candidate(partition, broker, logs[where].get(partition.partition, {}), away)
            )
        if not able:
            told.append(Candidate(partition, None, {}, away))
    return told


def _able(row: MetadataResponsePartition, alive: set[BrokerId]) -> Iterator[int]:
    for broker in row.replica_nodes:
        if broker in alive and broker not in row.offline_replicas:
            yield broker


async def logs_of(cluster: Cluster, broker: int, topic: str) -> dict[int, Mapping[str, int]]:
    """By partition; nothing of a broker that does not answer, or of Kafka's."""
    number = BrokerId(broker)
    wanted = Wanted(REPLICAS_DESCRIBE, {"topic": topic}, resource=str(number), broker=number)
    try:
        answer: dict[str, Any] = await operate(cluster, wanted)
    except BrokerError:
        return {}
    return {it["partition"]: it for it in answer["replicas"]}
