"""Machines live, are paused, die and come back; nobody runs on after their death."""

import asyncio

import pytest

from odradek.model.units import Millis
from odradek.ports import Receiver, Stream
from odradek.sim.doors.disk_faults import Fault, PowerLost
from odradek.sim.doors.medium import CrashRules
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World


def _never(_: Stream) -> Receiver:
    raise AssertionError


def _is_running(machine: Machine) -> bool:
    return machine.running


class Diary:
    """A programme that writes down each second, and whatever it is still able to do at its end."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def keep(self, machine: Machine) -> None:
        """Runs until it is stopped."""
        file = machine.disk().open("diary", create=True)
        try:
            while True:
                await asyncio.sleep(1)
                file.write([b"x"], file.size())
                self.lines.append(f"{machine.clock.monotonic() % 100_000}")
        except asyncio.CancelledError:
            self.lines.append("cancelled")
            raise
        finally:
            self.lines.append("finally")


def test_the_dead_do_not_run_their_finally() -> None:
    """Neither `except` nor `finally` of a killed programme runs while the world goes on."""
    diary = Diary()
    with World(seed=1) as world:
        server = world.machine("server")
        server.start(diary.keep)
        world.run(seconds=2)
        server.kill()
        world.run(seconds=10)
        assert diary.lines == ["1000", "2000"]
        assert not server.running


def test_a_killed_process_leaves_what_it_wrote() -> None:
    """The next life finds every byte, without any sync."""
    with World(seed=1) as world:
        server = world.machine("server")
        server.start(Diary().keep)
        world.run(seconds=3)
        server.kill()
        assert server.disk().size("diary") == 3
        server.start()
        world.run(seconds=1)
        assert server.disk().size("diary") == 4


def test_a_power_cut_takes_what_was_not_synced() -> None:
    """Over many seeds the unsynced file is found short, and is found missing."""
    sizes = set()
    for seed in range(20):
        with World(seed=seed) as world:
            server = world.machine("server")
            server.start(Diary().keep)
            world.run(seconds=3)
            server.crash_rules = CrashRules(page_bytes=4)
            server.cut_power()
            disk = server.disk()
            sizes.add(disk.size("diary") if disk.exists("diary") else None)
    assert sizes > {None, 0, 3}


def test_a_machine_stops_in_the_middle_of_a_call() -> None:
    """At the n-th change of its disk: the call does not return, and nothing comes after it."""
    diary = Diary()
    with World(seed=1) as world:
        server = world.machine("server")
        server.disk().faults.crash_at_change = 3
        server.start(diary.keep)
        world.run(seconds=10)
        assert not server.running
        assert diary.lines == ["1000", "finally"]
        server.disk().faults.crash_at_change = None
        server.start()
        world.run(seconds=1)
        assert server.running


def test_a_machine_stops_at_a_call_of_a_kind() -> None:
    """Before the call has had any effect; the next life meets it no more."""
    diary = Diary()
    with World(seed=1) as world:
        server = world.machine("server")
        calls = frozenset({"write"})
        server.disk().faults.rows.append(Fault(calls=calls, skip=1, times=1, stops=True))
        server.start(diary.keep)
        world.run(seconds=10)
        assert not server.running
        assert diary.lines == ["1000", "finally"]
        server.start()
        world.run(seconds=10)
        assert server.running


def test_the_doors_of_the_dead_are_shut() -> None:
    """Whoever kept a door of an earlier life cannot open it any more."""
    with World(seed=1) as world:
        server = world.machine("server")
        server.start(Diary().keep)
        world.run(seconds=1)
        disk, network = server.disk(), server.network
        server.kill()
        with pytest.raises(PowerLost):
            disk.names("")
        with pytest.raises(PowerLost):
            world.loop.run_until_complete(network.listen(("", 1), _never))


def test_a_paused_machine_is_late_for_everything() -> None:
    """Nothing happens while it is paused; then all timers that were due fire, in order."""
    diary = Diary()
    with World(seed=1) as world:
        server = world.machine("server")
        server.start(diary.keep)
        world.run(seconds=1)
        server.pause()
        server.pause()
        world.run(seconds=9)
        assert diary.lines == ["1000"]
        server.resume()
        server.resume()
        world.run(seconds=1)
        assert diary.lines == ["1000", "10000", "11000"]


def test_a_slow_disk_keeps_its_machine_busy() -> None:
    """The call of one second delays everything else of that machine, and nothing elsewhere."""
    slow, quick = Diary(), Diary()
    with World(seed=1) as world:
        server = world.machine("server")
        server.disk().faults.rows.append(
            Fault(0, calls=frozenset({"write"}), delay=Millis(1_500), times=1)
        )
        server.start(slow.keep)
        world.machine("other").start(quick.keep)
        world.run(seconds=4)
        assert quick.lines == ["1000", "2000", "3000", "4000"]
        assert slow.lines == ["1000", "2500", "3500"]


def test_clocks_drift_are_skewed_and_jump() -> None:
    """The monotonic clock only drifts, the wall clock does all three; sleep follows the first."""
    with World(seed=1) as world:
        server, other = world.machine("server"), world.machine("other")
        server.clock.drift = 1_000
        began = server.clock.monotonic(), server.clock.wall()
        assert abs(began[0] - other.clock.monotonic()) > 1_000_000

        async def sleep(machine: Machine) -> None:
            await machine.clock.sleep_until(Millis(machine.clock.monotonic() + 100_000))
            await asyncio.sleep(100)

        server.start(sleep)
        world.run(seconds=199)
        assert _is_running(server)
        world.run(seconds=1)
        assert not _is_running(server)
        assert server.clock.monotonic() - began[0] == 200_200
        server.clock.skew = -3_600_000_000
        assert server.clock.wall() - began[1] == 200_200 - 3_600_000


def test_a_programme_that_fails_is_a_finding() -> None:
    """Unless somebody expects it, its error ends the run."""

    async def fail(_: Machine) -> None:
        await asyncio.sleep(1)
        raise KeyError("ours")

    with World(seed=1) as world:
        server = world.machine("server")
        server.start(fail)
        with pytest.raises(KeyError, match="ours"):
            world.run(seconds=2)
        assert not server.running
        ends: list[BaseException | None] = []
        server.start(fail, ends.append)
        world.run(seconds=2)
        assert [type(end) for end in ends] == [KeyError]


def test_a_dead_machine_is_not_woken_by_others() -> None:
    """A future that another machine completes wakes nobody in a life that is over."""
    diary: list[str] = []
    with World(seed=1) as world:
        future: asyncio.Future[None] = world.loop.create_future()

        async def wait(_: Machine) -> None:
            await future
            diary.append("woken")

        async def wake(_: Machine) -> None:
            await asyncio.sleep(2)
            future.set_result(None)

        world.machine("server").start(wait)
        world.machine("other").start(wake)
        world.run(seconds=1)
        world.machine("server").kill()
        world.run(seconds=5)
        assert diary == []
