"""What clusters of tests have in common, whether their brokers are threads or processes.

ZooKeeper runs in the test's process in both, and so does the client that makes topics.
"""

import os
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, NamedTuple, Protocol, Self, TypeVar

from odradek.client.admin import admin
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import ClientDeps, Cluster
from odradek.model.admin_operations import CONTROLLER_MOVE
from odradek.model.counting import counted
from odradek.model.errors import BrokerError, ErrorCode
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from odradek.testing.errors import WrongCall
from odradek.testing.events import Events
from odradek.testing.faulty_network import Links
from odradek.testing.local_zookeeper import LocalZooKeeper

HOST: Final = "127.0.0.1"
CLIENT: Final = "PLAINTEXT"
BROKERS_MAX: Final = 20
PATIENCE_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 0.002
OWN: Final = frozenset({"broker.id", "listeners", "log.dirs", "zookeeper.connect"})
"""Settings that the cluster decides."""


def _settings(brokers: int, given: Mapping[str, object]) -> dict[str, str]:
    replicas = str(min(3, brokers))
    said = {name: str(value) for name, value in given.items()}
    if own := sorted(OWN & said.keys()):
        raise WrongCall(f"{own[0]} is not for a test to set: the cluster chooses it")
    return {
        "admin.listener": "",
        "default.replication.factor": replicas,
        "min.insync.replicas": str(min(2, brokers)),
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(min(2, brokers)),
        "transaction.state.log.num.partitions": "3",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "100",
        "zookeeper.session.timeout.ms": "6000",
        **said,
    }


class Seen(NamedTuple):
    """A partition, as the best informed broker knows it."""

    leader: int | None
    replicas: Sequence[int]
    isr: Sequence[int]


class Living(Protocol):
    """A broker of a cluster, through its lives."""

    dirs: list[Path]
    ports: dict[str, int]

    @property
    def is_alive(self) -> bool: ...

    @property
    def answers(self) -> bool: ...


M = TypeVar("M", bound=Living)


class Brokers(ABC, Generic[M]):
    """Brokers 1 to n. Use it as a context."""

    def __init__(self, brokers: int = 3, settings: Mapping[str, object] | None = None) -> None:
        if not 1 <= brokers <= BROKERS_MAX:
            raise WrongCall(f"a cluster of {counted(brokers, 'broker')}: 1 to {BROKERS_MAX} can be")
        self._count = brokers
        self._settings = _settings(brokers, settings or {})
        self._links = Links()
        self._members: dict[int, M] = {}
        self._pid = 0  # of the process that has started it
        self._client: Cluster
        self._zookeeper: LocalZooKeeper
        self._folder: tempfile.TemporaryDirectory[str]
        self._events: Events

    def __enter__(self) -> Self:
        self._pid = os.getpid()
        self._folder = tempfile.TemporaryDirectory(prefix="odradek-")
        self._events = Events()
        try:
            self._zookeeper = LocalZooKeeper(self._links)
            host, port = self._zookeeper.address
            said = {**self._settings, "zookeeper.connect": f"{host}:{port}"}
            self._launch(Path(self._folder.name), said)
            self._client = self._zookeeper.thread.call(self._new_client(), PATIENCE_SECONDS)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all of it, as a crash would: nothing is kept. A child of a fork leaves it alone."""
        if self._pid != os.getpid():
            return
        self._pid = 0
        self._kill_all()
        if hasattr(self, "_client"):
            self._zookeeper.thread.soon(self._client.close)
        if hasattr(self, "_zookeeper"):
            self._zookeeper.close()
        self._folder.cleanup()
        self._events.close()

    async def _new_client(self) -> Cluster:
        world = ClientDeps(SystemNetwork(), SystemClock())
        addresses = [(HOST, it.ports[CLIENT]) for it in self._members.values()]
        return Cluster(world, addresses, "odradek-testing")

    @abstractmethod
    def _launch(self, folder: Path, settings: Mapping[str, str]) -> None:
        """Makes and starts the members."""

    @abstractmethod
    def _kill_all(self) -> None:
        """Ends those that run."""

    @abstractmethod
    def _seen(self, topic: str) -> Mapping[int, Seen]:
        """Its partitions."""

    @abstractmethod
    def _is_known(self, topic: str) -> bool:
        """By each broker that answers, so that no client asks one that has not heard of it."""

    @abstractmethod
    def _controllers(self) -> set[int | None]:
        """The controller, as each that answers knows it."""

    # What there is

    @property
    def told(self) -> list[str]:
        """What brokers and ZooKeeper warned of, for who wants to know why a test failed."""
        return list(Events.recent)

    @property
    def bootstrap(self) -> str:
        """As clients have it: `127.0.0.1:40001,127.0.0.1:40002`."""
        return ",".join(f"{HOST}:{it.ports[CLIENT]}" for it in self._members.values())

    @property
    def brokers(self) -> list[int]:
        """The numbers of all, alive or not."""
        return list(self._members)

    @property
    def alive(self) -> list[int]:
        """The numbers of those that serve."""
        return [number for number, it in self._members.items() if it.is_alive]

    def directory(self, broker: int, disk: int) -> Path:
        """Of a log dir: its files can be looked at."""
        return self._member(broker).dirs[self._disk(broker, disk)]

    def topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replicas: int = -1,
        settings: Mapping[str, str] | None = None,
    ) -> str:
        """Makes a topic, and returns its name once all its replicas are in sync."""
        wanted = admin.NewTopic(name, partitions, replicas, settings or {})
        self._zookeeper.thread.call(admin.create_topic(self._client, wanted), PATIENCE_SECONDS)
        self.await_isr(name)
        return name

    def delete(self, topics: Iterable[str]) -> None:
        """Deletes topics."""
        names = list(topics)
        if names:
            self._zookeeper.thread.call(admin.delete_topics(self._client, names), PATIENCE_SECONDS)

    def leader(self, topic: str, partition: int = 0) -> int:
        """The number of the broker that leads it; waits while there is none."""
        found: list[int] = []

        def has_one() -> bool:
            seen = self._seen(topic).get(partition)
            leader = None if seen is None else seen.leader
            found[:] = [] if leader is None or leader not in self.alive else [leader]
            return bool(found)

        self._await(has_one, f"{topic}-{partition} has no leader")
        return found[0]

    def await_isr(self, topic: str, replicas: Collection[int] | None = None) -> None:
        """Returns once every replica is in sync, or exactly `replicas` of each partition are."""

        def is_so(seen: Seen) -> bool:
            return {*seen.isr} == {*(seen.replicas if replicas is None else replicas)}

        def all_are() -> bool:
            seen = self._seen(topic).values()
            return bool(seen) and all(map(is_so, seen)) and self._is_known(topic)

        self._await(all_are, f"{topic} is not in sync")

    @property
    def controller(self) -> int:
        """The number of the controller; waits while there is none."""
        found: list[int] = []

        def has_one() -> bool:
            told = self._controllers()
            found[:] = [it for it in told if it is not None and it in self.alive]
            return len(told) == len(found) == 1

        self._await(has_one, "there is no controller")
        return found[0]

    def expire_session(self, broker: int) -> None:
        """ZooKeeper takes it for dead, which it may not be."""
        self._member(broker)
        self._zookeeper.expire(broker)

    def move_controller(self, broker: int) -> None:
        """Returns once this broker is the controller."""
        self._member(broker)
        refusals: list[BrokerError] = []
        try:
            self._await(
                lambda: self._is_asked_for(broker, refusals),
                f"the controller does not move to broker {broker}",
            )
        except WrongCall as error:
            raise error from (refusals[-1] if refusals else None)
        self._await(lambda: self.controller == broker, f"the controller is not broker {broker}")

    def _is_asked_for(self, controller: int, refusals: list[BrokerError]) -> bool:
        """It may be without ZooKeeper for a moment, or the controller before it says so."""
        if self.controller == controller:
            return True
        wanted = Wanted(CONTROLLER_MOVE, {"broker": controller})
        try:
            self._zookeeper.thread.call(operate(self._client, wanted), PATIENCE_SECONDS)
        except BrokerError as error:
            if error.code not in {ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.INVALID_REQUEST}:
                raise
            refusals.append(error)
            return False
        return True

    # How it is found out

    def _member(self, broker: object) -> M:
        if broker not in self._members:
            raise WrongCall(f"there is no broker {broker!r}: there are {self.brokers}")
        assert isinstance(broker, int)
        return self._members[broker]

    def _disk(self, broker: int, disk: int) -> int:
        dirs = self._member(broker).dirs
        if disk not in range(len(dirs)):
            raise WrongCall(f"broker {broker} has no disk {disk!r}: it has 0 to {len(dirs) - 1}")
        return disk

    def _answering(self) -> list[int]:
        return [number for number, it in self._members.items() if it.answers]

    def _await(self, condition: Callable[[], bool], otherwise: str) -> None:
        pause = threading.Event()
        for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
            if condition():
                return
            pause.wait(LOOK_SECONDS)
        raise WrongCall(otherwise)
