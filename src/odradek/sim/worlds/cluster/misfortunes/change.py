"""What changes have in common that operators make while things go wrong."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from odradek.client.cluster import Cluster
from odradek.ensemble.client import ZooKeeperClient
from odradek.model.ids import TopicPartition
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.faults import MILLI
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.sim.worlds.cluster.clients.users import COPIED, PLAIN, SYNCED
from odradek.sim.worlds.cluster.misfortunes.rare_faults import ClusterFault

LATE_MILLIS: Final = (10, 3_000)
LATE_SECONDS: Final = 5
JUDGED: Final = (SYNCED, COPIED)
ALL_JUDGED: Final = (SYNCED, COPIED, PLAIN)

Work = Callable[[Cluster], Awaitable[object]]
TreeWork = Callable[[ZooKeeperClient], Awaitable[object]]


class Change(ClusterFault):
    """One that an operator makes; what is refused or not answered may be so all the same."""

    weight = 1
    is_over = False

    def ask(self, work: Work, chance: SeededRandom) -> None:
        """It begins now; perhaps one broker hears late what ZooKeeper has to say."""
        if chance.below(2):
            numbers = sorted(self.brokers)
            broker = self.brokers[numbers[chance.below(len(numbers))]]
            server = self.world.machine(ZOOKEEPER).host
            link = self.world.wires.link(server, broker.machine.host)
            delay = chance.between(*LATE_MILLIS) * MILLI
            link.delay = (delay, delay)
            self.world.after(LATE_SECONDS * SECOND, link.quicken)
        self.hands.in_cluster(work)

    def stop_leader(self, chance: SeededRandom, partition: str) -> None:
        """In good order, for a while; who leads next may not have heard of the change."""
        states = self.copies.view.states().items()
        leader = next((it.leader for place, it in states if str(place) == partition), None)
        if leader is None or self.is_over:
            return
        broker = self.brokers[leader]
        if broker.serves and not broker.machine.paused:
            broker.stop(self.later(chance))

    def in_tree(self, work: TreeWork, *, at_last: bool = False) -> None:
        """Somebody has a tool for ZooKeeper; when all heals only what was done is undone."""

        async def once(client: ZooKeeperClient) -> None:
            if at_last or not self.is_over:
                await work(client)

        self.hands.in_tree(once)

    def heal(self) -> None:
        """Nothing is changed any more, also by those who still wait for ZooKeeper."""
        self.is_over = True

    def note(self, what: str, *details: object) -> None:
        """By the world: whatever comes of it."""
        self.world.history.note("world", what, *details)

    def one_of(self, topics: Sequence[str], chance: SeededRandom) -> TopicPartition | None:
        """A partition that the tree has, of one of these."""
        found = [
            it.partition for it, _ in self.copies.view.places() if it.partition.topic in topics
        ]
        return found[chance.below(len(found))] if found else None
