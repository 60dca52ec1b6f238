"""One broker with its own ZooKeeper, ten partitions on two disks, and clients who use it.

The broker is killed, loses power, stands still and is cut off; its disks fail, fill up and hang. An
operator starts it again when it has stopped, or has gone on for a while with a disk that failed.
Its clients live on, remember what they were told, and try again. What they are told, they note, and
promises are made of that.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from odradek.coordinator.groups.steps import commits
from odradek.sim.disk_misfortunes import (
    ColdCache,
    DiskErrors,
    FullDisk,
    JournalErrors,
    PausedJob,
    PowerCutInCall,
    ReadOnlyDisk,
    SlowDisk,
)
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.doors.medium import CrashRules
from odradek.sim.faults import (
    BrokenConnections,
    ClockJump,
    Cut,
    Fault,
    Kill,
    LostReplies,
    Pause,
    PowerCut,
    SlowLinks,
    SlowReceivers,
)
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.simulation import Knob, Simulation
from odradek.sim.stage.broker_machine import BROKER, DISKS, BrokerMachine
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.broker.administrator_promises import (
    NewPartitionsAreEmpty,
    SettingsStay,
    TopicsAreWhatTheyWereMade,
)
from odradek.sim.worlds.broker.clients import Clients
from odradek.sim.worlds.broker.insides import (
    BoundsHold,
    CommitsAreInTheLog,
    EpochsRise,
    OneHomeEach,
    RequestsAreUnderstood,
)
from odradek.sim.worlds.broker.promises import (
    AcknowledgedRecordsSurvive,
    ClientsAreToldOneStory,
    CommitsSurvive,
    FullDisksStayOnline,
    GenerationsRise,
    MembersShareNothing,
    OldGenerationsCommitNothing,
)
from odradek.storage.logs import producers, writing

CLIENTS: Final = "clients"
RESTART_MICROS: Final = SECOND
SICK_MICROS: Final = 8 * SECOND
"""How long a broker goes on with a disk that has failed."""
RECOVERY_SECONDS: Final = 45
RECOVERED: Final = frozenset({"client.acked", "client.read", "client.committed", "topic.made"})
FAILURES: Final = frozenset({"log_dir.offline", "log_dir.cannot_be_opened"})


def _nothing(*_: Any, **__: Any) -> None:
    """What a mistake does instead."""


MISTAKES: Final[Mapping[str, Knob]] = {
    "answer-before-sync": Knob(writing.WriteJob, "sync", _nothing),
    "commit-of-an-old-generation": Knob(commits, "_check", _nothing),
    "sequences-ignored": Knob(producers.ProducerState, "get", _nothing),
}


class HangingWorker(Fault):
    """A call to a disk does not return for a while: nothing behind it is done."""

    name = "hanging-worker"

    def __init__(self, world: World, broker: BrokerMachine) -> None:
        super().__init__(world, (BROKER,))
        self._broker = broker

    def strike(self, chance: SeededRandom) -> str | None:
        """One of the two, if the broker has got so far as to have them."""
        if not self._broker.machine.running or not self._broker.workers:
            return None
        name = DISKS[chance.below(len(DISKS))]
        worker = self._broker.workers[name]
        worker.hang()
        self.world.after(self.later(chance), worker.go_on)
        return name

    def heal(self) -> None:
        """All go on."""
        for worker in self._broker.workers.values():
            worker.go_on()


class BrokerSimulation(Simulation):
    """The kind."""

    name: ClassVar = "broker"
    fault_seconds: ClassVar = 40
    healing_seconds: ClassVar = 5
    floors: ClassVar = {"client.acked": 8, "client.end": 20}
    controls: ClassVar = tuple(MISTAKES)

    def __init__(self, world: World, control: str = "") -> None:
        super().__init__(world, control)
        self._broker = BrokerMachine(
            world,
            on_ready=lambda: world.history.note(BROKER, "broker.started"),
            on_exit=lambda: world.after(RESTART_MICROS, self.broker.start_if_down),
        )
        self.broker = self._broker.machine
        self.broker.reboots_after_failed_sync = True
        self.broker.crash_rules = CrashRules(page_bytes=512, tear_one_in=2, names_in_order=True)
        self.clients = world.machine(CLIENTS)
        self._users = Clients(world, self.clients)
        world.history.watch(self._operate, {"log"})
        world.history.watch(self._tell_of_power, {"loses power"})

    def begin(self) -> None:
        """The broker first; clients would wait for it anyway."""
        self._broker.start()
        self.clients.start(self._use)

    def faults(self) -> Sequence[Fault]:
        """All that one broker and its clients can meet."""
        broker, both = (self.world, (BROKER,)), (self.world, (BROKER, CLIENTS))
        return (
            PowerCut(*both),
            Kill(*both),
            Pause(*both),
            ClockJump(*both),
            Cut(*both),
            BrokenConnections(*both),
            LostReplies(*both),
            SlowLinks(*both),
            SlowReceivers(*both),
            PowerCutInCall(*broker),
            DiskErrors(*broker),
            SlowDisk(*broker),
            PausedJob(*broker),
            ReadOnlyDisk(*broker),
            ColdCache(*broker),
            FullDisk(*broker),
            HangingWorker(self.world, self._broker),
            JournalErrors(self.world, self._broker.ledger),
        )

    def invariants(self) -> Sequence[Invariant]:
        """See `promises` and `insides`."""
        return (
            AcknowledgedRecordsSurvive(),
            ClientsAreToldOneStory(),
            CommitsSurvive(),
            OldGenerationsCommitNothing(),
            MembersShareNothing(),
            FullDisksStayOnline(),
            TopicsAreWhatTheyWereMade(),
            NewPartitionsAreEmpty(),
            SettingsStay(),
            BoundsHold(self._broker),
            EpochsRise(self._broker),
            OneHomeEach(self._broker),
            CommitsAreInTheLog(self._broker),
            RequestsAreUnderstood(),
            GenerationsRise(),
        )

    def knobs(self) -> Sequence[Knob]:
        """Only mistakes."""
        return (MISTAKES[self.control],) if self.control else ()

    def _tell_of_power(self, event: Event) -> None:
        """What the clients' machine loses is no promise of the broker's."""
        if event.who == BROKER:
            self.world.history.note(BROKER, "broker.lost_power")

    def _operate(self, event: Event) -> None:
        """A disk has failed: somebody has a look at it, and starts the broker again."""
        if event.details[1] in FAILURES:
            life = self.broker.lives

            def restart() -> None:
                if self.broker.lives == life:
                    self.broker.kill()
                    self.broker.start_if_down()

            self.world.after(SICK_MICROS, restart)

    def recover(self) -> str:
        """Everybody is served again, and everything is there to be read."""
        served: set[str] = set()
        self.world.history.watch(lambda event: served.add(event.what), RECOVERED)
        for _ in range(RECOVERY_SECONDS):
            self.world.run(seconds=1)
            if served == RECOVERED:
                break
        else:
            return f"no client noted {sorted(RECOVERED - served)} in {RECOVERY_SECONDS} seconds"
        self.world.ask(CLIENTS, self._users.audit())
        return ""

    def state(self) -> str:
        """Whether the broker serves, and from how many disks."""
        if not self.broker.running:
            return "broker down"
        if self.broker.paused:
            return "broker paused"
        if not self._broker.serves:
            return "broker starting"
        return "broker up" if self._broker.is_whole else "a disk offline"

    async def _use(self, machine: Machine) -> None:
        del machine
        await self._users.run()


KIND: Final = BrokerSimulation
