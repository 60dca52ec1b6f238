"""The source designs step by step, under their own names, where no other file shows a step.

000 is "Detailed Replication Design V3", 002 the notes on high availability, 003 "Design V2".
"""

from contextlib import suppress

from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, TopicZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario


def cast(t: ClusterScenario) -> tuple[int, int, int]:
    """The controller and two others."""
    controller = t.controller()
    assert controller is not None
    first, second = (broker.number for broker in t.others(controller))
    return controller, first, second


def test_on_topic_change(t: ClusterScenario) -> None:
    """000: new partitions get leaders from their live replicas, deleted ones are stopped."""
    controller, first, second = cast(t)
    operator = t.operator()
    operator.places("orders", (first, second), (second, first))
    assert (t.leader("orders", 0), t.leader("orders", 1)) == (first, second)
    assert operator.grows("orders", 3) is ErrorCode.NONE
    operator.produce("orders", "a", partition=2)
    assert operator.deletion_of("orders") is ErrorCode.NONE
    t.wait_until(lambda: not operator.problems(), "nothing is left of it")
    t.wait_until(
        lambda: all(it.log_end("orders", 2) == -1 for it in t.brokers.values()), "all are stopped"
    )
    assert t.controller() == controller


def test_init_leaders_with_a_dead_replica(t: ClusterScenario) -> None:
    """000: the first live replica leads, and the ISR is what is alive; the dead one joins later."""
    controller, dead, other = cast(t)
    keeper = t.keeper("tools")
    t.broker(dead).kill()
    t.run(seconds=1)
    assigned = Assignment((BrokerId(dead), BrokerId(other), BrokerId(controller)))
    data = TopicZnode.encode(TopicAssignment({0: assigned}))
    keeper.does(keeper.zookeeper.create(TopicZnode.path("orders"), data))
    state = PartitionStateZnode.path(TopicPartition("orders", 0))
    t.wait_until(lambda: keeper.does(keeper.zookeeper.exists(state)), "a leader is elected")
    assert t.leader("orders") == other
    assert {*t.state("orders").isr} == {other, controller}
    t.broker(dead).start()
    t.await_isr("orders", 1, 2, 3)


def test_on_broker_change(t: ClusterScenario) -> None:
    """000 and 002: who died leads nothing and is in no ISR; what others led stays as it was."""
    controller, dead, other = cast(t)
    operator = t.operator()
    operator.places("orders", (dead, other, controller), (other, dead, controller))
    operator.places("elsewhere", (other, controller))
    before, untouched = t.state("orders"), t.state("elsewhere")
    t.broker(dead).kill()
    t.await_isr("orders", other, controller)
    t.await_isr("orders", other, controller, partition=1)
    after = t.state("orders")
    assert (after.leader, t.leader("orders", 1)) == (other, other)
    assert after.leader_epoch == before.leader_epoch + 1
    assert t.state("elsewhere") == untouched
    t.broker(dead).start()
    t.await_isr("orders", 1, 2, 3)
    t.await_isr("orders", 1, 2, 3, partition=1)
    assert t.leader("orders") == other


def test_on_leader_assignment_change(t: ClusterScenario) -> None:
    """000, B: who follows goes on from a new leader, and who led follows when it is back."""
    controller, old, new = cast(t)
    operator = t.operator()
    operator.places("orders", (old, new, controller))
    operator.produce("orders", "a")
    t.broker(old).kill()
    assert t.await_new_leader("orders", old) == new
    operator.produce("orders", "b")
    t.broker(old).start()
    t.await_isr("orders", 1, 2, 3)
    operator.produce("orders", "c")
    ends = [broker.log_end("orders") for broker in t.brokers.values()]
    assert (ends, t.leader("orders")) == ([3, 3, 3], new)


def test_on_broker_startup(t: ClusterScenario) -> None:
    """000, E: it leads what nobody else could, follows the rest, and serves what it had."""
    controller, late, other = cast(t)
    operator = t.operator()
    operator.places("alone", (late,), min_insync_replicas="1")
    operator.places("orders", (late, other, controller))
    operator.produce("alone", "a")
    operator.produce("orders", "b")
    t.broker(late).stop()
    t.await_isr("orders", other, controller)
    t.wait_until(lambda: t.state("alone").leader is None, "nobody else has it")
    t.broker(late).start()
    t.await_isr("orders", 1, 2, 3)
    t.wait_until(lambda: t.state("alone").leader == late, "it leads what it alone has")
    assert (operator.read("alone"), operator.read("orders")) == (["a"], ["b"])


def test_change_leaders_clean(t: ClusterScenario) -> None:
    """000, 2.1: another live member of the ISR leads, in a new leader epoch; others follow it."""
    controller, leader, other = cast(t)
    operator = t.operator()
    operator.places("orders", (leader, other, controller))
    operator.produce("orders", "a")
    before = t.state("orders")
    t.broker(leader).kill()
    t.await_new_leader("orders", leader)
    after = t.state("orders")
    assert after.leader == other
    assert after.leader_epoch > before.leader_epoch
    assert after.partition_epoch > before.partition_epoch
    operator.produce("orders", "b")
    assert operator.read("orders") == ["a", "b"]


def test_a_1_none_of_the_replicas_is_alive(t: ClusterScenario) -> None:
    """000, question A.1: the partition waits, however long, and is led by who had everything."""
    controller, first, second = cast(t)
    operator = t.operator()
    operator.places("orders", (first, second))
    operator.produce("orders", "a")
    t.broker(first).kill()
    t.broker(second).kill()
    t.run(seconds=20)
    assert t.state("orders").leader is None
    assert t.controller() == controller
    t.broker(second).start()
    t.broker(first).start()
    t.await_isr("orders", first, second)
    assert operator.read("orders") == ["a"]


def test_a_2_decisions_for_brokers_that_are_down(t: ClusterScenario) -> None:
    """000, question A.2: they are not sent to; on their start they hear what is so now."""
    controller, away, other = cast(t)
    operator = t.operator()
    operator.places("orders", (away, other, controller), (other, away, controller))
    t.broker(away).kill()
    t.await_new_leader("orders", away)
    operator.produce("orders", "a")
    t.broker(other).stop()
    t.broker(other).start()
    operator.produce("orders", "b", partition=1)
    t.broker(away).start()
    t.await_isr("orders", 1, 2, 3)
    t.await_isr("orders", 1, 2, 3, partition=1)
    assert (t.broker(away).log_end("orders"), t.broker(away).log_end("orders", 1)) == (1, 1)


def test_a_3_failure_of_a_single_partition(t: ClusterScenario) -> None:
    """000, question A.3: a broker loses a log dir, and only what lay there is led by others."""
    _, first, second = cast(t)
    operator = t.operator()
    operator.places("orders", *[(first, second)] * 4, min_insync_replicas="1")
    for number in range(4):
        operator.produce("orders", "a", partition=number)
    bad = t.broker(first).disk_of("orders", 0)
    on_it = [it for it in range(4) if t.broker(first).disk_of("orders", it) == bad]
    t.broker(first).fail_disk(bad)
    for number in range(4):
        operator.produce("orders", "b", partition=number)
    for number in range(4):
        assert t.leader("orders", number) == (second if number in on_it else first)


def test_on_controller_failover(t: ClusterScenario) -> None:
    """000 and 002: the next controller finds decisions half done, and finishes them."""
    controller, first, second = cast(t)
    operator = t.operator()
    operator.places("orders", (first, second, controller))
    operator.produce("orders", "a")
    shop = t.client("shop")
    making = shop.begins(shop.making("half-made", partitions=3, replicas=2))
    t.world.run(millis=3)
    t.broker(controller).kill()
    with suppress(BrokerError):  # its answer is lost with the controller
        shop.ends(making)
    t.wait_until(lambda: t.controller() in {first, second}, "another is elected")
    t.run(seconds=1)
    if (
        operator.refusal_of(operator.making("half-made", partitions=3, replicas=2))
        is not ErrorCode.NONE
    ):
        t.wait_until(lambda: operator.replicas("half-made", 2), "it is whole")
    operator.produce("half-made", "b", partition=2)
    operator.produce("orders", "c")
    assert operator.read("orders") == ["a", "c"]


def test_an_offline_broker_returns_to_deleted_topics(t: ClusterScenario) -> None:
    """002 and 003: it deletes what it held, and a new topic of the name is not mixed with it."""
    controller, away, other = cast(t)
    operator = t.operator()
    operator.places("orders", (other, away, controller))
    operator.produce("orders", "old")
    t.broker(away).kill()
    t.await_isr("orders", other, controller)
    assert operator.deletion_of("orders") is ErrorCode.NONE
    assert f"broker {away} is not registered" in operator.problems()
    t.broker(away).start()
    t.wait_until(lambda: not operator.problems(), "its replica is deleted")
    assert t.broker(away).log_end("orders") == -1
    operator.places("orders", (away, other))
    operator.produce("orders", "new")
    assert operator.read("orders") == ["new"]


def test_delete_topic_enable_false() -> None:
    """002: deletions are refused, and marks that are there are taken away."""
    with ClusterScenario(settings={"delete.topic.enable": "false"}) as t:
        operator, keeper = t.operator(), t.keeper("tools")
        operator.places("orders", (1, 2, 3))
        assert operator.deletion_of("orders") is ErrorCode.TOPIC_DELETION_DISABLED
        mark = DeleteTopicZnode.path("orders")
        keeper.does(keeper.zookeeper.create(mark, b""))
        t.wait_until(lambda: not keeper.does(keeper.zookeeper.exists(mark)), "the mark goes")
        operator.produce("orders", "a")
        assert operator.read("orders") == ["a"]


def test_the_znode_of_a_deletion(t: ClusterScenario) -> None:
    """002: /admin/delete_topics deletes as the request does, and unknown names are taken away."""
    operator, keeper = t.operator(), t.keeper("tools")
    operator.places("orders", (1, 2, 3))
    for name in ("orders", "nowhere"):
        keeper.does(keeper.zookeeper.create(DeleteTopicZnode.path(name), b""))
    marks = [DeleteTopicZnode.path(name) for name in ("orders", "nowhere")]
    t.wait_until(
        lambda: not any(keeper.does(keeper.zookeeper.exists(it)) for it in marks), "the marks go"
    )
    operator.places("orders", (3, 2, 1))


def test_the_state_change_queue_is_full(t: ClusterScenario) -> None:
    """003, StateChangeQueue.isFull: what waits for a broker that does not answer is merged.

    A topic that was made, changed and deleted meanwhile costs it one order, and nothing is lost.
    """
    controller, hanging, other = cast(t)
    operator = t.operator()
    t.cut(controller, hanging)
    for number in range(5):
        operator.places(f"passing-{number}", (other, hanging), min_insync_replicas="1")
        assert operator.deletion_of(f"passing-{number}") is ErrorCode.NONE
    operator.places("staying", (other, hanging), min_insync_replicas="1")
    t.heal()
    t.await_isr("staying", other, hanging)
    t.wait_until(lambda: not operator.problems(), "deletions are over")
    for number in range(5):
        assert t.broker(hanging).log_end(f"passing-{number}") == -1


def test_an_empty_reassignment_set(t: ClusterScenario) -> None:
    """003 deletes a partition whose reassignment names nobody; here that is refused."""
    operator = t.operator()
    operator.places("orders", (1, 2, 3))
    operator.produce("orders", "a")
    assert operator.moves("orders") is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert operator.read("orders") == ["a"]


def test_leader_election_wait_time(t: ClusterScenario) -> None:
    """003 waits for other candidates before it elects; a controller that sees all need not.

    A leader whose process is gone is replaced long before its session would have ended.
    """
    _, leader, other = cast(t)
    operator = t.operator()
    operator.places("orders", (leader, other), min_insync_replicas="1")
    t.broker(leader).kill()
    began = t.world.loop.time()
    t.await_new_leader("orders", leader)
    assert t.world.loop.time() - began < 1.0  # virtual; the session lasts 6 s
