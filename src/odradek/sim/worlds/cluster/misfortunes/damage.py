"""What is damaged in some worlds of several brokers only: a disk, a replica, ZooKeeper's tree.

No replica is damaged while another lacks something: with two of them nothing is promised. Near a
change of the ISR another always does; there a disk is exchanged if replicas that may lead have all.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.admin import IsrChangeZnode, LogDirEventZnode
from odradek.metadata.znodes.settings import SettingsChangeZnode
from odradek.model.admin_operations import LOG_DIR_OFFLINE, LOG_DIR_REPLACE, AdminOperation
from odradek.model.ids import BrokerId
from odradek.records.batch import HEADER
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.stage.broker_machine import BrokerMachine, name_of
from odradek.sim.stage.machine import Machine
from odradek.sim.worlds.cluster.misfortunes.rare_faults import ClusterFault, OfCluster
from odradek.sim.worlds.cluster.view import BEFORE_LENGTH
from odradek.zookeeper.client.errors import NodeExists, NoNode
from odradek.zookeeper.protocol.codes import CreateMode

ROTTING: Final = re.compile(r"(orders|payments)-\d+/\d+\.log")
BEFORE_MAGIC: Final = 16  # offset, length and leader epoch of a batch
NONSENSE: Final = (b"", b"nonsense", b"{", b"[]", b'{"version":1}', b"\xff\xfe", b'{"version":"1"}')
PLACES: Final = (
    "/brokers/ids/seven",
    "/brokers/ids/-1",
    "/brokers/topics/nonsense",
    "/admin/delete_topics/nowhere",
    "/admin/reassign_partitions",
    "/admin/preferred_replica_election",
    "/admin/next_controller",
    "/config/topics/nowhere",
    "/config/brokers/seven",
)
SEQUENCES: Final = (
    IsrChangeZnode.CREATE_PATH,
    LogDirEventZnode.CREATE_PATH,
    SettingsChangeZnode.CREATE_PATH,
)


CLEANED_SECONDS: Final = (0, 5, 15)


class ReplacedDisk(ClusterFault):
    """An operator takes a log dir offline, exchanges its disk, and has it filled again.

    Only while all replicas are whole: those of this disk are lost with it.
    """

    name = "replaced-disk"

    def strike(self, chance: SeededRandom) -> str | None:
        """One disk of a broker that serves with both."""
        broker = self.serving(chance)
        if broker is None or not self.copies.all_are_whole():
            return None
        return self.replace(broker, chance)

    def replace(self, broker: BrokerMachine, chance: SeededRandom) -> str | None:
        """One disk of this one."""
        if not broker.is_whole:
            return None
        disk = broker.disks[chance.below(len(broker.disks))]
        life = broker.machine.lives
        self.copies.wipe(broker.machine.name)
        self.hands.in_cluster(partial(self._replace, broker, disk, life))
        return f"{broker.machine.name} {disk}"

    async def _replace(self, broker: BrokerMachine, disk: str, life: int, cluster: Cluster) -> None:
        """As long as the broker lives; in its next life it may have failed for another reason."""
        number = self.number_of(broker)
        arguments = {"dir": f"{name_of(number)}/{disk}"}

        def wanted(operation: AdminOperation) -> Wanted:
            return Wanted(operation, arguments, str(number), BrokerId(number))

        await operate(cluster, wanted(LOG_DIR_OFFLINE))
        if broker.machine.lives == life and broker.machine.running:
            self.copies.wipe(broker.machine.name)  # also what was made since the strike
            broker.machine.disks[disk].exchange()
            await operate(cluster, wanted(LOG_DIR_REPLACE))


class BitRotInOne(ClusterFault):
    """A bit turns in one replica of a partition, while all replicas are whole.

    Of a segment that is on its disk alone: what the page cache has is believed.
    """

    name = "bit-rot-in-one"

    def strike(self, chance: SeededRandom) -> str | None:
        """Only in partitions of which the clients' story is known, and once in each."""
        if not self.copies.all_are_whole():
            return None
        machine = self.running(chance)
        return None if machine is None else self.rot(machine, chance)

    def rot(self, machine: Machine, chance: SeededRandom) -> str | None:
        """On a disk of this one."""
        spoilt = self.copies.with_a_corrupt_copy()
        if not machine.disks:
            return None
        names = sorted(machine.disks)
        disk = machine.disks[names[chance.below(len(names))]]
        found = [
            (path, contents.current)
            for path, contents in disk.medium.files()
            if ROTTING.fullmatch(path) and len(contents.current) > HEADER.size
        ]
        left = [it for it in found if it[0].partition("/")[0] not in spoilt]
        if not left:
            return None
        path, data = left[chance.below(len(left))]
        batches = list(_checked(data))
        start, end = batches[chance.below(len(batches))]
        self.copies.rot(machine.name, path.partition("/")[0])
        disk.faults.is_cold = True
        disk.flip(path, chance.between(start, end - 1), chance.below(8))
        return f"{disk.name} {path}"


def _checked(data: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Where the bytes of each batch are whose rot its checksum shows; its epoch's are not."""
    position = 0
    while position + HEADER.size <= len(data):
        end = position + BEFORE_LENGTH + HEADER.unpack_from(data, position)[1]
        yield position + BEFORE_MAGIC, min(end, len(data))
        position = end


class NonsenseInTree(ClusterFault):
    """Somebody with a tool for ZooKeeper writes what makes no sense."""

    name = "nonsense-in-tree"

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._made: dict[str, None] = {}
        self._is_over = False

    def strike(self, chance: SeededRandom) -> str | None:
        """Anything, somewhere."""
        places = (*PLACES, *SEQUENCES)
        path = places[chance.below(len(places))]
        data = NONSENSE[chance.below(len(NONSENSE))]
        self.hands.in_tree(partial(self._write, path, data))
        return f"{path} {data!r}"

    async def _write(self, path: str, data: bytes, client: ZooKeeperClient) -> None:
        if self._is_over:  # it waited for ZooKeeper
            return
        is_sequence = path in SEQUENCES
        mode = CreateMode.PERSISTENT_SEQUENTIAL if is_sequence else CreateMode.PERSISTENT
        if not is_sequence:
            self._made[path] = None
        try:
            await client.create(path, data, mode=mode)
        except (NodeExists, NoNode):
            return

    def heal(self) -> None:
        """What is still there of it is taken away; ZooKeeper may be away for a moment."""
        self._is_over = True
        if self._made:
            for seconds in CLEANED_SECONDS:
                self.world.after(seconds * SECOND, lambda: self.hands.in_tree(self._clean))

    async def _clean(self, client: ZooKeeperClient) -> None:
        for path in self._made:
            try:
                await client.delete(path)
            except NoNode:
                continue
