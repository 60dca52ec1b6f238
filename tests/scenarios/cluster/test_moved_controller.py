"""The operator moves the controller: what clients notice, and what may fail on the way."""

from odradek.cli.brokers import cluster_health
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.metadata.znodes.controller import NextControllerZnode
from odradek.sim.scenarios.cluster import ClusterScenario
from tests.scenarios.cluster.placed import (
    await_controller,
    history,
    is_ready,
    is_tidy,
    move,
    other_than,
    refusal,
    wish,
)


def test_a_move_changes_no_leader(t: ClusterScenario) -> None:
    """Clients notice nothing; the new controller does all that the old one did."""
    shop = t.client("shop")
    shop.make("orders", partitions=4)
    shop.produce("orders", "a")
    before = [t.state("orders", it) for it in range(4)]
    old = t.controller()
    new = other_than(t, old)
    move(t, new)
    t.run(seconds=1)
    assert [t.state("orders", it) for it in range(4)] == before
    shop.produce("orders", "b")
    shop.make("bills")
    shop.produce("bills", "c")
    assert shop.read("orders") == ["a", "b"]
    assert history(t).controllers[-1].why == f"broker {old} handed over: an operator"


def test_a_move_there_and_back_and_there(t: ClusterScenario) -> None:
    """Each is an epoch; what was watched for a move is not watched for ever."""
    first = t.controller()
    assert first is not None
    epoch = t.epoch()
    for number in (other_than(t, first), first, other_than(t, first)):
        move(t, number)
    assert t.epoch() == epoch + 3
    shop = t.client("shop")
    shop.make("orders", partitions=2)
    shop.produce("orders", "a", partition=1)


def test_a_controller_that_moves_often_is_named(t: ClusterScenario) -> None:
    """For half an hour, as the alert; a rolling restart, which moves it once, is not held up."""
    first = int(t.controller() or 0)
    operator = t.client("operator")
    told = []
    for number in (other_than(t, first), first) * 3:
        found = operator.does(cluster_health.decided_problems(operator.cluster))
        told.append([it.cause for it in found if it.problem == cluster_health.MOVES_OFTEN])
        move(t, number)
    why = cluster_health.WHY_IT_MOVES
    assert told == [[], [], [], [], [], [f"it has moved 5 times in half an hour: {why}"]]


def test_what_changed_during_a_hand_over_is_seen_when_the_controller_is_back(
    t: ClusterScenario,
) -> None:
    """What waited in its queue then does not keep it from hearing of anything later."""
    first = int(t.controller() or 0)
    other, third = (it for it in t.brokers if it != first)
    for number in (other, first, other, first):
        t.put("/admin/delete_topics/unknown", b"")
        move(t, number)
    t.broker(third).kill()
    t.run(seconds=1)
    t.broker(third).start()


def test_the_candidate_is_killed_before_it_is_ready(t: ClusterScenario) -> None:
    """The controller goes on as before, and says why."""
    old = t.controller()
    new = other_than(t, old)
    t.cut("zookeeper", new)
    wish(t, new)
    t.run(seconds=0.2)
    t.broker(new).kill()
    assert "process" in refusal(t)
    t.heal()
    assert t.acts() == [old]


def test_the_candidate_is_killed_when_it_is_ready(t: ClusterScenario) -> None:
    """Wherever that finds the hand-over, there is a controller soon."""
    old = t.controller()
    new = other_than(t, old)
    t.cut("zookeeper", int(old or 0))
    wish(t, new)
    t.wait_until(lambda: is_ready(t), "it is ready")
    t.broker(new).kill()
    t.heal()
    t.run(seconds=0.5)
    assert t.acts() not in ([], [new])


def test_the_candidate_hangs_after_the_hand_over(t: ClusterScenario) -> None:
    """The controller decides nothing for as long as the lease, then it goes on."""
    shop = t.client("shop")
    old = t.controller()
    new = other_than(t, old)
    t.cut("zookeeper", int(old or 0))
    wish(t, new)
    t.wait_until(lambda: is_ready(t), "it is ready")
    t.broker(new).machine.pause()
    t.heal()
    assert "did not take over" in refusal(t)
    assert t.acts()[:1] == [old] or old in t.acts()
    shop.make("orders", replicas=2)
    t.broker(new).machine.resume()
    t.wait_until(lambda: is_tidy(t), "nothing is left of the move")
    assert t.acts() == [old]


def test_controller_and_candidate_are_killed_together(t: ClusterScenario) -> None:
    """Case II of KIP-39: the third has abstained, and competes without waiting for sessions."""
    old = t.controller()
    new = other_than(t, old)
    third = other_than(t, old, new)
    t.cut("zookeeper", int(old or 0))
    wish(t, new)
    t.wait_until(lambda: is_ready(t), "it is ready")
    t.run(seconds=0.1)
    t.broker(new).kill()
    t.broker(int(old or 0)).kill()
    t.heal()
    t.run(seconds=0.5)
    assert t.acts() == [third]


def test_both_are_killed_before_the_third_could_watch_the_candidate(t: ClusterScenario) -> None:
    """It waits for no session all the same: for no longer than the lease."""
    old = t.controller()
    new = other_than(t, old)
    third = other_than(t, old, new)
    t.cut("zookeeper", int(old or 0))
    wish(t, new)
    t.wait_until(lambda: is_ready(t), "it is ready")
    t.broker(new).kill()
    t.broker(int(old or 0)).kill()
    t.heal()
    t.run(seconds=2.5)
    assert t.acts() == [third]


def test_the_controller_is_killed_while_another_is_ready(t: ClusterScenario) -> None:
    """The others abstain for that one."""
    old = t.controller()
    new = other_than(t, old)
    t.cut("zookeeper", int(old or 0))
    wish(t, new)
    t.wait_until(lambda: is_ready(t), "it is ready")
    t.broker(int(old or 0)).kill()
    t.heal()
    t.run(seconds=0.5)
    assert t.acts() == [new]
    t.wait_until(lambda: is_tidy(t), "nothing is left of the move")


def test_the_new_controller_is_killed_at_once(t: ClusterScenario) -> None:
    """Before it could tell anybody who it is; ZooKeeper has told them."""
    old = t.controller()
    new = other_than(t, old)
    wish(t, new)
    t.wait_until(lambda: t.controller() == new, "it is elected")
    t.broker(new).kill()
    t.run(seconds=0.5)
    assert t.acts() not in ([], [new])


def test_of_two_wishes_the_later_one_wins(t: ClusterScenario) -> None:
    """However far the first has come."""
    old = t.controller()
    first = other_than(t, old)
    second = other_than(t, old, first)
    wish(t, first, name="first")
    wish(t, second, name="second")
    t.wait_until(lambda: is_tidy(t), "nothing is left of the moves")
    t.run(seconds=1)
    assert t.acts() in ([first], [second])
    if t.acts() == [first]:
        assert "epoch" in refusal(t, "second")
    else:
        assert refusal(t, "second") == ""


def test_a_wish_of_an_earlier_epoch_moves_nothing(t: ClusterScenario) -> None:
    """It was made about another controller."""
    old = t.controller()
    wish(t, other_than(t, old), epoch=t.epoch() - 1)
    assert "epoch" in refusal(t)
    assert t.acts() == [old]


def test_znodes_that_make_no_sense_move_nothing(t: ClusterScenario) -> None:
    """They are taken away, and the next wish is fulfilled."""
    old = t.controller()
    t.put("/admin/ready_to_serve", b"nonsense")
    t.put("/admin/controller_history", b"nonsense")
    t.put(NextControllerZnode.PATH, b"3")
    t.wait_until(lambda: t.data(NextControllerZnode.PATH) is None, "it is taken away")
    assert t.acts() == [old]
    move(t, other_than(t, old))


def test_a_move_while_a_disk_fails(t: ClusterScenario) -> None:
    """The old controller sees it, or the new one: the partition is led elsewhere."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    leader = t.leader("orders")
    wish(t, other_than(t, t.controller()))
    t.broker(leader).fail_disk(t.broker(leader).disk_of("orders"))
    shop.produce("orders", "b")
    assert t.leader("orders") != leader
    t.wait_until(lambda: is_tidy(t), "nothing is left of the move")
    assert shop.read("orders") == ["a", "b"]


def test_a_disk_that_failed_before_is_known_to_the_new_controller(t: ClusterScenario) -> None:
    """It was handed over: nothing is led there in between."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    leader = t.leader("orders")
    t.broker(leader).fail_disk(t.broker(leader).disk_of("orders"))
    shop.produce("orders", "b")
    state = t.state("orders")
    move(t, other_than(t, t.controller()))
    t.run(seconds=1)
    assert t.state("orders") == state


def test_a_move_while_a_topic_is_deleted(t: ClusterScenario) -> None:
    """The deletion goes on under the new controller."""
    shop = t.client("shop")
    shop.make("orders", partitions=4)
    shop.produce("orders", "a")
    wish(t, other_than(t, t.controller()))
    deleting = shop.begins(shop.deleting("orders"))
    t.wait_until(
        lambda: (
            t.data("/brokers/topics/orders") is None
            and t.data(DeleteTopicZnode.path("orders")) is None
        ),
        "it is deleted",
    )
    t.wait_until(deleting.done, "its client is answered")
    t.wait_until(lambda: is_tidy(t), "nothing is left of the move")


def test_a_move_while_zookeeper_restarts(t: ClusterScenario) -> None:
    """Nothing is decided without it; afterwards the wish is fulfilled or refused, for good."""
    new = other_than(t, t.controller())
    wish(t, new)
    t.zookeeper.machine.kill()
    t.run(seconds=1)
    t.zookeeper.start()
    t.wait_until(lambda: is_tidy(t), "nothing is left of the move")
    t.wait_until(lambda: len(t.acts()) == 1, "there is a controller")
    move(t, other_than(t, t.controller()))


def test_a_controller_that_stops_hands_over_first(t: ClusterScenario) -> None:
    """Its followers need not notice that it has gone."""
    old = int(t.controller() or 0)
    t.broker(old).stop()
    t.run(seconds=0.1)
    assert history(t).controllers[-1].why == f"broker {old} handed over: broker {old} stops"
    t.broker(old).start()


def test_in_a_rolling_restart_the_controller_moves_twice_at_most(t: ClusterScenario) -> None:
    """Away from where it was, to a broker that was restarted already, and no further."""
    epoch = t.epoch()
    old = int(t.controller() or 0)
    order = [old, *(it for it in t.brokers if it != old)]
    for number in order:
        t.broker(number).stop()
        t.broker(number).start()
        await_controller(t, int(t.controller() or 0))
    assert t.epoch() - epoch <= 2


def test_a_candidate_that_was_cut_off_while_it_was_ready_reads_all_again(
    t: ClusterScenario,
) -> None:
    """It cannot know what it was not told; the topic that came meanwhile is there."""
    shop = t.client("shop")
    old = int(t.controller() or 0)
    new = other_than(t, old)
    wish(t, new)
    t.break_connections(new)
    shop.make("orders")
    t.wait_until(lambda: is_tidy(t), "nothing is left of the move")
    if t.acts() != [new]:
        move(t, new)
    shop.produce("orders", "a")
    t.broker(t.leader("orders")).kill()
    shop.produce("orders", "b")
    assert shop.read("orders") == ["a", "b"]
