"""The machines of a cluster, whose processes start again soon after they end, as on real ones."""

from collections.abc import Callable, Mapping
from typing import Final

from odradek.ensemble.server import JournalFailed
from odradek.sim.doors.loop import SECOND
from odradek.sim.doors.medium import CrashRules
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ZooKeeperMachine

RESTART_MICROS: Final = SECOND


def zookeeper_of(world: World) -> ZooKeeperMachine:
    """A failed journal alone may end it."""

    def exited(error: BaseException | None) -> None:
        if isinstance(error, JournalFailed):
            world.after(RESTART_MICROS, zookeeper.machine.start_if_down)
        else:
            world.loop.fail(error or RuntimeError("ZooKeeper stopped by itself"))

    zookeeper = ZooKeeperMachine(world, on_exit=exited)
    return zookeeper


def broker_of(
    world: World,
    settings: Mapping[str, str],
    number: int,
    on_ready: Callable[[], None] = lambda: None,
) -> BrokerMachine:
    """A loss of power tears what was not synced."""
    broker = BrokerMachine(
        world,
        settings,
        number=number,
        on_ready=on_ready,
        on_exit=lambda: world.after(RESTART_MICROS + broker.absence, broker.machine.start_if_down),
    )
    broker.machine.crash_rules = CrashRules(page_bytes=512, tear_one_in=2, names_in_order=True)
    return broker
