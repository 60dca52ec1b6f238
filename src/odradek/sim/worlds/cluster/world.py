"""Three to five brokers, a ZooKeeper of its own, a dozen partitions, and clients who use them.

Brokers are killed, lose power, stand still and are cut off from each other, from ZooKeeper, from
clients; their disks fail, fill up, hang and are replaced; ZooKeeper restarts, and ends sessions. An
operator starts again what has stopped, or has gone on for a while with a disk that failed.

What is committed must stay while a replica is left that has it and may be elected; how that is
known stands in `promises.insides`.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from odradek.broker.fetching.replica_selector import RACK_AWARE
from odradek.sim.disk_misfortunes import (
    ColdCache,
    FullDisk,
    JournalErrors,
    PassingDiskErrors,
    PausedJob,
    PowerCutInCall,
    ReadOnlyDisk,
    SlowDisk,
)
from odradek.sim.doors.loop import SECOND
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
from odradek.sim.stage.broker_machine import (
    DISKS,
    OTHER_PORT,
    PORT,
    THREE_DISKS,
    BrokerMachine,
    name_of,
)
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.sim.worlds.broker.administrator_promises import SettingsStay, TopicsAreWhatTheyWereMade
from odradek.sim.worlds.broker.clients import Users
from odradek.sim.worlds.broker.insides import OneHomeEach, RequestsAreUnderstood
from odradek.sim.worlds.broker.promises import (
    CommitsSurvive,
    FullDisksStayOnline,
    GenerationsRise,
    MembersShareNothing,
    OldGenerationsCommitNothing,
)
from odradek.sim.worlds.cluster.clients.readers import AnswersKeepTheirBounds, TimesAreFound
from odradek.sim.worlds.cluster.clients.renumbering import ProducersAreToldOfNoGap
from odradek.sim.worlds.cluster.clients.users import (
    PLAIN,
    RECORDS_MAX,
    SYNCED,
    TOPICS,
    ClusterClients,
)
from odradek.sim.worlds.cluster.clients.writers import TheLastOfEachKeyStays
from odradek.sim.worlds.cluster.machines import broker_of, zookeeper_of
from odradek.sim.worlds.cluster.misfortunes.faults import (
    ControlledShutdown,
    ExpiredSessions,
    HangingWorkers,
    WipedDisk,
    WrongDay,
)
from odradek.sim.worlds.cluster.misfortunes.hands import Hands
from odradek.sim.worlds.cluster.misfortunes.rare_faults import OfCluster
from odradek.sim.worlds.cluster.misfortunes.twins import SecondProcessesAreRefused
from odradek.sim.worlds.cluster.mistakes.known import KNOWN, knobs_of
from odradek.sim.worlds.cluster.promises.bounds import BoundsHoldEverywhere
from odradek.sim.worlds.cluster.promises.controller import (
    ElectionsHaveAnEnd,
    OneControllerInEachEpoch,
    OnlyWhoMayIsTheController,
    PastControllersWriteNothing,
    TheControllerStays,
    ThereIsAController,
    draw_candidates,
)
from odradek.sim.worlds.cluster.promises.full_disks import WhoHasRoomLeads
from odradek.sim.worlds.cluster.promises.insides import MIN_ISR, Copies
from odradek.sim.worlds.cluster.promises.leaderships import (
    EpochsOnlyRise,
    LeadersKnowTheIsr,
    OneLeaderInEachEpoch,
    UncleanElectionsAreAllowed,
)
from odradek.sim.worlds.cluster.promises.progress import Recovery
from odradek.sim.worlds.cluster.promises.records import (
    AcknowledgedByEnough,
    InSyncReplicasHaveAll,
    LeadersHaveAll,
    LogsAreOneHistory,
)
from odradek.sim.worlds.cluster.promises.settings import SettingsAreOfTheTopic
from odradek.sim.worlds.cluster.promises.to_clients import (
    ClusterTellsOneStory,
    CommitsGoWithTheirTopic,
    DeletedRecordsStayDeleted,
    GrowthStays,
    TrimsHold,
)
from odradek.sim.worlds.cluster.roles import roles_in
from odradek.sim.worlds.cluster.state_notes import StateNotes
from odradek.sim.worlds.cluster.supervisor import Supervisor
from odradek.sim.worlds.cluster.swarm import misfortunes
from odradek.sim.worlds.cluster.view import ClusterView

CLIENTS: Final = "clients"
ACKNOWLEDGED: Final = "records.acknowledged"
STATIC: Final = ("member-2",)
BROKERS: Final = (3, 3, 3, 4, 5)  # one of these
SICK_MICROS: Final = 8 * SECOND
"""How long a broker goes on with a disk that has failed."""
RECOVERED: Final = frozenset({"client.acked", "client.read", "client.committed", "topic.made"})
FAILURES: Final = frozenset({"log_dir.offline", "log_dir.cannot_be_opened"})
OFFSETS: Final = "__consumer_offsets"
SETTINGS: Final[Mapping[str, str]] = {
    "default.replication.factor": "3",
    "min.insync.replicas": str(MIN_ISR),
    "offsets.topic.replication.factor": "3",
    # Clocks may show another day, and what is judged is kept for longer than they can differ.
    "log.retention.ms": "-1",
    "offsets.retention.minutes": "100000",
    "producer.id.expiration.ms": "2147483647",
    "replica.lag.time.max.ms": "4000",
    "replica.fetch.wait.max.ms": "1000",
    "controlled.shutdown.retry.backoff.ms": "200",
    "leader.imbalance.check.interval.seconds": "10",
    "replica.selector.class": RACK_AWARE,
}


class ClusterSimulation(Simulation):
    """The kind."""

    name: ClassVar = "cluster"
    fault_seconds: ClassVar = 40
    healing_seconds: ClassVar = 2
    floors: ClassVar = {"client.acked": 20, "client.end": 20, "topic.made": 1}
    floors_under_faults: ClassVar = {
        "client.acked": 8,
        "client.end": 2,
        "leader.changed": 1,
    }
    busy: ClassVar = {ACKNOWLEDGED: 500}
    floors_of_many: ClassVar = {
        "leader.changed": 100,
        "isr.changed": 150,
        "log.truncated": 5,
        "log.compacted": 5,
        "client.joined": 8,
        "client.committed": 40,
    }
    controls: ClassVar = KNOWN

    def __init__(self, world: World, control: str = "") -> None:
        super().__init__(world, control)
        chance = world.chance.stream("shape")
        numbers = range(1, 1 + BROKERS[chance.below(len(BROKERS))])
        self.zookeeper = zookeeper_of(world)
        self.candidates = draw_candidates(world.chance.stream("preferred"), numbers)
        self.differs = world.chance.stream("files").one_in(4)
        three = world.chance.stream("disks").one_in(4)
        self._disks = THREE_DISKS if three else DISKS  # of each broker
        self.brokers = {number: self._broker(number) for number in numbers}
        self.clients = world.machine(CLIENTS)
        view = ClusterView(self.zookeeper, self.brokers)
        lowest = {PLAIN: 1, "": 1 if self.differs else MIN_ISR}
        self.copies = Copies(view, world.history, synced=frozenset({SYNCED}), min_isr=lowest)
        self._bootstrap = [(name_of(it), port) for port in (PORT, OTHER_PORT) for it in numbers]
        users = Users(self._bootstrap, TOPICS, STATIC, RECORDS_MAX)
        self._users = ClusterClients(world, self.clients, users, view)
        StateNotes(view, world.history)
        Supervisor(world, self.zookeeper, self.brokers)
        world.history.watch(self._operate, {"log"})
        world.history.watch(self._count_acknowledged, {"client.acked", "key.acked"})
        world.history.watch(self._tell_of_loss, {"records.may_be_lost"})

    def _settings(self, number: int) -> Mapping[str, str]:
        said = {**SETTINGS, **self.candidates.settings(number), "broker.rack": f"rack-{number % 2}"}
        if self.differs:
            said["min.insync.replicas"] = str(1 + self.world.chance.stream(str(number)).below(2))
        return said

    def _second(self, number: int, name: str) -> BrokerMachine:
        """Another process with the id of a broker; it is not started again."""
        second = BrokerMachine(self.world, self._settings(number), number=number, name=name)
        second.disks = self._disks
        return second

    def _broker(self, number: int) -> BrokerMachine:
        started = partial(self.world.history.note, name_of(number), "broker.started")
        broker = broker_of(self.world, self._settings(number), number, started)
        broker.disks = self._disks
        broker.machine.reboots_after_failed_sync = True
        return broker

    def begin(self) -> None:
        """ZooKeeper first; brokers would wait for it anyway."""
        self.zookeeper.start()
        for broker in self.brokers.values():
            broker.start()
        self.clients.start(self._use)

    def is_warm(self) -> bool:
        """Everything is made, and used."""
        counts = self.world.history.counts
        return bool(counts["client.acked"] and counts["client.committed"])

    def faults(self) -> Sequence[Fault]:
        """All that brokers, ZooKeeper and clients can meet."""
        names = [broker.machine.name for broker in self.brokers.values()]
        brokers = (self.world, names)
        servers = (self.world, [ZOOKEEPER, *names])
        everybody = (self.world, [ZOOKEEPER, *names, CLIENTS])
        machines = list(self.brokers.values())
        hands = Hands(self.world, self._bootstrap)
        cluster = OfCluster(self.world, self.zookeeper, self.brokers, self.copies, hands)
        return (
            PowerCut(*servers),
            Kill(*servers),
            Pause(*servers),
            ClockJump(*everybody),
            WrongDay(*everybody),
            Cut(*everybody),
            BrokenConnections(*everybody),
            LostReplies(*everybody),
            SlowLinks(*everybody),
            SlowReceivers(*everybody),
            PowerCutInCall(*brokers),
            PassingDiskErrors(*brokers),
            SlowDisk(*brokers),
            PausedJob(*brokers),
            ReadOnlyDisk(*brokers),
            ColdCache(*brokers),
            FullDisk(*brokers),
            HangingWorkers(self.world, machines),
            WipedDisk(self.world, machines, self.copies),
            ControlledShutdown(self.world, machines),
            ExpiredSessions(self.world, self.zookeeper),
            JournalErrors(self.world, self.zookeeper.ledger),
            *misfortunes(cluster, self.world.chance, self._second),
        )

    def invariants(self) -> Sequence[Invariant]:
        """See `promises.insides` and `promises.to_clients`; some are those of a single broker."""
        return (
            ClusterTellsOneStory(self.copies),
            CommitsSurvive(),
            OldGenerationsCommitNothing(),
            GenerationsRise(),
            MembersShareNothing(),
            FullDisksStayOnline(),
            WhoHasRoomLeads(self.copies, lambda: self.is_calm),
            TopicsAreWhatTheyWereMade(),
            GrowthStays(self.copies.view),
            SettingsStay(),
            LogsAreOneHistory(),
            InSyncReplicasHaveAll(self.copies),
            LeadersHaveAll(self.copies),
            AcknowledgedByEnough(self.copies),
            OneLeaderInEachEpoch(self.copies),
            LeadersKnowTheIsr(self.copies),
            EpochsOnlyRise(self.copies),
            UncleanElectionsAreAllowed(),
            BoundsHoldEverywhere(self.copies),
            OneControllerInEachEpoch(self.copies),
            OnlyWhoMayIsTheController(self.copies, self.candidates),
            ThereIsAController(self.copies.view, self.candidates),
            TheControllerStays(self.copies.view),
            PastControllersWriteNothing(self.copies.view),
            ElectionsHaveAnEnd(),
            *(OneHomeEach(broker) for broker in self.brokers.values()),
            RequestsAreUnderstood(),
            AnswersKeepTheirBounds(),
            TimesAreFound(),
            TheLastOfEachKeyStays(),
            TrimsHold(),
            CommitsGoWithTheirTopic(),
            DeletedRecordsStayDeleted(self.copies),
            SettingsAreOfTheTopic(self.copies),
            ProducersAreToldOfNoGap(),
            SecondProcessesAreRefused(),
        )

    def knobs(self) -> Sequence[Knob]:
        """Only mistakes."""
        return knobs_of(self.control)

    # The operator

    def _count_acknowledged(self, event: Event) -> None:
        """Records, where the event is one of a batch."""
        records = len(event.details[3]) if event.what == "client.acked" else 1
        self.world.history.counts[ACKNOWLEDGED] += records

    def _tell_of_loss(self, event: Event) -> None:
        """What a group has committed is a record like others."""
        if event.details[0] == OFFSETS:
            self.world.history.note("world", "broker.lost_power")

    def _operate(self, event: Event) -> None:
        """A disk has failed: somebody has a look at it, and starts the broker again."""
        if event.details[1] not in FAILURES:
            return
        machine = self.world.machine(event.who)
        life = machine.lives

        def restart() -> None:
            if machine.lives == life:
                machine.kill()
                machine.start_if_down()

        self.world.after(SICK_MICROS, restart)

    # The end

    def recover(self) -> str:
        """Everything is as it should be, everybody is served, and everything can be read."""
        recovery = Recovery(self.world, self.copies.view, self.clients, self._bootstrap)
        return (
            recovery.stands_still()
            or recovery.is_not_served(RECOVERED)
            or self._is_unsettled(recovery)
            or recovery.waits()
            or recovery.is_restless()
        )

    def _is_unsettled(self, recovery: Recovery) -> str:
        """What somebody reads then is all that there is; but for a reader of a corrupt copy."""
        self._users.end_administration()
        complaint = recovery.is_unsettled()
        corrupt = {name.rpartition("-")[0] for name in self.copies.with_a_corrupt_copy()}
        if not complaint:
            self.world.ask(CLIENTS, self._users.audit(but=corrupt))
        return complaint

    def state(self) -> str:
        """What the cluster is like as a whole."""
        if not self.zookeeper.machine.running:
            return "no ZooKeeper"
        if not all(broker.machine.running for broker in self.brokers.values()):
            return "a broker down"
        if any(broker.machine.paused for broker in self.brokers.values()):
            return "a broker paused"
        if not all(broker.serves for broker in self.brokers.values()):
            return "a broker starting"
        whole = all(broker.is_whole for broker in self.brokers.values())
        return "all up" if whole else "a disk offline"

    @property
    def is_calm(self) -> bool:
        """Whether all that runs can reach each other."""
        return self.state() == "all up" and not self.world.wires.some_are_cut

    def roles(self) -> Mapping[str, Collection[str]]:
        """See `roles`."""
        return roles_in(self.copies.view, is_whole=self.state() == "all up")

    async def _use(self, machine: Machine) -> None:
        del machine
        await self._users.run()


KIND: Final = ClusterSimulation
