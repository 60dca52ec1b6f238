"""Logs on two disks of one machine that crashes, whose disks fail, fill up and are slow."""

from collections.abc import Sequence
from typing import ClassVar, Final

from odradek.sim.disk_misfortunes import BitRot, DiskErrors, FullDisk, ReadOnlyDisk, SlowDisk
from odradek.sim.doors.medium import CrashRules
from odradek.sim.faults import Fault, Kill, Pause, PowerCut
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.simulation import Knob, Simulation
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.log import ledger_promises
from odradek.sim.worlds.log.faults import PowerCutTwice
from odradek.sim.worlds.log.keeper import PARTITIONS, Keeper, Producer
from odradek.sim.worlds.log.keeper_transactions import draw_ledgers
from odradek.sim.worlds.log.mistakes import MISTAKES
from odradek.sim.worlds.log.promises import (
    AcknowledgedRecordsSurvive,
    BoundsHold,
    DisksFailAlone,
    NothingIsInvented,
    ProducersAreRemembered,
    RotIsSeen,
)

BROKER: Final = "broker"
RESTART_MICROS: Final = 1_000_000
RECOVERY_ROUNDS: Final = 4
LEDGERS: Final = "ledgers 383"
"""Of chance; so named that the seeds that were kept from before there were any draw none, and tell
what they told."""


class LogSimulation(Simulation):
    """The kind."""

    name: ClassVar = "log"
    fault_seconds: ClassVar = 40
    healing_seconds: ClassVar = 15
    floors: ClassVar = {"log.acked": 50, "log.found": 10}
    controls: ClassVar = tuple(MISTAKES)

    def __init__(self, world: World, control: str = "") -> None:
        super().__init__(world, control)
        self.broker = world.machine(BROKER)
        self.broker.crash_rules = CrashRules(page_bytes=512, tear_one_in=2, names_in_order=True)
        self.broker.reboots_after_failed_sync = True
        self.producers = {
            partition: Producer(number) for number, partition in enumerate(PARTITIONS, start=1)
        }
        self.ledgers = draw_ledgers(world.chance.stream(LEDGERS))
        world.history.watch(self._harmed, {"rot", "loses power"})

    def begin(self) -> None:
        """The only machine."""
        self.broker.start(self._keep, self._exited)

    def faults(self) -> Sequence[Fault]:
        """All that concerns disks."""
        here = (self.world, (BROKER,))
        return (
            PowerCut(*here),
            Kill(*here),
            Pause(*here),
            DiskErrors(*here),
            SlowDisk(*here),
            ReadOnlyDisk(*here),
            FullDisk(*here),
            BitRot(*here),
            *([PowerCutTwice(*here)] if self.ledgers else ()),
        )

    def invariants(self) -> Sequence[Invariant]:
        """See `promises`."""
        return (
            BoundsHold(),
            AcknowledgedRecordsSurvive(),
            NothingIsInvented(),
            ProducersAreRemembered(),
            RotIsSeen(),
            DisksFailAlone(),
            *(promise(self.ledgers) for promise in ledger_promises.ALL),
        )

    def knobs(self) -> Sequence[Knob]:
        """Only mistakes."""
        return (MISTAKES[self.control],) if self.control else ()

    def recover(self) -> str:
        """After a last start every log is there, and takes records."""
        history = self.world.history
        self.broker.kill()
        self.broker.start()
        served: dict[str, int] = {}
        history.watch(lambda event: served.update({str(event.details[0]): 1}), {"log.acked"})
        missing = [str(partition) for partition in PARTITIONS]
        for _ in range(RECOVERY_ROUNDS):
            self.world.run(seconds=10)
            missing = [it for it in missing if it not in served]
            if not missing:
                break
        return f"nothing was acknowledged by {missing}" if missing else ""

    def state(self) -> str:
        """How many disks serve."""
        if not self.broker.running:
            return "broker down"
        return "broker paused" if self.broker.paused else "broker up"

    async def _keep(self, machine: Machine) -> None:
        await Keeper(self.world, machine, self.producers, self.ledgers).run()

    def _harmed(self, event: Event) -> None:
        """What was promised of the ledgers may be lost, or all of one."""
        for partition, ledger in self.ledgers.items():
            if event.what == "loses power":
                ledger.loses_power()
            elif event.details[1].startswith(f"{partition}/"):
                ledger.is_spoilt = True

    def _exited(self, error: BaseException | None) -> None:
        """A broker without disks stops by itself; somebody starts it again."""
        if error is None:
            self.world.after(RESTART_MICROS, self.broker.start_if_down)
        else:
            self.world.loop.fail(error)


KIND: Final = LogSimulation
