"""Preferred brokers: who is the controller when some, or none, of them live."""

from collections.abc import Callable, Mapping

import pytest

from odradek.client.admin import admin
from odradek.client.admin.operations import Wanted, operate
from odradek.client.admin.placement import reassign
from odradek.client.errors import Refused
from odradek.model.admin_operations import CONTROLLER_MOVE, CONTROLLER_PLACEMENT
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, Story, staged
from tests.scenarios.cluster.placed import await_controller, history, refusal

PREFERRED = {"preferred.controller": "true"}
STRICT = {"allow.preferred.controller.fallback": "false"}
SETTLE = {"preferred.controller.settle.ms": "5000"}


def preferring(
    *preferred: int, brokers: int = 3, settings: Mapping[str, str] | None = None
) -> Callable[[Story], Story]:
    """These of its brokers are preferred."""
    own = dict.fromkeys(preferred, PREFERRED)
    return staged(brokers=brokers, settings={**SETTLE, **(settings or {})}, own=own)


def metric(t: ClusterScenario, number: int, name: str) -> float:
    """As its page says it."""
    broker = t.broker(number).process.broker
    assert broker is not None
    page = t.world.ask(t.broker(number).machine.name, broker.pages.pages["/metrics"]())
    (line,) = [it for it in page.content.splitlines() if it.startswith(f"{name} ")]
    return float(line.rpartition(" ")[2])


@preferring(2, settings=STRICT)
def test_only_the_preferred_broker_becomes_the_controller(t: ClusterScenario) -> None:
    """Whichever starts first; and it says so in its metrics."""
    await_controller(t, 2)
    prefix = "kafka_controller_kafkacontroller_"
    assert metric(t, 2, f"{prefix}activepreferredcontrollercount") == 1
    assert metric(t, 1, f"{prefix}standbypreferredcontrollercount") == 0


@preferring(1, 2)
def test_the_other_preferred_broker_follows_when_one_dies(t: ClusterScenario) -> None:
    """At once: data brokers leave it to it."""
    t.wait_until(lambda: t.acts() in ([1], [2]), "a preferred broker is the controller")
    (first,) = t.acts()
    t.broker(first).kill()
    t.run(seconds=0.5)
    assert t.acts() == [3 - first]


@preferring(1, 2, brokers=5)
def test_a_preferred_broker_that_died_once_is_waited_for_again(t: ClusterScenario) -> None:
    """Its death was news of that life only; here it is slow to hear that there is no controller."""
    t.wait_until(lambda: t.acts() in ([1], [2]), "a preferred broker is the controller")
    (first,) = t.acts()
    t.broker(first).kill()
    await_controller(t, 3 - first)
    t.broker(first).start()
    t.run(seconds=1)
    t.broker(first).machine.pause()
    t.broker(3 - first).kill()
    t.run(seconds=0.5)
    assert t.acts() == []
    t.broker(first).machine.resume()
    t.run(seconds=0.5)
    assert t.acts() == [first]


@preferring(1)
def test_with_the_fall_back_a_data_broker_stands_in(t: ClusterScenario) -> None:
    """It hands over again, once the preferred broker has settled, and not before."""
    await_controller(t, 1)
    t.broker(1).kill()
    t.run(seconds=0.5)
    assert t.acts() in ([2], [3])
    epoch = t.epoch()
    t.broker(1).start()
    t.run(seconds=3)
    assert t.epoch() == epoch
    await_controller(t, 1)
    assert t.epoch() == epoch + 1
    assert "settled" in history(t).controllers[-1].why


@preferring(1)
def test_a_preferred_broker_that_restarts_again_and_again_moves_nothing(t: ClusterScenario) -> None:
    """The controller would go there and back each time."""
    await_controller(t, 1)
    t.broker(1).kill()
    t.run(seconds=1)
    epoch = t.epoch()
    for _ in range(4):
        t.broker(1).start()
        t.run(seconds=2)
        t.broker(1).kill()
        t.run(seconds=1)
    assert t.epoch() == epoch


@preferring(1, settings=STRICT)
def test_without_the_fall_back_the_cluster_waits_and_says_so(t: ClusterScenario) -> None:
    """Every broker; clients go on, and the controller is back with the preferred broker."""
    await_controller(t, 1)
    shop = t.client("shop")
    shop.make("orders", replicas=2)
    t.broker(1).kill()
    t.run(seconds=10)
    assert t.acts() == []
    for number in (2, 3):
        assert metric(t, number, "odradek_controller_withheld") == 1
        broker = t.broker(number).process.broker
        assert broker is not None
        machine = t.broker(number).machine.name
        page = t.world.ask(machine, broker.pages.pages["/health/ready"]())
        assert "no preferred broker lives" in page.content
    placement = shop.does(operate(shop.cluster, Wanted(CONTROLLER_PLACEMENT)))
    assert (placement["controller"], placement["preferred"]) == (None, [])
    t.broker(1).start()
    await_controller(t, 1)


@preferring(1, settings=STRICT)
def test_an_operator_ends_the_waiting_with_one_command(t: ClusterScenario) -> None:
    """Settings are changed without a controller; the broker hears of it and competes."""
    await_controller(t, 1)
    operator = t.client("operator")
    t.broker(1).kill()
    t.run(seconds=10)
    assert t.acts() == []
    operator.does(
        admin.alter_settings(operator.cluster, admin.BROKER, "3", to=PREFERRED, delete=())
    )
    t.run(seconds=1)
    assert t.acts() == [3]


@preferring()
def test_a_controller_that_may_be_none_stays_until_another_is_ready(t: ClusterScenario) -> None:
    """The setting alone takes the controller from no cluster."""
    t.wait_until(t.acts, "there is a controller")
    (first,) = t.acts()
    operator = t.client("operator")
    change = admin.alter_settings(operator.cluster, admin.BROKER, "", to=STRICT, delete=())
    operator.does(change)
    t.run(seconds=10)
    assert t.acts() == [first]
    second = first % 3 + 1
    operator.does(
        admin.alter_settings(operator.cluster, admin.BROKER, str(second), to=PREFERRED, delete=())
    )
    await_controller(t, second)


@preferring()
def test_a_move_by_any_broker(t: ClusterScenario) -> None:
    """The answer names the wish, and the placement tells what has become of it."""
    t.wait_until(t.acts, "there is a controller")
    (old,) = t.acts()
    operator = t.client("operator")
    new = old % 3 + 1
    third = BrokerId(new % 3 + 1)
    wanted = Wanted(CONTROLLER_MOVE, {"broker": new}, broker=third)
    made = operator.does(operate(operator.cluster, wanted))
    await_controller(t, new)
    assert refusal(t, made["wish"]) == ""


@preferring()
def test_a_move_that_cannot_be_is_refused(t: ClusterScenario) -> None:
    """At once, or by the controller, which knows who lives."""
    t.wait_until(t.acts, "there is a controller")
    (old,) = t.acts()
    operator = t.client("operator")
    with pytest.raises(Refused, match="already"):
        operator.does(operate(operator.cluster, Wanted(CONTROLLER_MOVE, {"broker": old})))
    made = operator.does(operate(operator.cluster, Wanted(CONTROLLER_MOVE, {"broker": 9})))
    assert "not registered" in refusal(t, made["wish"])
    assert t.acts() == [old]


@preferring(
    1,
    2,
    settings={
        "preferred.controllers.min.count": "2",
        "controlled.shutdown.max.retries": "2",
    },
)
def test_too_few_preferred_brokers_may_not_shut_down(t: ClusterScenario) -> None:
    """It is refused while it would leave too few; the broker asks again, and stops at last."""
    t.wait_until(t.acts, "there is a controller")
    (first,) = t.acts()
    second = 3 - first
    shop = t.client("shop")
    shop.make("orders", partitions=3)
    led = [it for it in range(3) if t.leader("orders", it) == second]
    process = t.broker(second).process.broker
    assert process is not None
    process.stop()
    t.run(seconds=0.3)
    assert [t.leader("orders", it) for it in led] == [second] * len(led)
    t.wait_until(lambda: not t.broker(second).machine.running, "it stops in any case")


@preferring(
    1,
    settings={
        "preferred.controller.dedicated": "true",
        "default.replication.factor": "2",
        "offsets.topic.replication.factor": "2",
    },
)
def test_dedicated_brokers_get_no_replicas(t: ClusterScenario) -> None:
    """Neither by placement, nor by growth, nor by hand, nor by a reassignment."""
    await_controller(t, 1)
    shop = t.client("shop")
    shop.make("orders", partitions=4)
    shop.produce("orders", "a")
    for number in range(4):
        assert BrokerId(1) not in t.state("orders", number).isr
    with pytest.raises(Refused):
        shop.make("bills", replicas=3)
    member = shop.member("readers", "orders")
    member.joins()
    for number in range(2):
        assert BrokerId(1) not in t.state("__consumer_offsets", number).isr
    where = TopicPartition("orders", 0)
    outcome = shop.does(reassign(shop.cluster, {where: [BrokerId(1), BrokerId(2)]}))
    assert "dedicated" in str(outcome[where])
