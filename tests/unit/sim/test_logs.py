"""What the product logs is part of the history of a simulated world."""

import asyncio

import pytest
import structlog

from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World

log = structlog.get_logger()


def test_a_line_is_an_event_of_the_machine_that_logs_it() -> None:
    """Nothing is printed; only what prints alike in every run is kept."""

    async def work(machine: Machine) -> None:
        log.info("zookeeper.listens", port=2181, thing=object())

    with World(seed=1) as world:
        world.machine("server").start(work)
        world.run(seconds=1)
        log.warning("outside")

        assert [str(event).split()[1:] for event in world.history.last["server"]][1] == [
            "server", "log", "info", "zookeeper.listens", "port=2181",
        ]  # fmt: skip
        assert world.history.last["world"][-1].details == ("warning", "outside")


def test_a_mistake_that_the_product_survives_ends_the_world() -> None:
    """It has a trace; nobody would see it in a world that goes on."""

    async def work(machine: Machine) -> None:
        try:
            assert machine.lives > 1, "a mistake"
        except AssertionError as error:
            log.error("request.failed", exc_info=error)

    with World(seed=1) as world:
        world.machine("server").start(work)
        with pytest.raises(AssertionError, match="a mistake"):
            world.run(seconds=1)


def test_afterwards_logging_is_as_before() -> None:
    """Whatever was configured is configured again."""
    before = structlog.get_config()
    with World(seed=1):
        assert structlog.get_config() != before
    assert structlog.get_config() == before


def test_what_is_said_while_a_world_is_taken_down_is_no_fact(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Tasks that still wait run to their end then: nobody hears of it, nothing is printed."""

    async def work(machine: Machine) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            log.info("too.late")

    world = World(seed=1)
    with world:
        world.machine("server").start(work)
        world.run(seconds=1)
        count = world.history.count
    assert world.history.count == count
    assert capsys.readouterr().out == ""
