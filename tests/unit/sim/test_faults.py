"""What the faults of disks and of receivers do, and that they end."""

import pytest

from odradek.sim.disk_misfortunes import (
    BitRot,
    DiskErrors,
    FullDisk,
    OfDisks,
    ReadOnlyDisk,
    SlowDisk,
)
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.wires import WINDOW_BYTES
from odradek.sim.faults import SlowReceivers
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World

LOG = "orders-0/00000000000000000007.log"


def broker(world: World) -> Machine:
    """A machine with a segment on its disk."""
    machine = world.machine("broker")
    disk = machine.disk()
    disk.make_directory("orders-0")
    disk.open(LOG, create=True).write([b"0123456789"], 0)
    return machine


def bears_writes(machine: Machine) -> bool:
    """Whether some calls of each kind go well, and at once."""
    disk = machine.disk()
    waits: list[int] = []
    disk.faults.stall = waits.append
    try:
        for number in range(20):
            file = disk.open(f"other-{number}", create=True)
            file.write([bytes(1_000)], 0)
            file.read(1, 0)
            file.sync()
            file.truncate(0)
            disk.sync_directory("")
            disk.rename(f"other-{number}", f"another-{number}")
            disk.unlink(f"another-{number}")
    except OSError:
        return False
    return not waits


@pytest.mark.parametrize("fault", [DiskErrors, SlowDisk, ReadOnlyDisk, FullDisk])
def test_a_fault_of_a_disk_is_felt_until_it_heals(fault: type[OfDisks]) -> None:
    """Afterwards every kind of call goes well again, and at once."""
    world = World(seed=1)
    machine, harm = broker(world), fault(world, ["broker"])
    assert bears_writes(machine)
    felt = 0
    for number in range(10):
        assert harm.strike(SeededRandom(number, "harm")) is not None
        felt += not bears_writes(machine)
        harm.heal()
        for name in machine.disk().names(""):
            if name != "orders-0":
                machine.disk().unlink(name)
        assert bears_writes(machine)
    assert felt >= 3


def test_one_bit_of_a_segment_turns() -> None:
    """It is noted where, for whoever promises something of what is there."""
    world = World(seed=1)
    machine = broker(world)
    machine.disk().open("meta.properties", create=True).write([b"not a segment"], 0)
    assert BitRot(world, ["broker"]).strike(world.chance) == f"broker/disk {LOG}"
    name, path, position, bit = world.history.last["world"][-1].details
    assert (name, path) == ("broker/disk", LOG)
    expected = bytearray(b"0123456789")
    expected[position] ^= 1 << bit
    assert machine.disk().open(LOG).read(10, 0) == expected


def test_a_slow_receiver_becomes_as_fast_as_others() -> None:
    """Its window is small, and then as large as ever."""
    world = World(seed=1)
    fault = SlowReceivers(world, ["broker"])
    assert fault.strike(world.chance) is not None
    assert world.machine("broker").host.window_bytes < WINDOW_BYTES
    fault.heal()
    assert world.machine("broker").host.window_bytes == WINDOW_BYTES
