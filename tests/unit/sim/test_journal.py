"""A simulated journal loses exactly what was not synced, and fails when told to."""

import pytest

from odradek.ports import Entry
from odradek.sim.doors.journal import Ledger, SimulatedJournal
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World


def entry(zxid: int) -> Entry:
    """A transaction."""
    return Entry(zxid, b"%d" % zxid)


def test_a_crash_keeps_exactly_what_was_synced() -> None:
    """At every moment of the commit: before it nothing is there, after it everything is."""
    found = set()
    for millis in range(16):
        with World(seed=1) as world:
            ledger = Ledger()
            answered: list[int] = []
            server = world.machine("server")

            async def append(
                machine: Machine, ledger: Ledger = ledger, answered: list[int] = answered
            ) -> None:
                journal = SimulatedJournal(ledger, machine.clock, machine.random)
                await journal.append([entry(1), entry(2)])
                answered.append(2)
                await machine.clock.sleep_until(machine.clock.monotonic())

            server.start(append)
            world.run(millis=millis)
            server.cut_power()
            world.run(seconds=1)
            found.add((ledger.last_zxid, len(ledger.entries), bool(answered)))
    assert found == {(0, 0, False), (2, 2, False), (2, 2, True)}


def test_a_failed_commit_may_have_been_written() -> None:
    """The error is the same; whoever restarts finds out."""
    for written in (False, True):
        with World(seed=1) as world:
            ledger = Ledger()
            ledger.fail_next(written=written)

            async def append(machine: Machine, ledger: Ledger = ledger) -> None:
                journal = SimulatedJournal(ledger, machine.clock, machine.random)
                with pytest.raises(OSError, match="Input/output"):
                    await journal.append([entry(1)])

            world.machine("server").start(append)
            world.run(seconds=1)
            assert ledger.last_zxid == int(written)


def test_a_snapshot_that_was_not_finished_does_not_count() -> None:
    """A crash between two of its pieces leaves the old one and every entry."""
    with World(seed=1) as world:
        ledger = Ledger()
        server = world.machine("server")

        async def take(machine: Machine) -> None:
            journal = SimulatedJournal(ledger, machine.clock, machine.random)
            await journal.append([entry(1)])
            await journal.snapshot(1, (b"row" for _ in range(1_000)))

        server.start(take)
        world.run(millis=300)
        assert server.running
        server.cut_power()
        assert (ledger.rows, ledger.entries) == ([], [entry(1)])
