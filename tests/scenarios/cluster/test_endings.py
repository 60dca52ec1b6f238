"""How brokers end and begin: by what they say themselves, whatever clients and ZooKeeper do."""

from contextlib import suppress

import pytest

from odradek.model.errors import BrokerError
from odradek.model.units import Millis
from odradek.sim.broker_machine import BrokerMachine
from odradek.sim.cluster_scenario import ClusterScenario
from odradek.sim.zookeeper_machine import ZOOKEEPER
from odradek.wire.messages.delete_topics import DeleteTopicsRequest

BACKOFF = "controlled.shutdown.retry.backoff.ms"


def end(t: ClusterScenario, *numbers: int) -> Millis:
    """All of these at once; how long until the last has ended."""
    begun = t.world.loop.time()
    machines = []
    for number in numbers:
        process = t.broker(number).process
        assert process.broker is not None
        process.broker.stop()
        machines.append(process.machine)
    t.wait_until(lambda: not any(it.running for it in machines), "they end")
    return Millis(int(1_000 * (t.world.loop.time() - begun)))


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("how", ["killed", "cut off"])
def test_without_zookeeper_nobody_is_waited_for(seed: int, how: str) -> None:
    """Nobody can be elected, however often the controller is asked; the next start finds all."""
    with ClusterScenario(seed, settings={BACKOFF: "5000"}) as t:
        shop = t.client("shop")
        shop.make("orders", partitions=4)
        shop.produce("orders", "a")
        if how == "killed":
            t.zookeeper.machine.kill()
        else:
            for number in t.brokers:
                t.cut(ZOOKEEPER, number)
                t.cut(number, ZOOKEEPER)
            t.run(seconds=7)
        assert end(t, *t.brokers) < 10_000
        t.heal()
        if how == "killed":
            t.zookeeper.start()
        for number in t.brokers:
            t.broker(number).begin()
        t.wait_until(lambda: all(it.process.serves for it in t.brokers.values()), "all serve")
        assert shop.read("orders") == ["a"]


@pytest.mark.parametrize("seed", range(1, 11))
def test_brokers_that_all_end_do_not_wait_for_each_other(seed: int) -> None:
    """None of them can take over what another leads."""
    with ClusterScenario(seed, settings={BACKOFF: "5000"}) as t:
        shop = t.client("shop")
        shop.make("orders", partitions=4)
        shop.produce("orders", "a")
        assert end(t, *t.brokers) < 10_000


@pytest.mark.parametrize("seed", range(1, 6))
def test_no_client_decides_how_long_a_broker_takes_to_end(seed: int) -> None:
    """What it was asked before it resigned may be done by the next controller: they are told."""
    with ClusterScenario(seed) as t:
        controller = t.controller()
        assert controller is not None
        shop = t.client("shop")
        names = [f"orders-{it}" for it in range(20)]
        for name in names:
            shop.make(name)

        async def delete(name: str) -> None:
            request = DeleteTopicsRequest(topic_names=[name], timeout_ms=60_000)
            with suppress(BrokerError):
                await (await shop.cluster.controller()).ask(request, 5)

        process = t.broker(controller).process
        assert process.broker is not None
        process.broker.stop()
        begun, asked = t.world.loop.time(), []
        for name in names:
            asked.append(shop.begins(delete(name)))
            t.world.run(millis=3)
        t.wait_until(lambda: not process.machine.running, "it ends")
        assert t.world.loop.time() - begun < 2
        t.wait_until(lambda: all(it.done() for it in asked), "everybody was answered")


def test_a_start_waits_for_zookeeper(t: ClusterScenario) -> None:
    """After the power was away it may come later than the brokers; a stop is heard meanwhile."""
    for number in t.brokers:
        t.broker(number).kill()
    t.zookeeper.machine.kill()
    for number in t.brokers:
        t.broker(number).begin()
    t.run(seconds=60)
    assert all(it.machine.running for it in t.brokers.values())
    assert end(t, 3) < 2_000
    t.zookeeper.start()
    t.wait_until(lambda: all(t.broker(it).process.serves for it in (1, 2)), "they serve")


def test_a_number_in_use_ends_a_start_at_once() -> None:
    """It answers, so it is not what a dead process has left."""
    with ClusterScenario(settings={"zookeeper.session.timeout.ms": "30000"}) as t:
        twin = BrokerMachine(t.world, number=2, name="twin")
        begun = t.world.loop.time()
        twin.start()
        t.wait_until(lambda: not twin.machine.running, "it ends")
        assert t.world.loop.time() - begun < 5
        assert t.broker(2).process.serves
