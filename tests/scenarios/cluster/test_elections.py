"""Who leads: preferred leaders on demand and by themselves, unclean ones, and what delays them."""

import json

import pytest

from odradek.metadata.znodes.admin import PreferredElectionZnode
from odradek.metadata.znodes.cluster import ControllerEpochZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.broker_machine import PORT, name_of
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.zookeeper.protocol.codes import Permission
from odradek.zookeeper.protocol.jute import ANYONE, OPEN_ACL, Acl
from tests.scenarios.cluster.placed import move


def cast(t: ClusterScenario) -> tuple[int, int, int]:
    """The controller and two others."""
    controller = t.controller()
    assert controller is not None
    first, second = (broker.number for broker in t.others(controller))
    return controller, first, second


def test_a_preferred_leader_is_elected_on_demand(t: ClusterScenario) -> None:
    """After its return leadership stays where it is until somebody asks, or the balance is kept."""
    controller, preferred, other = cast(t)
    operator = t.operator()
    operator.places("orders", (preferred, other))
    t.broker(preferred).stop()
    t.broker(preferred).start()
    assert t.leader("orders") == other
    t.await_isr("orders", preferred, other)
    assert operator.elects("orders") is ErrorCode.NONE
    broker = t.broker(controller).process.broker
    assert broker is not None
    told = broker.cluster.image.partition(TopicPartition("orders", 0))
    assert told is not None
    assert told.leader == preferred  # whoever was answered finds it so
    assert t.leader("orders") == preferred
    assert operator.elects("orders") is ErrorCode.ELECTION_NOT_NEEDED
    assert operator.elects("elsewhere") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_controller_decides_by_the_settings_of_topics_that_it_does_not_hold(
    t: ClusterScenario,
) -> None:
    """By the defaults of brokers the member that goes would be eligible, and lack what follows."""
    controller, other, outsider = cast(t)
    t.operator().places("orders", (controller, other), min_insync_replicas="1")
    move(t, outsider)
    t.broker(other).kill()
    t.await_isr("orders", controller)
    assert not t.state("orders").eligible


def test_a_preferred_leader_that_has_not_caught_up_is_not_elected(t: ClusterScenario) -> None:
    """Records would be lost; the caller is told, and asks again."""
    _, preferred, other = cast(t)
    operator = t.operator()
    operator.places("orders", (preferred, other), min_insync_replicas="1")
    t.broker(preferred).kill()
    t.await_isr("orders", other)
    operator.produce("orders", "a")
    t.cut(other, preferred)
    t.broker(preferred).start()
    assert operator.elects("orders") is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    t.heal()
    t.await_isr("orders", preferred, other)
    assert operator.elects("orders") is ErrorCode.NONE
    assert operator.read("orders") == ["a"]


def test_load_balancing_waits_until_a_recovering_broker_has_caught_up() -> None:
    """Leaderships return by themselves, each once its preferred leader is in sync (003)."""
    settings = {"leader.imbalance.check.interval.seconds": "2"}
    with ClusterScenario(settings=settings) as t:
        _, preferred, other = cast(t)
        operator = t.operator()
        operator.places("orders", (preferred, other), min_insync_replicas="1")
        t.broker(preferred).kill()
        t.await_new_leader("orders", preferred)
        operator.produce("orders", "a")
        t.cut(other, preferred)
        t.broker(preferred).start()
        t.run(seconds=10)
        assert t.leader("orders") == other
        t.heal()
        t.wait_until(lambda: t.leader("orders") == preferred, "leadership returns")
        assert operator.read("orders") == ["a"]


def test_an_unclean_election_is_the_operators_word(t: ClusterScenario) -> None:
    """Who was in sync is gone for good: without a word nothing is elected, and health says why."""
    controller, first, second = cast(t)
    operator = t.operator()
    operator.places("orders", (first, second), min_insync_replicas="1")
    operator.produce("orders", "a")
    t.run(seconds=1)
    t.broker(second).kill()
    t.await_isr("orders", first)
    operator.produce("orders", "lost")
    t.broker(first).kill()
    t.broker(second).start()
    t.run(seconds=10)
    assert t.state("orders").leader is None
    problems = operator.problems()
    assert problems[f"broker {first} is not registered"] == {"no leader": {"orders": [0]}}
    assert operator.elects("orders") is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert operator.elects("orders", uncleanly=True) is ErrorCode.NONE
    assert t.leader("orders") == second
    assert operator.read("orders") == ["a"]
    assert operator.elects("orders", uncleanly=True) is ErrorCode.ELECTION_NOT_NEEDED
    t.broker(first).start()
    t.await_isr("orders", first, second)
    assert operator.read("orders") == ["a"]
    broker = t.broker(controller).process.broker
    assert broker is not None
    decisions = broker.services_of_this_life.controller.controller
    assert decisions is not None
    assert decisions.context.unclean_elections == 1


def test_an_unclean_election_by_setting(t: ClusterScenario) -> None:
    """A topic that prefers availability says so, and has a leader at once."""
    _, first, second = cast(t)
    operator = t.operator()
    operator.places("orders", (first, second), min_insync_replicas="1")
    operator.produce("orders", "a")
    t.run(seconds=1)
    t.broker(second).kill()
    t.await_isr("orders", first)
    t.broker(first).kill()
    t.broker(second).start()
    t.run(seconds=5)
    assert t.state("orders").leader is None
    operator.sets("orders", unclean_leader_election_enable="true")
    t.wait_until(lambda: t.state("orders").leader == second, "it leads")
    assert operator.read("orders") == ["a"]


def test_the_znode_of_older_tools(t: ClusterScenario) -> None:
    """/admin/preferred_replica_election: it goes, whatever came of it, and may come again."""
    _, preferred, other = cast(t)
    operator, keeper = t.operator(), t.keeper("tools")
    operator.places("orders", (preferred, other))
    path = PreferredElectionZnode.PATH
    rows = [{"topic": "orders", "partition": 0}, {"topic": "nowhere", "partition": 3}]
    asked = json.dumps({"version": 1, "partitions": rows}).encode()
    for _ in range(2):
        t.broker(preferred).stop()
        t.broker(preferred).start()
        t.await_isr("orders", preferred, other)
        keeper.does(keeper.zookeeper.create(path, asked))
        t.wait_until(lambda: not keeper.does(keeper.zookeeper.exists(path)), "the znode goes")
        assert t.leader("orders") == preferred


def test_a_preferred_election_while_the_preferred_leaves_the_isr(t: ClusterScenario) -> None:
    """One of the two is written first, and the other looks again at what stands there."""
    _, preferred, other = cast(t)
    operator = t.operator()
    operator.places("orders", (preferred, other), min_insync_replicas="1")
    t.broker(preferred).stop()
    t.broker(preferred).start()
    t.await_isr("orders", preferred, other)
    t.cut(other, preferred)
    t.run(seconds=3.9)  # replica.lag.time.max.ms is 4 s
    for _ in range(20):
        operator.elects("orders")
        t.world.run(millis=20)
    t.heal()
    t.await_isr("orders", preferred, other)
    operator.produce("orders", "a")
    assert operator.read("orders") == ["a"]


@pytest.mark.parametrize("millis", [0, 10, 50, 200, 1_000])
def test_a_session_that_expires_during_a_controlled_shutdown(millis: int) -> None:
    """A broker that shuts down never registers again, and what it led is led by others."""
    with ClusterScenario(millis + 1) as t:
        controller, going, other = cast(t)
        operator = t.operator()
        operator.places("orders", (going, controller, other))
        operator.produce("orders", "a")
        process = t.broker(going).process
        assert process.broker is not None
        t.cut("zookeeper", going)
        t.cut(going, "zookeeper")
        t.run(seconds=5)  # of a session of 6 s
        process.broker.stop()
        t.world.run(millis=millis)
        t.run(seconds=3)
        t.heal()
        t.wait_until(lambda: not process.machine.running, "it stops")
        t.await_isr("orders", controller, other)
        operator.produce("orders", "b")
        t.broker(going).start()
        t.await_isr("orders", *t.brokers)
        assert operator.read("orders") == ["a", "b"]


@pytest.mark.parametrize("millis", [0, 2, 5, 10, 20, 50])
def test_alter_partition_while_the_controller_fails_over(millis: int) -> None:
    """The leader asks the next controller again; no acknowledgement rests on what was not said."""
    with ClusterScenario(millis + 1) as t:
        controller, leader, other = cast(t)
        operator = t.operator()
        operator.places("orders", (leader, other, controller))
        operator.produce("orders", "a")
        t.cut(other, leader)  # its fetches do not arrive: it will leave the ISR
        writing = operator.begins(operator.producing("orders", "b"))
        t.wait_until(lambda: len(t.state("orders").isr) < 3 or t.world.loop.time() > 5.0, "soon")
        t.world.run(millis=millis)
        t.broker(controller).kill()
        t.heal()
        operator.ends(writing)
        t.await_isr("orders", leader, other)
        t.broker(controller).start()
        t.await_isr("orders", *t.brokers)
        assert operator.read("orders") == ["a", "b"]


def test_growth_and_creation_during_a_deletion(t: ClusterScenario) -> None:
    """A topic that goes neither grows nor comes again before all of it is gone."""
    controller, dead, other = cast(t)
    operator = t.operator()
    operator.places("orders", (controller, dead), (other, controller))
    operator.produce("orders", "a")
    t.broker(dead).kill()
    t.await_isr("orders", controller)
    assert operator.deletion_of("orders") is ErrorCode.NONE
    assert operator.grows("orders", 3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    again = operator.refusal_of(operator.making("orders"))
    assert again is ErrorCode.TOPIC_ALREADY_EXISTS
    t.broker(dead).start()
    t.wait_until(lambda: not operator.problems(), "it is gone")
    operator.places("orders", (dead, other))
    assert operator.read("orders") == []


def test_no_client_is_told_of_a_leader_that_has_just_died(t: ClusterScenario) -> None:
    """The answer waits for the election: told of the old leader a client would rest before it asks.

    While nobody can elect it comes all the same, after half a second.
    """
    controller, dying, other = cast(t)
    operator = t.operator()
    operator.places("orders", (dying, other, controller))
    operator.places("waiting", (controller, other))
    shop = t.client("shop")

    async def leader_of(topic: str) -> int:
        connection = await shop.cluster.connection((name_of(other), PORT))
        (found,) = (await connection.ask(metadata_of(topic))).topics
        return int(found.partitions[0].leader_id)

    assert shop.does(leader_of("orders")) == dying
    t.break_connections(dying)
    began = t.world.loop.time()
    assert shop.does(leader_of("orders")) == dying
    assert t.world.loop.time() - began < 0.1  # virtual: it lives, so nothing is waited for
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=1)
    t.broker(dying).kill()
    t.world.run(millis=2)
    assert shop.does(leader_of("orders")) == other
    t.zookeeper.machine.kill()
    t.broker(controller).kill()
    t.world.run(millis=2)
    began = t.world.loop.time()
    assert shop.does(leader_of("waiting")) == controller
    assert 0.4 < t.world.loop.time() - began < 0.6
    assert shop.does(leader_of("waiting")) == controller
    assert t.world.loop.time() - began < 0.6


def test_no_client_is_told_of_a_follower_that_has_just_died_and_leads_elsewhere(
    t: ClusterScenario,
) -> None:
    """Its leader hears of its end by the fetch that waited, and follows nothing of it."""
    controller, dying, other = cast(t)
    operator = t.operator()
    operator.places("orders", (dying, controller))
    operator.places("followed", (other, dying))
    shop = t.client("shop")

    async def leader() -> int:
        connection = await shop.cluster.connection((name_of(other), PORT))
        (found,) = (await connection.ask(metadata_of("orders"))).topics
        return int(found.partitions[0].leader_id)

    assert shop.does(leader()) == dying
    t.await_isr("orders", dying, controller)
    t.run(seconds=1)
    t.broker(dying).kill()
    t.world.run(millis=2)
    assert shop.does(leader()) == controller


def test_clients_are_told_of_a_dead_broker_for_a_while(t: ClusterScenario) -> None:
    """Without it at once a client gives up its thread before the thread has given its partitions.

    Another broker leads by the same answer. It is listed until its time is over, or once, where it
    lives now, when it is back.
    """
    controller, dying, other = cast(t)
    operator = t.operator()
    operator.places("orders", (dying, other, controller))
    shop = t.client("shop")

    async def told() -> tuple[int, list[int], list[int]]:
        connection = await shop.cluster.connection((name_of(other), PORT))
        answer = await connection.ask(metadata_of("orders"))
        (found,) = answer.topics[0].partitions
        listed = sorted(broker.node_id for broker in answer.brokers)
        return int(found.leader_id), listed, list(found.offline_replicas)

    t.await_isr("orders", 1, 2, 3)
    t.broker(dying).kill()
    t.wait_until(lambda: shop.does(told())[0] == other, "its successor is known")
    assert shop.does(told()) == (other, [1, 2, 3], [dying])
    t.run(seconds=4)
    assert shop.does(told()) == (other, sorted((controller, other)), [dying])
    t.broker(dying).start()
    t.await_isr("orders", 1, 2, 3)
    t.broker(dying).kill()
    t.broker(dying).start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.does(told()) == (other, [1, 2, 3], [])


def metadata_of(topic: str) -> MetadataRequest:
    """Asks for one topic."""
    return MetadataRequest(topics=[MetadataRequestTopic(name=topic)])


def test_a_broker_that_missed_a_deletion_hears_of_it_from_the_next_controller(
    t: ClusterScenario,
) -> None:
    """The first thing it says is everything that there is: what it does not name is gone."""
    controller, holder, away = cast(t)
    operator = t.operator()
    operator.places("orders", (holder,))
    broker = t.broker(away).process.broker
    assert broker is not None
    t.wait_until(lambda: "orders" in broker.cluster.image.topics, "it has heard of the topic")
    t.cut(controller, away)
    t.cut(away, controller)
    operator.delete("orders")
    t.wait_until(lambda: not t.has_topic("orders"), "the topic is gone")
    t.break_connections(controller)
    t.broker(controller).kill()
    t.heal()
    t.wait_until(lambda: t.controller() not in {None, controller}, "another is the controller")
    t.wait_until(lambda: "orders" not in broker.cluster.image.topics, "the topic is forgotten")


def test_a_controller_that_is_refused_by_zookeeper_begins_anew(t: ClusterScenario) -> None:
    """It left off in the middle of what it had to do: its successor finds out all that is due."""
    _, dying, other = cast(t)
    operator, zookeeper = t.operator(), t.keeper("tools").zookeeper
    operator.places("orders", (dying, other), min_insync_replicas="1")
    operator.produce("orders", "a")
    t.await_isr("orders", dying, other)
    epoch = ControllerEpochZnode.PATH  # without it a controller may write nothing
    operator.does(zookeeper.set_acl(epoch, (Acl(Permission.ADMIN, ANYONE),)))
    t.broker(dying).cut_power()
    t.run(seconds=10)  # its session is over: it is known to be dead, and leads as it stands
    operator.does(zookeeper.set_acl(epoch, OPEN_ACL))
    t.run(seconds=5)
    assert t.state("orders").leader == other
    t.broker(dying).start()
    assert operator.read("orders") == ["a"]
