"""A story about one broker and those who use it: somebody tells it, and chance does the rest.

A conversation says who does what, what goes wrong and when, and what must come of it. What it
leaves open, such as how long each message travels, the seed decides: a conversation that has a
lesson holds for every seed. The broker starts when it is first asked for, and clients are machines
of their own, each under its name.

    def test_what_was_acknowledged_survives(t: Scenario) -> None:
        shop = t.client("shop")
        shop.make("orders")
        shop.produce("orders", "a")
        t.broker.cut_power()
        assert shop.read("orders") == ["a"]
"""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from odradek.model.ids import TopicPartition
from odradek.sim.doors.medium import CrashRules
from odradek.sim.stage.broker_machine import BROKER, BrokerMachine
from odradek.sim.stage.clients import PATIENCE_SECONDS, Client, Keeper
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World

LOOK_MILLIS: Final = 10


class Scenario:
    """The stage, and what may happen on it."""

    def __init__(self, seed: int = 1) -> None:
        self.world = World(seed)
        self._settings: Mapping[str, str] = {}
        self._broker: BrokerMachine | None = None

    def __enter__(self) -> Self:
        self.world.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.world.__exit__(kind, error, trace)

    # -- who is there --------------------------------------------------------------------------

    def settings(self, **settings: str) -> None:
        """How the operator wants the broker; before it is first asked for."""
        assert self._broker is None, "the broker has been started"
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}

    @property
    def broker(self) -> "OnStage":
        """The broker; started where it was not."""
        if self._broker is None:
            self._broker = BrokerMachine(self.world, self._settings)
            self._broker.machine.crash_rules = CrashRules(names_in_order=True)
            OnStage(self, self._broker).start()
        return OnStage(self, self._broker)

    def client(self, name: str) -> Client:
        """Somebody who uses the broker."""
        assert self.broker.is_running
        return Client(self.world, name)

    def keeper(self, name: str) -> Keeper:
        """Somebody who uses its ZooKeeper."""
        assert self.broker.is_running
        return Keeper(self.world, name)

    def machine(self, name: str) -> Machine:
        """Anybody's machine: to pause it, to turn its clock."""
        return self.world.machine(name)

    # -- what happens --------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Time passes, with all that happens meanwhile."""
        self.world.run(seconds=seconds)

    def wait_until(self, what: Callable[[], bool], why: str) -> None:
        """Time passes until it is so."""
        for _ in range(PATIENCE_SECONDS * 1_000 // LOOK_MILLIS):
            if what():
                return
            self.world.run(millis=LOOK_MILLIS)
        raise AssertionError(f"in vain: {why}")

    def cut(self, source: str, target: str) -> None:
        """Nothing arrives in this direction."""
        self.world.wires.cut(source, target)

    def heal(self) -> None:
        """Every link works; what waited comes after a while."""
        self.world.wires.heal()

    def break_connections(self, name: str) -> None:
        """All connections of a machine are reset."""
        assert self.world.wires.break_connections(self.world.machine(name).host), name


class OnStage:
    """What a story says of the broker."""

    def __init__(self, scenario: Scenario, broker: BrokerMachine) -> None:
        self._scenario, self._broker = scenario, broker
        self.machine = broker.machine

    @property
    def is_running(self) -> bool:
        """Whether its process lives."""
        return self.machine.running

    def start(self) -> None:
        """A life; returns when it serves."""
        self._broker.start()
        self._scenario.wait_until(lambda: self._broker.serves, "the broker does not serve")

    def stop(self) -> None:
        """In good order."""
        assert self._broker.broker is not None
        self._broker.broker.stop()
        self._scenario.wait_until(lambda: not self.machine.running, "the broker does not stop")

    def kill(self) -> None:
        """Its process ends; what it had written is there at the next start."""
        self.machine.kill()

    def cut_power(self) -> None:
        """What was not synced may be gone at the next start."""
        self.machine.cut_power()

    def end_of(self, topic: str, partition: int = 0) -> int:
        """Where a log ends, as any broker knows it."""
        return int(self._log(topic, partition).log_end_offset)

    def serves(self, topic: str, partition: int = 0) -> bool:
        """Whether it has a log on a disk that works."""
        return self._log(topic, partition) is not None

    def disk_of(self, topic: str, partition: int = 0) -> str:
        """Which of its disks a log lies on."""
        name: str = self._log(topic, partition).folder.disk.name
        return name.removeprefix(f"{BROKER}/")

    def _log(self, topic: str, partition: int) -> Any:
        assert self._broker.broker is not None
        return self._broker.broker.services_of_this_life.replicas.dirs.get(
            TopicPartition(topic, partition)
        )
