"""What people and old tools do to a cluster: batches of any time, and nodes written by hand.

A partition's state is removed, or a topic mistyped, for a while, in ZooKeeper's tree: no broker has
asked for it.
"""

from contextlib import suppress
from functools import partial
from typing import Final

from odradek.client.cluster import Cluster
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.admin import ReassignPartitionsZnode
from odradek.metadata.znodes.cluster import ControllerZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, TopicZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.records.build import BatchBuilder, plain_header
from odradek.records.record import Record
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.worlds.cluster.clients.users import SHARED
from odradek.sim.worlds.cluster.misfortunes.change import ALL_JUDGED, Change
from odradek.sim.worlds.cluster.misfortunes.rare_faults import OfCluster
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.zookeeper.client.errors import BadVersion, NodeExists, NoNode

DAY_MILLIS: Final = 86_400_000
AGES: Final = (0, -DAY_MILLIS // 2, DAY_MILLIS, 3_650 * DAY_MILLIS)
SIZES: Final = (10, 1_000, 4_000)  # bytes; segments of that topic have 2,048 at first
TIMEOUT_MS: Final = 10_000
MISTYPED: Final = (
    b"",
    b"{",
    b'{"version":2,"partitions":{}}',
    b'{"version":2,"partitions":{"0":[]}}',
)
MISTAKEN_SECONDS: Final = (1, 8)
BACK_SECONDS: Final = (0, 5, 15)
"""So long after that it is put back, unless it was: ZooKeeper may be away for a moment."""


class OddBatches(Change):
    """A batch that is old, large, from the future, or without a time."""

    name = "odd-batches"
    weight = 2

    def strike(self, chance: SeededRandom) -> str | None:
        """One, in the topic whose records are dropped all the time."""
        partition = self.one_of((SHARED,), chance)
        if partition is None:
            return None
        size, age = SIZES[chance.below(len(SIZES))], AGES[chance.below(len(AGES))]
        has_time = bool(chance.below(2))
        self.ask(partial(self._send, partition, size, age if has_time else None), chance)
        return f"{partition} {size} {age if has_time else None}"

    async def _send(
        self, partition: TopicPartition, size: int, age: int | None, cluster: Cluster
    ) -> None:
        builder = BatchBuilder(plain_header(attributes=0))
        time = -1 if age is None else cluster.world.clock.wall() - age
        builder.append(Record(0, time, None, bytes(size), ()))
        await cluster.topic(partition.topic)
        data = [PartitionProduceData(partition.partition, builder.finish())]
        topics = [TopicProduceData(partition.topic, partition_data=data)]
        connection = await cluster.leader(partition)
        await connection.ask(ProduceRequest(None, -1, TIMEOUT_MS, topics))


class PlanByHand(Change):
    """An old tool writes /admin/reassign_partitions."""

    name = "plan-by-hand"
    weight = 2

    def strike(self, chance: SeededRandom) -> str | None:
        """One partition, as many replicas as two or three, perhaps one that does not live."""
        partition = self.one_of(ALL_JUDGED, chance)
        if partition is None:
            return None
        left = sorted(self.brokers)
        target = [BrokerId(left.pop(chance.below(len(left)))) for _ in range(2 + chance.below(2))]
        data = ReassignPartitionsZnode.encode({partition: tuple(target)})
        self.in_tree(partial(self._write, data))
        return f"{partition} {target}"

    async def _write(self, data: bytes, client: ZooKeeperClient) -> None:
        try:
            await client.create(ReassignPartitionsZnode.PATH, data)
        except NodeExists:
            return


class StateByHand(Change):
    """Somebody removes the state of a partition, and puts it back some seconds later.

    Then another controller is elected, as the runbook has it. Noted before it is removed:
    `state.may_begin_anew` partition, for its versions do.
    """

    name = "state-by-hand"
    weight = 2

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._before: dict[TopicPartition, bytes] = {}  # what is to be put back
        self._removing: set[TopicPartition] = set()

    def strike(self, chance: SeededRandom) -> str | None:
        """Of those whose records are judged, one at a time."""
        partition = self.one_of(ALL_JUDGED, chance)
        if partition is None or self._before:
            return None
        until = chance.between(*MISTAKEN_SECONDS)
        self.in_tree(partial(self._remove, partition, until))
        return str(partition)

    async def _remove(self, partition: TopicPartition, until: int, client: ZooKeeperClient) -> None:
        """Just what was read: what is put back is the last state that was written.

        Two on their way to one partition would remove what was put back.
        """
        if partition in self._removing:
            return
        self._removing.add(partition)
        path = PartitionStateZnode.path(partition)
        try:
            with suppress(NoNode, BadVersion):
                found = await client.get(path)
                self.note("state.may_begin_anew", str(partition))
                self._before[partition] = found.data or b""
                await client.delete(path, found.stat.version)
        finally:
            self._removing.remove(partition)
            for seconds in BACK_SECONDS:
                self.world.after((until + seconds) * SECOND, self._put_all_back)

    def _put_all_back(self) -> None:
        for partition in self._before:
            self.in_tree(partial(self._put_back, partition), at_last=True)

    async def _put_back(self, partition: TopicPartition, client: ZooKeeperClient) -> None:
        """Unless it is there: it was not removed, or was put back."""
        if partition not in self._before or partition in self._removing:
            return
        path = PartitionStateZnode.path(partition)
        with suppress(NodeExists):
            await client.create(path, self._before[partition])
        await client.get(path)  # ZooKeeper has saved it
        self._before.pop(partition, None)
        with suppress(NoNode):
            await client.delete(ControllerZnode.PATH)

    def heal(self) -> None:
        """As it was; ZooKeeper may be away for a moment."""
        super().heal()
        for seconds in BACK_SECONDS:
            self.world.after(seconds * SECOND, self._put_all_back)


class TopicByHand(Change):
    """Somebody mistypes a topic, and sees it some seconds later."""

    name = "topic-by-hand"
    weight = 2

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._before: dict[str, bytes] = {}  # what is to be written back

    def strike(self, chance: SeededRandom) -> str | None:
        """Of those whose records are judged, one at a time."""
        partition = self.one_of(ALL_JUDGED, chance)
        if partition is None or self._before:
            return None
        path = TopicZnode.path(partition.topic)
        data = MISTYPED[chance.below(len(MISTYPED))]
        self.in_tree(partial(self._mistype, path, data))
        until = chance.between(*MISTAKEN_SECONDS)
        for seconds in BACK_SECONDS:
            self.world.after((until + seconds) * SECOND, partial(self._write_back, path))
        return f"{path} {data!r}"

    async def _mistype(self, path: str, data: bytes, client: ZooKeeperClient) -> None:
        """Of two on their way to one topic, the first alone knows what it said before."""
        found = await client.get(path)
        if path in self._before or not _has_partitions(path, found.data):
            return
        self._before[path] = found.data or b""
        try:
            await client.set(path, data, found.stat.version)
        except BadVersion:
            del self._before[path]

    def _write_back(self, path: str) -> None:
        if path in self._before:
            self.in_tree(partial(self._mend, path), at_last=True)

    async def _mend(self, path: str, client: ZooKeeperClient) -> None:
        """Unless somebody else has; a controller may have given an id to what names no partition.

        The mend is known to have come only once it is read: ZooKeeper may lose what it answered.
        """
        found = await client.get(path)
        if _has_partitions(path, found.data):
            self._before.pop(path, None)
        elif path in self._before:
            with suppress(BadVersion):
                await client.set(path, self._before[path], found.stat.version)

    def heal(self) -> None:
        """As it was; ZooKeeper may be away for a moment."""
        super().heal()
        for seconds in BACK_SECONDS:
            self.world.after(seconds * SECOND, lambda: [*map(self._write_back, [*self._before])])


def _has_partitions(path: str, data: bytes | None) -> bool:
    try:
        return bool(TopicZnode.decode(path.rpartition("/")[2], data).partitions)
    except MalformedZnode:
        return False
