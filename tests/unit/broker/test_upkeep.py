"""What is done in the background, while topics come and go."""

import asyncio

import pytest

from odradek.broker.replicas import Replicas
from odradek.broker.upkeep import Upkeep
from odradek.model.ids import TopicPartition
from odradek.sim.worker import SimulatedWorker
from tests.unit.broker.ground import Ground, word

SOON = {
    "log.segment.delete.delay.ms": "1",
    "log.retention.check.interval.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
}
MANY = [TopicPartition(f"topic-{number:02}", 0) for number in range(24)]


async def be_slow(worker: object) -> None:
    """A job, and then nothing for a while."""
    assert isinstance(worker, SimulatedWorker)
    while True:
        worker.hang()
        await asyncio.sleep(0.005)
        worker.go_on()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_log_that_is_deleted_while_a_round_is_under_way_is_left_alone(policy: str) -> None:
    """Its files are gone, which must not look like a disk that has lost them."""

    async def talk(replicas: Replicas) -> None:
        await replicas.become([word(partition) for partition in MANY])
        async with asyncio.TaskGroup() as tasks:
            clock = ground.machine.clock
            running = Upkeep(replicas, ground.settings, clock).start(tasks)
            await asyncio.sleep(0.99)
            running += [tasks.create_task(be_slow(it)) for it in replicas.workers.values()]
            await replicas.stop(dict.fromkeys(MANY[12:], True))
            await asyncio.sleep(1)
            for task in running:
                task.cancel()
        for worker in replicas.workers.values():
            assert isinstance(worker, SimulatedWorker)
            worker.go_on()
        assert [log_dir.name for log_dir in replicas.dirs.dirs if log_dir.is_offline] == []

    configs = {partition.topic: {"cleanup.policy": policy} for partition in MANY}
    with Ground(SOON, **configs) as ground:
        ground.live(talk)
