"""Cases that Kafka improvement proposals closed: each conversation is one of them."""

from odradek.sim.scenarios.cluster import ClusterScenario, staged


def test_kip_101_two_leaders_die_one_after_the_other(t: ClusterScenario) -> None:
    """Followers do not truncate to a high watermark that they have not yet learned.

    The third broker would cut what it has, and lead before it has fetched it again.
    """
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    first = t.leader("orders")
    t.broker(first).kill()
    second = t.await_new_leader("orders", first)
    t.broker(second).kill()
    third = t.await_new_leader("orders", second)
    assert t.broker(third).log_end("orders") == 1
    t.broker(first).start()
    t.broker(second).start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a"]


@staged(brokers=4)
def test_kip_279_an_epoch_that_the_leader_never_had(t: ClusterScenario) -> None:
    """It names the end of the epoch before, which is further than the follower has that one.

    The follower cuts where its own log left that epoch, or it keeps a record that nobody else has.
    """
    partition, values = _logs_part(t)
    t.run(seconds=5)
    assert len(t.state("orders", partition).isr) == 3
    t.broker(t.leader("orders", partition)).kill()
    shop = t.client("auditor")
    t.wait_until(lambda: t.state("orders", partition).leader is not None, "it is led")
    assert shop.read("orders", partition) == values


def logs_part_in_an_epoch(t: ClusterScenario) -> tuple[int, list[str]]:
    """In which partition, and what all of its replicas have: then they are in sync again."""
    partition, values = _logs_part(t)
    t.wait_until(lambda: len(t.state("orders", partition).isr) == 3, "all are in sync")
    return partition, values


def _logs_part(t: ClusterScenario) -> tuple[int, list[str]]:
    shop = t.client("shop")
    shop.make("orders", partitions=8)
    apart = [it for it in range(8) if t.controller() not in t.state("orders", it).isr]
    partition = apart[0]  # its brokers can be cut off from each other, not from the controller
    shop.produce("orders", "a", partition=partition)
    first, second, third = t.state("orders", partition).isr
    _cut(t, first, second)
    shop.produce("orders", "x", "y", partition=partition, acks=1)
    t.wait_until(lambda: t.broker(third).log_end("orders", partition) == 3, "it has them")
    _cut(t, second, third)
    _die(t, first)
    assert t.await_new_leader("orders", first, partition) == second
    shop.produce("orders", "only-second", partition=partition, acks=1)
    _die(t, second)
    t.heal()
    assert t.await_new_leader("orders", second, partition) == third
    shop.produce("orders", "b", partition=partition, acks=1)
    t.broker(second).start()
    t.broker(first).start()
    return partition, ["a", "x", "y", "b"]


def _cut(t: ClusterScenario, one: int, other: int) -> None:
    t.cut(one, other)
    t.cut(other, one)


def _die(t: ClusterScenario, number: int) -> None:
    t.break_connections(number)
    t.broker(number).kill()


def test_kip_380_a_bounce_that_nobody_saw_is_a_failure(t: ClusterScenario) -> None:
    """Another life of a broker has another epoch: it leads anew, and followers fetch anew."""
    shop = t.client("shop")
    shop.make("orders", partitions=3)
    controller = t.controller()
    assert controller is not None
    partition = next(number for number in range(3) if t.leader("orders", number) != controller)
    shop.produce("orders", "a", partition=partition)
    leader, epoch = t.leader("orders", partition), t.state("orders", partition).leader_epoch
    t.broker(controller).machine.pause()
    t.broker(leader).kill()
    t.broker(leader).begin()
    t.run(seconds=1)
    t.broker(controller).machine.resume()
    t.wait_until(lambda: t.state("orders", partition).leader_epoch > epoch, "another leadership")
    t.await_isr("orders", 1, 2, 3, partition=partition)
    shop.produce("orders", "b", partition=partition)
    assert shop.read("orders", partition) == ["a", "b"]


def test_kip_497_a_leader_without_zookeeper_changes_its_isr(t: ClusterScenario) -> None:
    """It asks the controller, which writes; a session of its own is not needed for that."""
    shop = t.client("shop")
    shop.make("orders", partitions=3)
    leads = {t.leader("orders", number): number for number in range(3)}
    leader = next(number for number in sorted(leads) if number != t.controller())
    partition = leads[leader]
    slow = next(it for it in t.brokers if it not in {leader, t.controller()})
    shop.produce("orders", "a", partition=partition)
    t.cut(slow, leader)
    writing = shop.begins(shop.producing("orders", "b", partition=partition))
    t.run(seconds=3)
    t.cut(leader, "zookeeper")
    t.cut("zookeeper", leader)
    shop.ends(writing)
    assert slow not in t.state("orders", partition).isr
    t.heal()
    t.await_isr("orders", 1, 2, 3, partition=partition)


def test_kip_966_who_left_a_set_that_was_too_small_may_lead(t: ClusterScenario) -> None:
    """Nothing was committed without it; the last member has lost what it had."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    last = t.leader("orders")
    early, late = t.followers("orders")
    t.broker(early).kill()
    t.await_isr("orders", last, late)
    shop.produce("orders", "b")
    t.broker(late).kill()
    t.await_isr("orders", last)
    assert t.state("orders").eligible == (late,)
    t.broker(last).cut_power()
    t.broker(early).start()
    t.run(seconds=10)
    assert t.state("orders").leader is None
    t.broker(late).start()
    t.wait_until(lambda: t.state("orders").leader == late, "who has all leads")
    t.broker(last).start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b"]


def test_kafka_13407_a_controller_goes_on_after_zookeeper_was_restarted(
    t: ClusterScenario,
) -> None:
    """It finds itself in /controller, and acts: it is no cluster with an idle controller."""
    shop = t.client("shop")
    shop.make("orders")
    before = t.controller()
    t.zookeeper.machine.kill()
    t.run(seconds=1)
    t.zookeeper.start()
    shop.make("payments")
    dead = t.leader("payments")
    t.broker(dead).kill()
    t.await_new_leader("payments", dead)
    assert before in {t.controller(), dead}
