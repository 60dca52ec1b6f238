"""Who takes part in a conversation: clients of the broker, and clients of its ZooKeeper.

What they do, they do at once and to its end, as a story tells it; `begins` starts something whose
end is waited for later, with `ends`, while other things happen.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final

from odradek.client.admin import admin
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.errors import Refused, check
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.member import Member, committed, starting_positions
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.client.records.producer import Producer, ProducerSettings
from odradek.client.records.reader import Reader
from odradek.ensemble.client import News, ZooKeeperClient
from odradek.model.admin_operations import AdminOperation
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import SECOND, Millis
from odradek.ports import Address
from odradek.sim.stage.broker_machine import BROKER, PORT, ZOOKEEPER_PORT
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.session import Session, SessionSettings, WatchEvent

SESSION_TIMEOUT: Final = Millis(6 * SECOND)
PATIENCE_SECONDS: Final = 120


async def _for_ever(machine: Machine) -> None:
    del machine
    await asyncio.get_running_loop().create_future()


class Somebody:
    """A machine of its own, on which things are done."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.machine = world.machine(name)
        if not self.machine.running:
            self.machine.start(_for_ever)
        self._world = world

    def does(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Something, to its end; what comes of it, or the error."""
        return self._world.ask(self.name, self._telling(work), seconds=PATIENCE_SECONDS)

    def refusal_of(self, work: Coroutine[Any, Any, Any]) -> ErrorCode:
        """With which code something is refused; none if it is not."""
        try:
            self.does(work)
        except Refused as refusal:
            return refusal.code
        return ErrorCode.NONE

    def begins(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Something that will take its time."""
        return self.machine.spawn(self._telling(work))

    def ends(self, begun: "asyncio.Task[Any]") -> Any:
        """What came of it, once it is over."""
        return self._world.ask(self.name, _outcome(begun), seconds=PATIENCE_SECONDS)

    async def _telling(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The timeline of a story says who did what, and what came of it."""
        note, what = self._world.history.note, getattr(work, "__name__", "something")
        note(self.name, "begins", what)
        try:
            outcome = await work
        except Exception as error:
            note(self.name, "fails", what, type(error).__name__, str(error))
            raise
        note(self.name, "has done", what)
        return outcome

    def pause(self) -> None:
        """Stands still."""
        self.machine.pause()

    def resume(self) -> None:
        """Goes on, late for everything."""
        self.machine.resume()


class Client(Somebody):
    """Produces, reads, consumes, administers."""

    def __init__(
        self, world: World, name: str, bootstrap: Sequence[Address] = ((BROKER, PORT),)
    ) -> None:
        super().__init__(world, name)
        around = ClientDeps(self.machine.network, self.machine.clock)
        self.cluster = Cluster(around, list(bootstrap), name)
        self._producers: dict[int, Producer] = {}  # by what they call an acknowledgement

    # -- administration ------------------------------------------------------------------------

    def make(self, topic: str, partitions: int = 1, replicas: int = -1, **settings: str) -> None:
        """A topic; without a count of replicas as the brokers' settings have it."""
        self.does(self.making(topic, partitions, replicas, **settings))

    async def making(
        self, topic: str, partitions: int = 1, replicas: int = -1, **settings: str
    ) -> None:
        """The same, to be begun."""
        said = {name.replace("_", "."): value for name, value in settings.items()}
        new = admin.NewTopic(topic, partitions, replicas, settings=said)
        await admin.create_topic(self.cluster, new)

    def delete(self, topic: str) -> None:
        """A topic, with all that is in it."""
        self.does(self.deleting(topic))

    async def deleting(self, topic: str) -> None:
        """The same, to be begun."""
        for code in (await admin.delete_topics(self.cluster, [topic])).values():
            check(code)

    def move(self, broker: int, topic: str, target: str, partition: int = 0) -> ErrorCode:
        """A replica of one broker, to another of its log dirs; what the broker says to that."""
        where = TopicPartition(topic, partition)
        moving = admin.move_replicas(self.cluster, BrokerId(broker), target, [where])
        return ErrorCode(self.does(moving)[where])

    def operate(
        self, operation: AdminOperation, broker: int, **arguments: str
    ) -> Mapping[str, Any]:
        """Something that only our brokers do, with one of them; what came of it."""
        wanted = Wanted(operation, arguments, resource=str(broker), broker=BrokerId(broker))
        found: Mapping[str, Any] = self.does(operate(self.cluster, wanted))
        return found

    # -- producing and reading -----------------------------------------------------------------

    def produce(self, topic: str, *values: str, partition: int = 0, acks: int = -1) -> int:
        """One batch; its base offset."""
        return int(self.does(self.producing(topic, *values, partition=partition, acks=acks)))

    async def producing(self, topic: str, *values: str, partition: int = 0, acks: int = -1) -> int:
        """The same, to be begun."""
        settings = ProducerSettings(acks=acks, idempotent=acks == -1)
        producer = self._producers.setdefault(acks, Producer(self.cluster, settings))
        for value in values:
            producer.add(TopicPartition(topic, partition), value.encode())
        ((_, offset),) = await producer.flush()
        return offset

    def read(self, topic: str, partition: int = 0) -> list[str]:
        """All that is there now."""
        return [value for _, value in self.does(self.reading(topic, partition))]

    def read_with_offsets(self, topic: str, partition: int = 0) -> list[tuple[int, str]]:
        """All that is there now, and where."""
        return list(self.does(self.reading(topic, partition)))

    async def reading(self, topic: str, partition: int = 0) -> list[tuple[int, str]]:
        """The same, to be begun.

        The end is asked for: a new leader's Fetch may name an older high watermark for a while.
        """
        where = TopicPartition(topic, partition)
        end = (await offsets_at(self.cluster, [where], LATEST))[where]
        reader = Reader(self.cluster, await offsets_at(self.cluster, [where], EARLIEST))
        found: list[tuple[int, str]] = []
        while reader.positions[where] < max(end, reader.ends.get(where, end)):
            some = await reader.poll(0)
            found += [(record.offset, (record.value or b"").decode()) for _, record in some]
        return found

    # -- groups --------------------------------------------------------------------------------

    def member(self, group: str, topic: str, instance_id: str | None = None) -> "GroupMember":
        """Not joined yet; with an id of its own it is a static one."""
        return GroupMember(self, group, topic, instance_id)

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Where a group is."""
        return dict(self.does(committed(self.cluster, group)))


class GroupMember:
    """A client as a member of a group."""

    def __init__(
        self, client: Client, group: str, topic: str, instance_id: str | None = None
    ) -> None:
        self.client, self.group = client, group
        self.assigned: list[TopicPartition] = []
        self._member = Member(
            client.cluster,
            group,
            [topic],
            session_timeout=SESSION_TIMEOUT,
            instance_id=instance_id,
        )

    @property
    def generation(self) -> int:
        """The last in which it took part."""
        return self._member.generation

    def joins(self) -> dict[TopicPartition, int]:
        """The next generation; where it goes on in what it was assigned."""
        return dict(self.client.does(self.joining()))

    async def joining(self) -> dict[TopicPartition, int]:
        """The same, to be begun."""
        self.assigned = await self._member.join()
        return await starting_positions(self.client.cluster, self.group, self.assigned)

    def still_belongs(self) -> bool:
        """A heartbeat."""
        return bool(self.client.does(self._member.still_belongs()))

    def commits(self, topic: str, partition: int, offset: int) -> ErrorCode:
        """What it has done with; what the coordinator says to that."""
        positions = {TopicPartition(topic, partition): offset}
        return self.client.refusal_of(self._member.commit(positions))


class Keeper(Somebody):
    """Has a session with ZooKeeper, and remembers in order what it was told."""

    def __init__(self, world: World, name: str, server: Address = (BROKER, ZOOKEEPER_PORT)) -> None:
        super().__init__(world, name)
        self.told: list[str] = []
        ensemble = Ensemble((server,), "")
        session = Session(ensemble, self.machine.random, SessionSettings(SESSION_TIMEOUT))
        network, clock = self.machine.network, self.machine.clock
        self.zookeeper = ZooKeeperClient(session, network, clock, self._heard)
        _ = self.begins(self.zookeeper.run())
        self.zookeeper.begin()
        self.does(self.zookeeper.connected())

    def _heard(self, news: News) -> None:
        said = news.kind.name if isinstance(news, WatchEvent) else news.status.name
        self.told.append(said)


async def _outcome(begun: "asyncio.Task[Any]") -> Any:
    return await begun
