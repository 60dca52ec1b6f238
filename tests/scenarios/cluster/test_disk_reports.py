"""How a controller learns which replicas of a broker are offline, whenever their dir fails.

A broker says in every answer to LeaderAndIsr which of its replicas are offline, and a controller
asks it for all of them when it begins, when the broker registers, and when a notification says that
something has changed. Here the dir of a follower fails in between: no producer finds that out.
"""

from functools import partial

import pytest

from odradek.metadata.znodes.admin import LogDirEventZnode
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker
from odradek.sim.scenarios.operator import Operator
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from tests.scenarios.cluster.test_hand_over_points import POINTS, HandOver


def offline_replicas(shop: Operator) -> list[int]:
    """Those that are in a dir that has failed, or on a broker that is gone."""
    cluster = shop.cluster
    (found,) = shop.does(cluster.patiently(partial(cluster.refresh, ["orders"]))).topics
    return sorted(found.partitions[0].offline_replicas)


def notifications(t: ClusterScenario) -> list[str]:
    """Those that no controller has worked off."""
    keeper = t.keeper("reader")
    names: list[str] = keeper.does(keeper.zookeeper.children(LogDirEventZnode.PARENT))[0]
    return names


def follower_apart(t: ClusterScenario, shop: Operator) -> NumberedBroker:
    """It follows a partition, and is not the controller."""
    shop.make("orders")
    shop.produce("orders", "a")
    t.await_isr("orders", 1, 2, 3)
    apart = {*t.followers("orders")} - {t.controller()}
    return t.broker(min(apart))


def fails(t: ClusterScenario, broker: NumberedBroker) -> str:
    """The dir of its replica; an operator takes it offline, so it needs no access to be found."""
    disk = broker.disk_of("orders")
    assert broker.process.broker is not None
    services = broker.process.broker.services_of_this_life

    async def goes_offline() -> None:
        services.dir_admin.set_offline(broker.path_of(disk))

    t.world.ask(broker.machine.name, goes_offline())
    return disk


def test_a_dir_fails_while_there_is_no_controller(t: ClusterScenario) -> None:
    """The next one drops the notification, and asks every broker for all of its replicas."""
    shop = t.operator()
    broker = follower_apart(t, shop)
    controller = t.controller()
    assert controller is not None
    t.broker(controller).kill()
    for other in t.others(controller):
        t.cut(other.number, ZOOKEEPER)
    assert t.controller() is None or t.controller() == controller
    fails(t, broker)
    t.run(seconds=1)
    t.heal()
    t.wait_until(lambda: broker.number in offline_replicas(shop), "it is told")
    assert t.controller() not in {None, controller}
    t.wait_until(lambda: not notifications(t), "the notification is gone")


def test_a_dir_fails_while_its_broker_cannot_write_the_notification(t: ClusterScenario) -> None:
    """It is written once the session goes on."""
    shop = t.operator()
    broker = follower_apart(t, shop)
    t.cut(broker.number, ZOOKEEPER)
    fails(t, broker)
    t.run(seconds=1)
    assert offline_replicas(shop) == []
    t.heal()
    t.wait_until(lambda: offline_replicas(shop) == [broker.number], "it is told")


def test_nobody_knows_whether_the_notification_was_written(t: ClusterScenario) -> None:
    """The answer of ZooKeeper is lost: it is written again; a second one does no harm."""
    shop = t.operator()
    broker = follower_apart(t, shop)
    t.cut(ZOOKEEPER, broker.number)
    fails(t, broker)
    t.wait_until(lambda: offline_replicas(shop) == [broker.number], "it is told")
    t.heal()
    t.run(seconds=5)
    assert notifications(t) == []
    assert offline_replicas(shop) == [broker.number]


def test_the_session_of_the_notification_expires(t: ClusterScenario) -> None:
    """The broker registers again, and answers the first LeaderAndIsr of its next life."""
    shop = t.operator()
    broker = follower_apart(t, shop)
    t.cut(broker.number, ZOOKEEPER)
    t.cut(ZOOKEEPER, broker.number)
    fails(t, broker)
    t.run(seconds=10)
    path = BrokerZnode.path(BrokerId(broker.number))
    assert t.data(path) is None
    t.heal()
    t.wait_until(lambda: t.data(path) is not None, "it registers again")
    t.run(seconds=5)
    assert offline_replicas(shop) == [broker.number]


def test_a_dir_fails_between_registration_and_the_first_request(t: ClusterScenario) -> None:
    """The answer to that request tells of it: what is missing may be in the dir that failed."""
    shop = t.operator()
    broker = follower_apart(t, shop)
    controller = t.controller()
    assert controller is not None
    broker.stop()
    t.cut(controller, broker.number)
    broker.begin()
    t.run(seconds=2)
    fails(t, broker)
    t.run(seconds=1)
    t.heal()
    t.wait_until(lambda: offline_replicas(shop) == [broker.number], "it is told")


def fails_unanswered(t: ClusterScenario, shop: Operator) -> tuple[NumberedBroker, int]:
    """A follower's dir; the controller has worked the notification off, and hears no answer."""
    broker = follower_apart(t, shop)
    controller = t.controller()
    assert controller is not None
    t.cut(broker.number, controller)
    fails(t, broker)
    t.wait_until(lambda: not notifications(t), "the notification is worked off")
    return broker, controller


def test_the_answer_to_the_controller_is_lost(t: ClusterScenario) -> None:
    """The notification is worked off by then: the request is repeated until it is answered."""
    shop = t.operator()
    broker, _controller = fails_unanswered(t, shop)
    t.run(seconds=1)
    assert offline_replicas(shop) == []
    t.heal()
    t.wait_until(lambda: offline_replicas(shop) == [broker.number], "it is told")


def test_the_controller_dies_before_it_is_answered(t: ClusterScenario) -> None:
    """The notification is gone with it, and the next one asks anyway."""
    shop = t.operator()
    broker, controller = fails_unanswered(t, shop)
    t.broker(controller).kill()
    t.heal()
    expected = sorted({broker.number, controller})
    t.wait_until(lambda: offline_replicas(shop) == expected, "it is told")


@pytest.mark.parametrize("point", POINTS)
def test_a_dir_fails_while_the_controller_is_handed_over(point: str) -> None:
    """Whichever of the two hears of it, the new one knows in the end."""
    with ClusterScenario(4) as t:
        shop = t.operator()
        follower_apart(t, shop)
        hand_over = HandOver(t)
        hand_over.comes_to(point)
        fails(t, t.broker(hand_over.third))
        t.wait_until(lambda: t.acts() == [hand_over.new], "it is handed over")
        t.wait_until(lambda: offline_replicas(shop) == [hand_over.third], "it is told")
        t.run(seconds=5)
        assert offline_replicas(shop) == [hand_over.third]
        assert notifications(t) == []


def test_a_log_in_a_replaced_dir_is_whole_after_a_kill(t: ClusterScenario) -> None:
    """What it has was in the page cache, which is the machine's: only its power takes that."""
    shop = t.operator()
    broker = follower_apart(t, shop)
    process = broker.process.broker
    assert process is not None
    disk = fails(t, broker)
    t.wait_until(lambda: broker.number not in t.state("orders").isr, "it leaves the ISR")
    broker.process.machine.disks[disk].exchange()
    shop.does(process.services_of_this_life.dir_admin.replace(broker.path_of(disk)))
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=1)  # it hears so, and notes that
    broker.kill()
    broker.start()
    found = broker.log("orders")
    assert found is not None
    assert found.unclean is None
