"""Two things happen at once, and one of them is late: races that a broker and a controller meet."""

from functools import partial

import pytest

from odradek.client.admin import admin
from odradek.client.admin.placement import Election, elect
from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.znodes.admin import LogDirEventZnode
from odradek.metadata.znodes.settings import (
    Entity,
    EntityType,
    SettingsChangeZnode,
    SettingsZnode,
)
from odradek.metadata.znodes.topic import PartitionStateZnode, TopicZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.stage.clients import Keeper
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

ORDERS = TopicPartition("orders", 0)


def cast(t: ClusterScenario) -> tuple[int, int, int]:
    """The controller and two others."""
    controller = t.controller()
    assert controller is not None
    first, second = (broker.number for broker in t.others(controller))
    return controller, first, second


def cut_both(t: ClusterScenario, one: int | str, other: int | str) -> None:
    """Neither hears the other."""
    t.cut(one, other)
    t.cut(other, one)


def told(keeper: Keeper) -> list[str]:
    """Notifications of failed dirs that nobody has taken away."""
    found = keeper.does(keeper.zookeeper.children(LogDirEventZnode.PARENT))
    return list(found.names)


@pytest.mark.parametrize("millis", [0, 1, 2, 3, 5, 10])
def test_a_leaders_word_on_its_isr_meets_an_election(millis: int) -> None:
    """The controller writes one of them, and decides on the other by what stands there then."""
    with ClusterScenario(millis + 1) as t:
        controller, preferred, other = cast(t)
        operator = t.operator()
        operator.places("orders", (preferred, other, controller))
        t.broker(preferred).stop()
        t.broker(preferred).start()
        cut_both(t, other, controller)  # the leader will miss the controller's replica, and say so
        t.run(seconds=3.9)
        before = t.state("orders")
        t.heal()
        t.world.run(millis=millis)
        operator.elects("orders")
        operator.produce("orders", "a")
        t.await_isr("orders", 1, 2, 3)
        after = t.state("orders")
        assert after.leader in {other, preferred}
        assert (after.leader != before.leader) <= (after.leader_epoch > before.leader_epoch)
        leader = t.broker(t.leader("orders")).log("orders")
        assert leader is not None
        assert operator.read("orders") == ["a"]


def test_an_expansion_is_written_and_its_answer_lost_before_the_leader_changes(
    t: ClusterScenario,
) -> None:
    """Who joined so may be elected: what was acknowledged meanwhile was waited for by it, too."""
    controller, leader, follower = cast(t)
    operator = t.operator()
    operator.places("orders", (leader, follower), min_insync_replicas="1")
    operator.produce("orders", "a")
    t.broker(follower).kill()
    t.await_isr("orders", leader)
    t.broker(follower).begin()
    broker = t.broker(follower).process
    t.wait_until(lambda: broker.broker is not None and broker.serves, "it serves")
    t.cut(controller, leader)
    t.await_isr("orders", leader, follower)
    t.cut(leader, follower)
    writing = operator.begins(operator.producing("orders", "b"))
    t.run(seconds=1)
    assert not writing.done()
    t.broker(leader).kill()
    assert t.await_new_leader("orders", leader) == follower
    t.heal()
    operator.ends(writing)
    assert operator.read("orders") == ["a", "b"]


@staged(settings={"auto.leader.rebalance.enable": "false"})
def test_an_election_is_written_and_its_answer_lost(t: ClusterScenario) -> None:
    """The controller reads what stands there, and tells brokers of it.

    Otherwise the old leader would go on in an epoch that is over, in which no ISR can be changed.
    """
    controller, preferred, other = cast(t)
    operator = t.operator()
    operator.places("orders", (preferred, other, controller))
    t.broker(preferred).stop()
    t.broker(preferred).start()
    t.await_isr("orders", 1, 2, 3)
    assert t.leader("orders") == other
    link = t.world.wires.link(t.zookeeper.machine.host, t.broker(controller).machine.host)
    link.delay = (500_000, 500_000)
    electing = operator.begins(elect(operator.cluster, Election.PREFERRED, [ORDERS]))
    t.wait_until(lambda: t.leader("orders") == preferred, "it is written")
    t.break_connections(ZOOKEEPER)
    assert operator.ends(electing) == {ORDERS: None}
    t.cut(preferred, other)
    operator.produce("orders", "a")
    t.await_isr("orders", preferred, controller)
    assert operator.read("orders") == ["a"]


def test_answers_about_the_isr_and_words_of_the_controller_overtake_each_other(
    t: ClusterScenario,
) -> None:
    """They come on two connections; what is older than what a leader knows changes nothing."""
    controller, leader, other = cast(t)
    operator = t.operator()
    operator.places("orders", (leader, other, controller))
    for target in (leader, other):
        link = t.world.wires.link(t.broker(controller).machine.host, t.broker(target).machine.host)
        link.delay = (0, 300_000)
    for _ in range(6):
        cut_both(t, leader, other)
        t.run(seconds=4.3)
        t.world.wires.mend(f"broker-{leader}", f"broker-{other}")
        t.world.wires.mend(f"broker-{other}", f"broker-{leader}")
        operator.elects("orders")
        operator.produce("orders", "a")
    t.await_isr("orders", 1, 2, 3)
    state = t.state("orders")
    led = t.broker(t.leader("orders")).process.broker
    assert led is not None
    (replica,) = (
        it for it in led.services_of_this_life.replicas.all_led() if it.partition.topic == "orders"
    )
    t.wait_until(
        lambda: replica.leader.partition_epoch == state.partition_epoch, "it knows the newest"
    )
    assert replica.leader.isr.committed == {*state.isr}
    assert operator.read("orders") == ["a"] * 6


def test_a_word_to_delete_that_is_late_spares_the_topic_made_again() -> None:
    """It was meant for the replica that was moved away; the new one comes behind it."""
    with ClusterScenario(2, brokers=4) as t:
        controller = t.controller()
        assert controller is not None
        leader, other, late = (broker.number for broker in t.others(controller))
        operator = t.operator()
        operator.places("orders", (leader, late), min_insync_replicas="1")
        operator.produce("orders", "old")
        t.cut(controller, late)
        assert operator.moves("orders", leader, other) is ErrorCode.NONE
        t.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
        operator.delete("orders")
        t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
        operator.places("orders", (other, late), min_insync_replicas="1")
        operator.produce("orders", "new")
        t.heal()
        t.await_isr("orders", other, late)
        t.run(seconds=5)
        assert t.broker(late).log_end("orders") == 1
        assert operator.read("orders") == ["new"]


def test_a_broker_dies_before_the_controller_has_read_that_its_dir_failed(
    t: ClusterScenario,
) -> None:
    """Its death says more; the znode that it leaves harms nothing, and is taken away."""
    controller, broken, other = cast(t)
    operator = t.operator()
    operator.places("orders", (broken, other, controller))
    operator.produce("orders", "a")
    disk = t.broker(broken).disk_of("orders")
    t.cut("zookeeper", controller)
    t.broker(broken).fail_disk(disk)
    _ = operator.begins(operator.producing("orders", "b", acks=1))
    keeper = t.keeper("tools")
    t.wait_until(lambda: told(keeper), "the failure is told")
    t.broker(broken).kill()
    t.broker(broken).repair_disk(disk)
    t.heal()
    t.await_isr("orders", other, controller)
    t.broker(broken).start()
    t.await_isr("orders", 1, 2, 3)
    assert not told(keeper)
    assert not operator.problems()
    assert "a" in operator.read("orders")


def test_the_session_of_a_controller_ends_with_decisions_waiting(t: ClusterScenario) -> None:
    """It was paused: what it finds in its queue when it wakes is decided by its successor alone."""
    controller, first, second = cast(t)
    operator = t.operator()
    operator.places("orders", (first, second), min_insync_replicas="1")
    epoch = t.epoch()
    t.broker(controller).machine.pause()
    t.run(seconds=5)
    t.broker(first).kill()  # the controller's kernel hears of it, the controller does not
    keeper = t.keeper("tools")
    keeper.does(keeper.zookeeper.create("/admin/delete_topics/nowhere", b""))
    t.wait_until(lambda: t.controller() == second, "another is elected")
    t.wait_until(lambda: t.leader("orders") == second, "it decides")
    before = t.state("orders")
    t.broker(controller).machine.resume()
    t.run(seconds=3)
    assert t.acts() == [second]
    assert t.epoch() == epoch + 1
    assert t.state("orders") == before
    t.broker(first).start()
    t.await_isr("orders", first, second)


def test_a_topic_is_made_again_while_a_broker_that_had_it_is_down() -> None:
    """What that broker finds under the name is another topic's, and is not mixed with this one."""
    with ClusterScenario(2, brokers=4) as t:
        controller = t.controller()
        assert controller is not None
        leader, other, away = (broker.number for broker in t.others(controller))
        operator = t.operator()
        operator.places("orders", (leader, other, away))
        operator.produce("orders", "old", "older")
        t.broker(away).kill()
        t.await_isr("orders", leader, other)
        assert operator.moves("orders", leader, other, controller) is ErrorCode.NONE
        t.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
        operator.delete("orders")
        t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
        keeper = t.keeper("tools")
        assigned = Assignment((BrokerId(leader), BrokerId(away), BrokerId(other)))
        data = TopicZnode.encode(TopicAssignment({0: assigned}))
        keeper.does(keeper.zookeeper.create(TopicZnode.path("orders"), data))
        state = PartitionStateZnode.path(TopicPartition("orders", 0))
        t.wait_until(lambda: t.data(state), "a leader is elected")
        operator.produce("orders", "new")
        t.broker(away).start()
        t.await_isr("orders", leader, other, away)
        assert t.broker(away).log_end("orders") == 1
        t.broker(leader).stop()
        assert t.await_new_leader("orders", leader) == away
        assert operator.read("orders") == ["new"]


def test_an_answer_of_an_earlier_leader_cuts_nothing(t: ClusterScenario) -> None:
    """A follower asked where an epoch ends; when it hears that, it follows another."""
    controller, old, follower = cast(t)
    operator = t.operator()
    operator.places("orders", (old, controller, follower))
    operator.produce("orders", "a")
    t.broker(follower).kill()
    t.await_isr("orders", old, controller)
    link = t.world.wires.link(t.broker(old).machine.host, t.broker(follower).machine.host)
    link.delay = (2_000_000, 2_000_000)  # all that it answers is two seconds late
    t.broker(follower).begin()
    process = t.broker(follower).process
    t.wait_until(lambda: process.serves, "it serves")
    t.run(seconds=1)
    cut_both(t, old, "zookeeper")
    cut_both(t, old, controller)
    cut_both(t, old, "operator")
    assert t.await_new_leader("orders", old) == controller
    operator.produce("orders", "b", "c")
    t.await_isr("orders", controller, follower)
    t.run(seconds=5)
    assert t.broker(follower).log_end("orders") == 3
    t.heal()
    t.await_isr("orders", 1, 2, 3)
    assert operator.read("orders") == ["a", "b", "c"]


def test_two_brokers_of_one_number(t: ClusterScenario) -> None:
    """The second is refused while the first lives, and changes nothing of what that has."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    before, number = t.state("orders"), t.leader("orders")
    ended: list[bool] = []
    twin = BrokerMachine(
        t.world, t.settings, number=number, name="twin", on_exit=lambda: ended.append(True)
    )
    twin.start()
    t.wait_until(lambda: ended, "the second gives up")
    assert t.state("orders") == before
    shop.produce("orders", "b")
    assert shop.read("orders") == ["a", "b"]


def test_a_topic_is_asked_for_while_it_is_being_deleted(t: ClusterScenario) -> None:
    """A name is not made again by itself before its mark is gone."""
    controller, dead, other = cast(t)
    operator = t.operator()
    operator.places("orders", (other, dead), min_insync_replicas="1")
    operator.produce("orders", "a")
    t.broker(dead).kill()
    t.await_isr("orders", other)
    assert operator.deletion_of("orders") is ErrorCode.NONE
    asked = MetadataRequest([MetadataRequestTopic(name="orders")], allow_auto_topic_creation=True)
    for broker in (controller, other):
        connection = operator.does(operator.cluster.broker(BrokerId(broker)))
        (row,) = operator.does(connection.ask(asked)).topics
        assert row.error_code != ErrorCode.NONE
    t.run(seconds=3)
    t.broker(dead).start()
    t.wait_until(lambda: not operator.problems(), "all of it is gone")
    t.wait_until(lambda: not t.has_topic("orders"), "and its mark")
    operator.places("orders", (dead, other))
    assert operator.read("orders") == []


def test_settings_are_altered_at_a_broker_that_has_not_heard_of_the_deletion(
    t: ClusterScenario,
) -> None:
    """It asks the tree: what it wrote would stay, and belong to the next topic of that name."""
    controller, other, late = cast(t)
    operator = t.operator()
    operator.places("orders", (controller, other))
    process = t.broker(late).process.broker
    assert process is not None
    t.wait_until(lambda: "orders" in process.cluster.image.topics, "it has heard of the topic")
    t.cut(controller, late)
    operator.delete("orders")
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    assert "orders" in process.cluster.image.topics
    change = AlterableConfig("retention.ms", admin.SET, "60000")
    asked = IncrementalAlterConfigsRequest([AlterConfigsResource(admin.TOPIC, "orders", [change])])
    connection = operator.does(operator.cluster.broker(BrokerId(late)))
    (row,) = operator.does(connection.ask(asked)).responses
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert t.data(SettingsZnode.path(Entity(EntityType.TOPICS, "orders"))) is None


def test_settings_and_their_news_are_one_transaction(t: ClusterScenario) -> None:
    """A broker that died between them would leave settings of which the others never hear."""
    operator, zookeeper = t.operator(), t.keeper("reads").zookeeper
    operator.places("orders", (1, 2, 3))
    change = partial(admin.alter_settings, operator.cluster, admin.TOPIC, "orders")
    wanted = {"retention.ms": "60000"}
    t.wait_until(
        lambda: operator.refusal_of(change(to=wanted)) is ErrorCode.NONE, "the topic is known"
    )
    entity = Entity(EntityType.TOPICS, "orders")
    settings = operator.does(zookeeper.get(SettingsZnode.path(entity)))
    (name,) = operator.does(zookeeper.children(SettingsChangeZnode.PARENT)).names
    news = operator.does(zookeeper.get(f"{SettingsChangeZnode.PARENT}/{name}"))
    assert SettingsChangeZnode.decode(news.data) == entity
    assert news.stat.czxid == settings.stat.mzxid
