"""What a log is made of is touched by its holder alone; a world ends with a touch by another."""

import asyncio
from functools import partial

import pytest

from odradek.broker.jobs import off_loop
from odradek.broker.partitions.log_maintenance import LogMaintenance
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.model.positions import Offset
from odradek.model.units import Timestamp
from odradek.sim.doors.lending import Trespass
from odradek.storage.logs.retention import deletable_up_to
from odradek.storage.logs.view import LogView
from tests.unit.broker.ground import (
    ORDERS,
    Appender,
    Ground,
    Talk,
    batch_of,
    pausing,
    until,
    word,
)


def live(talk: Talk, settings: dict[str, str] | None = None) -> None:
    """One life, to its end."""
    with Ground(settings) as ground:
        ground.live(talk)


def test_a_job_may_touch_what_is_lent_to_it_and_nothing_else() -> None:
    """A view is its own."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found = replicas.led(ORDERS).log
        worker, now = replicas.logs.worker_of(found), Timestamp(0)
        await off_loop(worker, partial(deletable_up_to, LogView(found), now), of=found)
        await off_loop(worker, partial(deletable_up_to, found, now), lent=[found])
        await off_loop(worker, partial(deletable_up_to, found, now), of=found)

    with pytest.raises(Trespass, match="segments"):
        live(talk)


def test_the_loop_leaves_alone_what_is_lent() -> None:
    """From the submission of the job to its end."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found = replicas.led(ORDERS).log
        cut = asyncio.create_task(replicas.logs.truncate(found, Offset(0)))
        await until(lambda: found.lent_to is not None)
        assert found.size == 0
        with pytest.raises(Trespass, match="the loop touches"):
            found.producers.expire(0, 0)
        await cut
        found.producers.expire(0, 0)

    live(talk)


def test_the_tables_of_a_dir_are_the_loops() -> None:
    """A job has what it needs of them handed to it."""

    async def talk(replicas: ReplicaManager) -> None:
        (log_dir, _) = replicas.dirs.dirs
        await off_loop(replicas.logs.workers[log_dir.name], lambda: len(log_dir.futures))

    with pytest.raises(Trespass, match="futures"):
        live(talk)


def test_retention_leaves_alone_a_log_that_is_being_cut() -> None:
    """Silent producers are forgotten later."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found, appender = replicas.led(ORDERS).log, Appender(replicas.led(ORDERS))
        appender.append(batch_of("a", producer_id=7, base_sequence=0))
        appender.append(batch_of("b"))
        await asyncio.sleep(0.1)
        assert len(found.producers.entries) == 1
        (row, _) = rows = pausing(ground.machine, "truncate", path="orders-0/*.log")
        row.pause = rows[1].pause = 5_000_000
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, ground.machine.clock, tasks).start()
            await asyncio.sleep(0.5)
            await replicas.logs.truncate(found, Offset(1))
            await asyncio.sleep(2)
            for task in running:
                task.cancel()
        assert any(row.hits for row in rows)
        assert len(found.producers.entries) == 0

    soon = {"log.retention.check.interval.ms": "1000", "producer.id.expiration.ms": "1"}
    with Ground(soon) as ground:
        ground.live(talk)
