"""How brokers end and begin: by what they say themselves, whatever clients and ZooKeeper do."""

from contextlib import suppress
from typing import Any

import pytest
from structlog.testing import capture_logs

from odradek.metadata.znodes.broker import BrokerIdsZnode
from odradek.model.errors import BrokerError
from odradek.model.ids import BrokerId
from odradek.model.units import Millis
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.zookeeper.protocol.codes import Permission
from odradek.zookeeper.protocol.jute import ANYONE, OPEN_ACL, Acl

SESSION = 18_000
TRANSACTION = 1
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
def test_a_broker_that_ends_follows_the_controller(seed: int) -> None:
    """The one that it has asked hangs: the next one is asked as soon as there is one."""
    with ClusterScenario(seed) as t:
        controller = t.controller()
        assert controller is not None
        ending = t.others(controller)[0].number
        t.operator().places("orders", (ending, *(it for it in t.brokers if it != ending)))
        t.broker(controller).machine.pause()
        assert end(t, ending) < SESSION + 2_000
        (left,) = [it for it in t.brokers if it not in {controller, ending}]
        assert t.leader("orders") == left


def test_a_controller_that_does_not_answer_is_not_waited_for_longer(t: ClusterScenario) -> None:
    """It lives for ZooKeeper, so that there will be no other; each second says what is awaited."""
    controller = t.controller()
    assert controller is not None
    ending = t.others(controller)[0].number
    t.cut(ending, controller)
    with capture_logs() as events:
        assert 20_000 < end(t, ending) < 35_000
    said = [it for it in events if it["event"] == "broker.stop_waits"]
    assert [it["millis"] for it in said[:20]] == [1_000 * it for it in range(1, 21)]
    assert {it["waits_for"] for it in said[:20]} == {"others to take over"}


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


def test_a_tree_that_it_may_not_write_ends_a_start_at_once(t: ClusterScenario) -> None:
    """ZooKeeper has answered: to wait for another answer would hide a mistake of an operator."""
    t.broker(3).stop()
    keeper = t.keeper("a person")
    may_read = (Acl(Permission.READ | Permission.ADMIN, ANYONE),)
    keeper.does(keeper.zookeeper.set_acl(BrokerIdsZnode.PATH, may_read))
    begun = t.world.loop.time()
    t.broker(3).begin()
    t.wait_until(lambda: not t.broker(3).machine.running, "it ends")
    assert t.world.loop.time() - begun < 5
    keeper.does(keeper.zookeeper.set_acl(BrokerIdsZnode.PATH, OPEN_ACL))
    t.broker(3).start()


@pytest.mark.parametrize("seed", range(1, 4))
def test_an_end_waits_for_no_leader_that_takes_no_marker(seed: int) -> None:
    """The next coordinator sends it the marker: what was decided stands in the log."""
    of_log = {"num.partitions": "1", "replication.factor": "1", "min.isr": "1"}
    settings = {f"transaction.state.log.{name}": value for name, value in of_log.items()}
    settings[BACKOFF] = "200"
    with ClusterScenario(seed, settings=settings) as t:
        shop, operator = t.client("shop"), t.operator()
        wanted = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["copier"])

        async def ask(broker: int | None, request: Any, version: int) -> Any:
            cluster = shop.cluster
            known = await (cluster.any() if broker is None else cluster.broker(BrokerId(broker)))
            return await known.ask(request, version)

        def found() -> Any:
            (answer,) = shop.does(ask(None, wanted, 4)).coordinators
            return answer

        t.wait_until(lambda: not found().error_code, "there is a coordinator")
        coordinator = t.broker(found().node_id)
        deaf = next(it for it in t.others(coordinator.number) if it.number != t.controller())
        operator.places("orders", (deaf.number,), min_insync_replicas="1")

        def has_me() -> Any:
            answer = shop.does(ask(coordinator.number, InitProducerIdRequest("copier", 60_000), 4))
            return answer if not answer.error_code else None

        t.wait_until(has_me, "the coordinator serves")
        me = has_me()
        topics = [AddPartitionsToTxnTopic("orders", [0])]
        identity = ("copier", me.producer_id, me.producer_epoch)
        shop.does(ask(coordinator.number, AddPartitionsToTxnRequest((), *identity, topics), 3))
        deaf.machine.pause()
        ended = shop.does(ask(coordinator.number, EndTxnRequest(*identity, committed=True), 3))
        assert not ended.error_code
        assert end(t, coordinator.number) < 5_000
        deaf.machine.resume()
