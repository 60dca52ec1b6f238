"""A conversation of several brokers, their ZooKeeper and their clients, on one seed.

    def test_a_follower_takes_over(t: ClusterScenario) -> None:
        shop = t.client("shop")
        shop.make("orders", replicas=3)
        shop.produce("orders", "a")
        t.broker(t.leader("orders")).kill()
        assert shop.read("orders") == ["a"]

Brokers are numbered from 1 and serve when the conversation begins. What a story asks of a partition
(`leader`, `isr`, `log_end`) is read from ZooKeeper's tree or from a broker's memory, as a person
with a debugger would; what it asks of clients goes through the protocol.
"""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from odradek.metadata.nouns import PartitionState
from odradek.metadata.znodes.cluster import ControllerEpochZnode, ControllerZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, TopicZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.medium import CrashRules
from odradek.sim.scenarios.operator import Operator
from odradek.sim.stage.broker_machine import DISKS, PORT, BrokerMachine, name_of
from odradek.sim.stage.clients import PATIENCE_SECONDS, Client, Keeper
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ADDRESS, ZOOKEEPER, ZooKeeperMachine
from odradek.sim.worlds.cluster.state_notes import StateNotes
from odradek.sim.worlds.cluster.view import ClusterView
from odradek.storage.logs.log import PartitionLog
from odradek.zookeeper.protocol.codes import ANY_VERSION
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import GetData
from odradek.zookeeper.tree.tree import Tree

Story = TypeVar("Story", bound=Callable[..., None])
STAGED: Final = "staged"
LOOK_MILLIS: Final = 10
SETTINGS: Final[Mapping[str, str]] = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "4000",
    "controlled.shutdown.retry.backoff.ms": "200",
}


def staged(**how: Any) -> Callable[[Story], Story]:
    """A conversation that needs another stage: these are what `ClusterScenario` takes."""

    def noted(story: Story) -> Story:
        vars(story)[STAGED] = how
        return story

    return noted


class NumberedBroker:
    """What a story says of one broker."""

    def __init__(self, scenario: "ClusterScenario", number: int) -> None:
        self.number = number
        own = scenario.own.get(number, {})
        self.process = BrokerMachine(
            scenario.world, {**SETTINGS, **scenario.settings, **own}, number=number
        )
        self.machine.crash_rules = CrashRules(names_in_order=True)
        self._scenario = scenario

    @property
    def machine(self) -> Machine:
        """Its machine: to pause it, to turn its clock."""
        return self.process.machine

    def begin(self) -> None:
        """A life; it serves some time later."""
        self.process.start()

    def start(self) -> None:
        """A life; returns when it serves."""
        self.begin()
        why = f"broker {self.number} does not serve"
        self._scenario.wait_until(lambda: self.process.serves, why)

    def stop(self) -> None:
        """In good order: it hands its leaderships over first."""
        assert self.process.broker is not None
        self.process.broker.stop()
        why = f"broker {self.number} does not stop"
        self._scenario.wait_until(lambda: not self.machine.running, why)

    def kill(self) -> None:
        """Its process ends; what it had written is there at the next start."""
        self.machine.kill()

    def cut_power(self) -> None:
        """What was not synced may be gone at the next start, without an error."""
        self.machine.cut_power()

    def log(self, topic: str, partition: int = 0) -> PartitionLog | None:
        """Its replica's log, if it is on a disk that serves."""
        assert self.process.broker is not None
        dirs = self.process.broker.services_of_this_life.replicas.dirs
        return dirs.get(TopicPartition(topic, partition))

    def log_end(self, topic: str, partition: int = 0) -> int:
        """Where its replica ends; -1: it has none."""
        found = self.log(topic, partition)
        return -1 if found is None else found.log_end_offset

    def high_watermark(self, topic: str, partition: int = 0) -> int:
        """As its replica knows it."""
        found = self.log(topic, partition)
        return -1 if found is None else found.high_watermark

    def disk_of(self, topic: str, partition: int = 0) -> str:
        """Which of its disks has the replica."""
        found = self.log(topic, partition)
        assert found is not None, (self.number, topic, partition)
        return str(found.folder.disk.name).rpartition("/")[2]

    def has_future(self, topic: str, partition: int = 0) -> bool:
        """Whether a copy of its replica is being filled on another disk."""
        assert self.process.broker is not None
        dirs = self.process.broker.services_of_this_life.replicas.dirs
        return dirs.future(TopicPartition(topic, partition)) is not None

    def other_disk(self, topic: str, partition: int = 0) -> str:
        """The one that has not the replica."""
        (other,) = set(DISKS) - {self.disk_of(topic, partition)}
        return other

    def path_of(self, disk: str) -> str:
        """As its settings name the log dir."""
        return self.machine.disk(disk).name

    def fail_disk(self, disk: str, after: int = 0) -> None:
        """Every call to it fails from now on, or after so many."""
        assert disk in DISKS, disk
        self.machine.disk(disk).faults.rows.append(Fault(skip=after))

    def repair_disk(self, disk: str) -> None:
        """While it does not run: the disk works again, with all that is on it."""
        assert not self.machine.running, self.number
        self.machine.disk(disk).faults.rows.clear()

    def hang_disk(self, disk: str) -> None:
        """It does not return from the next call that it is asked for."""
        self.process.workers[disk].hang()

    def release_disk(self, disk: str) -> None:
        """It goes on where it stood."""
        self.process.workers[disk].go_on()

    def exchange_disk(self, disk: str) -> None:
        """While it runs: another, empty disk in the place of one that failed."""
        self.machine.disk(disk).exchange()

    def wipe_disk(self, disk: str) -> None:
        """While it does not run: another, empty disk in its place."""
        assert disk in DISKS, disk
        assert not self.machine.running, self.number
        del self.machine.disks[disk]


class ClusterScenario:
    """The stage, and what may happen on it."""

    def __init__(
        self,
        seed: int = 1,
        brokers: int = 3,
        settings: Mapping[str, str] | None = None,
        own: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        """`own` settings are those of one broker."""
        self.world = World(seed)
        self.settings = dict(settings or {})
        self.own = dict(own or {})
        self.zookeeper = ZooKeeperMachine(self.world)
        self.brokers = {number: NumberedBroker(self, number) for number in range(1, brokers + 1)}
        machines = {number: broker.process for number, broker in self.brokers.items()}
        self._view = ClusterView(self.zookeeper, machines)
        StateNotes(self._view, self.world.history)
        self._keeper: Keeper | None = None

    def __enter__(self) -> Self:
        self.world.__enter__()
        self.zookeeper.start()
        for broker in self.brokers.values():
            broker.begin()
        self.wait_until(
            lambda: all(it.process.serves for it in self.brokers.values()), "not all brokers serve"
        )
        self._keeper = self.keeper("observer")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.world.__exit__(kind, error, trace)

    # -- who is there --------------------------------------------------------------------------

    def broker(self, number: int) -> NumberedBroker:
        """One of them."""
        return self.brokers[number]

    def others(self, *numbers: int) -> list[NumberedBroker]:
        """All but these."""
        return [broker for number, broker in self.brokers.items() if number not in numbers]

    def client(self, name: str) -> Client:
        """A client that knows the addresses of all brokers."""
        bootstrap = [(name_of(number), PORT) for number in self.brokers]
        return Client(self.world, name, bootstrap)

    def operator(self, *known: int) -> Operator:
        """Who runs it, and knows these brokers alone; else all."""
        bootstrap = [(name_of(it), PORT) for it in known or self.brokers]
        return Operator(self.world, "operator", bootstrap)

    def keeper(self, name: str) -> Keeper:
        """A client of ZooKeeper."""
        return Keeper(self.world, name, ADDRESS)

    # -- what is so ----------------------------------------------------------------------------

    @property
    def tree(self) -> Tree:
        """ZooKeeper's, which needs not be asked for it."""
        return self._view.tree

    def state(self, topic: str, partition: int = 0) -> PartitionState:
        """As it stands in the tree."""
        where = TopicPartition(topic, partition)
        found = self._observer.does(self._observer.zookeeper.get(PartitionStateZnode.path(where)))
        return PartitionStateZnode.decode(where, found.data, found.stat.version)

    def has_topic(self, topic: str) -> bool:
        """Whether the tree has it."""
        path = TopicZnode.path(topic)
        return self._observer.does(self._observer.zookeeper.exists(path)) is not None

    def leader(self, topic: str, partition: int = 0) -> int:
        """Its number; there must be one."""
        leader = self.state(topic, partition).leader
        assert leader is not None, f"no broker leads {topic}-{partition}"
        return leader

    def followers(self, topic: str, partition: int = 0) -> list[int]:
        """Members of the ISR that do not lead."""
        state = self.state(topic, partition)
        return [number for number in sorted(state.isr) if number != state.leader]

    def controller(self) -> int | None:
        """Which broker is the controller."""
        data = self.data(ControllerZnode.PATH)
        return None if data is None else ControllerZnode.decode(data)

    def epoch(self) -> int:
        """How many controllers there have been."""
        return ControllerEpochZnode.decode(self.data(ControllerEpochZnode.PATH))

    def data(self, path: str) -> bytes | None:
        """What stands in a znode; None: it is not there."""
        (found,) = self._observer.does(self._observer.zookeeper.batch((GetData(path),)))
        return found.data if isinstance(found, Data) else None

    def put(self, path: str, data: bytes) -> None:
        """As an operator would with a tool for ZooKeeper."""
        zookeeper = self._observer.zookeeper
        if self.data(path) is None:
            self._observer.does(zookeeper.create(path, data))
        else:
            self._observer.does(zookeeper.set(path, data, ANY_VERSION))

    def acts(self) -> list[int]:
        """The brokers that act as the controller, by what they know themselves."""
        found = []
        for number, broker in self.brokers.items():
            if broker.process.serves and broker.process.broker is not None:
                loop = broker.process.broker.services_of_this_life.controller
                if loop.controller is not None:
                    found.append(number)
        return found

    @property
    def _observer(self) -> Keeper:
        assert self._keeper is not None
        return self._keeper

    # -- what happens --------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Time passes, with all that happens meanwhile."""
        self.world.run(seconds=seconds)

    def wait_until(self, what: Callable[[], object], why: str) -> None:
        """Time passes until it is so."""
        for _ in range(PATIENCE_SECONDS * 1_000 // LOOK_MILLIS):
            if what():
                return
            self.world.run(millis=LOOK_MILLIS)
        raise AssertionError(f"in vain: {why}")

    def await_isr(self, topic: str, *members: int, partition: int = 0) -> None:
        """Until the ISR is this."""
        wanted = {BrokerId(number) for number in members}
        self.wait_until(
            lambda: {*self.state(topic, partition).isr} == wanted,
            f"the ISR of {topic}-{partition} is {sorted(members)}",
        )

    def await_new_leader(self, topic: str, old: int, partition: int = 0) -> int:
        """Until another broker leads; its number."""
        self.wait_until(
            lambda: self.state(topic, partition).leader not in {None, old},
            f"another than {old} leads {topic}-{partition}",
        )
        return self.leader(topic, partition)

    def cut(self, source: int | str, target: int | str) -> None:
        """Nothing arrives in this direction; brokers by number, other machines by name."""
        self.world.wires.cut(_host(source), _host(target))

    def cut_off(self, number: int) -> None:
        """A broker hears no other, and none hears it."""
        others: list[int | str] = [ZOOKEEPER, *(it for it in self.brokers if it != number)]
        for other in others:
            self.cut(number, other)
            self.cut(other, number)

    def break_connections(self, who: int | str) -> None:
        """All connections of a machine are reset, and what was on its way is lost."""
        host = self.world.machine(_host(who)).host
        assert self.world.wires.break_connections(host), who

    def heal(self) -> None:
        """Every link works; what waited comes after a while."""
        self.world.wires.heal()


def _host(who: int | str) -> str:
    return name_of(who) if isinstance(who, int) else who
