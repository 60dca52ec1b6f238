"""Who runs a cluster, all the time and whatever goes wrong: moves, elects, cordons, restarts.

Noted: `operator.asks` what and of what, before each request, and `operator.did` once the cluster
has said yes. What is refused, or not answered, may be so: here nothing is promised of it but that
everything else holds. Moves of replicas are over in the end, or cancelled.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from odradek.client.admin import admin
from odradek.client.admin.admin import move_replicas
from odradek.client.admin.operations import Wanted, operate
from odradek.client.admin.placement import Election, elect, reassign
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.model.admin_operations import (
    CONTROLLER_MOVE,
    LOG_DIR_CORDON,
    LOG_DIR_UNCORDON,
    AdminOperation,
)
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.stage.broker_machine import DISKS, name_of
from odradek.sim.worlds.broker.administrator import Note, Rest
from odradek.sim.worlds.cluster.view import ClusterView

OPERATOR: Final = "operator"
TRIMMED: Final = "shared"
THROTTLES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
THROTTLED: Final = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
THROTTLE_BYTES_MIN: Final = 8_192  # in a second: all there is passes before a run is over
THROTTLE_BITS: Final = 8

Act = Callable[[Cluster], Awaitable[str]]


class ClusterOperator:
    """One; every deed is drawn, and what it is done to."""

    def __init__(self, note: Note, chance: SeededRandom, rest: Rest, view: ClusterView) -> None:
        self._note, self._chance, self._rest, self._view = note, chance, rest, view
        self._brokers = tuple(sorted(view.brokers))
        self._replicas: Mapping[TopicPartition, Sequence[int]] = {}
        self._acts: Sequence[Act] = (
            self._reassign,
            self._reassign,
            self._cancel,
            self._elect,
            self._move_between_disks,
            self._move_between_disks,
            self._cordon,
            self._uncordon,
            self._move_controller,
            self._throttle,
            self._throttle_no_more,
            self._trim,
            self._trim,
        )

    async def work(self, cluster: Cluster) -> None:
        """For ever."""
        while True:
            await self._rest()
            answer = await cluster.refresh(None)
            self._replicas = {
                TopicPartition(topic.name, row.partition_index): tuple(row.replica_nodes)
                for topic in answer.topics
                if topic.name is not None
                for row in topic.partitions
            }
            act = self._acts[self._chance.below(len(self._acts))]
            if self._replicas:
                await self._do(cluster, act)

    async def _do(self, cluster: Cluster, act: Act) -> None:
        try:
            done = await act(cluster)
        except Refused as error:
            self._note(OPERATOR, "operator.refused", act.__name__[1:], str(error))
        else:
            self._note(OPERATOR, "operator.did", act.__name__[1:], done)

    def _one(self) -> TopicPartition:
        partitions = sorted(self._replicas)
        return partitions[self._chance.below(len(partitions))]

    def _broker(self) -> int:
        return self._brokers[self._chance.below(len(self._brokers))]

    def _lives(self) -> int:
        """How often brokers were started."""
        return sum(broker.machine.lives for broker in self._view.brokers.values())

    def _dir(self, broker: int) -> str:
        disks = self._view.brokers[broker].disks
        return f"{name_of(broker)}/{disks[self._chance.below(len(disks))]}"

    # What is done

    async def _reassign(self, cluster: Cluster) -> str:
        """As many replicas as there are, in another order or elsewhere."""
        partition = self._one()
        left = list(self._brokers)
        count = len(self._replicas[partition])
        target = [left.pop(self._chance.below(len(left))) for _ in range(min(count, len(left)))]
        return await self._placed(cluster, partition, target)

    async def _cancel(self, cluster: Cluster) -> str:
        return await self._placed(cluster, self._one(), None)

    async def _placed(
        self, cluster: Cluster, partition: TopicPartition, to: Sequence[int] | None
    ) -> str:
        refused = (await reassign(cluster, {partition: to}))[partition]
        if refused is not None:
            raise refused
        return f"{partition} {to}"

    async def _elect(self, cluster: Cluster) -> str:
        partition = self._one()
        refused = (await elect(cluster, Election.PREFERRED, [partition])).get(partition)
        if refused is not None:
            raise refused
        return str(partition)

    async def _move_between_disks(self, cluster: Cluster) -> str:
        partition = self._one()
        replicas = self._replicas[partition]
        broker = replicas[self._chance.below(len(replicas))]
        target = self._dir(broker)
        codes = await move_replicas(cluster, BrokerId(broker), target, [partition])
        return f"{partition} {target} {codes[partition].name}"

    async def _cordon(self, cluster: Cluster) -> str:
        return await self._operated(cluster, LOG_DIR_CORDON)

    async def _uncordon(self, cluster: Cluster) -> str:
        return await self._operated(cluster, LOG_DIR_UNCORDON)

    async def _operated(self, cluster: Cluster, operation: AdminOperation) -> str:
        """Of the same dir of each broker: in the other there is always a place."""
        broker = self._broker()
        target = f"{name_of(broker)}/{DISKS[0]}"
        wanted = Wanted(operation, {"dir": target}, str(broker), BrokerId(broker))
        await operate(cluster, wanted)
        return target

    async def _throttle(self, cluster: Cluster) -> str:
        """What replicas copy that are not in sync, on one broker and of one topic."""
        broker, topic = str(self._broker()), self._one().topic
        rate = str(THROTTLE_BYTES_MIN << self._chance.below(THROTTLE_BITS))
        await admin.alter_settings(cluster, admin.TOPIC, topic, to=dict.fromkeys(THROTTLED, "*"))
        to = dict.fromkeys(THROTTLES, rate)
        await admin.alter_settings(cluster, admin.BROKER, broker, to=to)
        return f"{topic} {broker} {rate}"

    async def _throttle_no_more(self, cluster: Cluster) -> str:
        broker = str(self._broker())
        await admin.alter_settings(cluster, admin.BROKER, broker, to={}, delete=THROTTLES)
        return broker

    async def _trim(self, cluster: Cluster) -> str:
        """Deletes records of a topic from which all the time something is deleted.

        Where it begins afterwards is noted, if no broker was started meanwhile: one that was
        killed may not have written down where its logs begin.
        """
        partitions = [it for it in sorted(self._replicas) if it.topic == TRIMMED]
        if not partitions:
            return "nothing"
        partition = partitions[self._chance.below(len(partitions))]
        lives = self._lives()
        (start,) = (await offsets_at(cluster, [partition], EARLIEST)).values()
        (end,) = (await offsets_at(cluster, [partition], LATEST)).values()
        before = start + self._chance.below(end - start + 1)
        told = (await admin.delete_records(cluster, {partition: before}))[str(partition)]
        (found,) = (await offsets_at(cluster, [partition], EARLIEST)).values()
        if self._lives() == lives:
            self._note(OPERATOR, "log.trimmed", str(partition), before, told, found)
        return f"{partition} {before}"

    async def _move_controller(self, cluster: Cluster) -> str:
        broker = self._broker()
        await operate(cluster, Wanted(CONTROLLER_MOVE, {"broker": broker}))
        return str(broker)
