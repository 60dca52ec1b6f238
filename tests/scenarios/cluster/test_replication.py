"""Leaders, followers and the ISR: what is replicated, and what an acknowledgement is worth."""

from odradek.client.admin.placement import Election, elect
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged


def test_what_is_acknowledged_is_on_every_member_of_the_isr(t: ClusterScenario) -> None:
    """acks=all answers once the whole ISR has the record."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a", "b")
    assert {*t.state("orders").isr} == {1, 2, 3}
    assert [broker.log_end("orders") for broker in t.brokers.values()] == [2, 2, 2]


def test_followers_learn_the_high_watermark(t: ClusterScenario) -> None:
    """With the next fetch after it has moved, so that one of them may lead without asking."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    t.run(seconds=1)
    assert [broker.high_watermark("orders") for broker in t.brokers.values()] == [1, 1, 1]


def test_a_follower_takes_over_when_the_leader_dies(t: ClusterScenario) -> None:
    """Its process is gone, which the controller sees at once: no session has to expire."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    dead = t.leader("orders")
    t.broker(dead).kill()
    shop.produce("orders", "b")
    assert shop.read("orders") == ["a", "b"]
    assert t.leader("orders") != dead
    assert dead not in t.state("orders").isr


def test_a_broker_that_lost_power_is_replaced_when_its_session_is_over(t: ClusterScenario) -> None:
    """Nobody is told; a time-out proves nothing, so the session decides."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    dead = t.leader("orders")
    t.broker(dead).cut_power()
    shop.produce("orders", "b")
    assert shop.read("orders") == ["a", "b"]
    assert t.leader("orders") != dead


def test_a_follower_that_returns_catches_up_and_joins_the_isr(t: ClusterScenario) -> None:
    """It fetches what it has missed; the leader proposes, the controller writes."""
    shop = t.client("shop")
    shop.make("orders")
    gone = t.followers("orders")[0]
    t.broker(gone).kill()
    t.await_isr("orders", *{1, 2, 3} - {gone})
    shop.produce("orders", *map(str, range(20)))
    t.broker(gone).start()
    t.await_isr("orders", 1, 2, 3)
    assert t.broker(gone).log_end("orders") == 20


def test_retention_on_the_followers_holds_up_nothing(t: ClusterScenario) -> None:
    """Each broker deletes what is too old by itself, whoever is first; then replication goes on."""
    shop = t.client("shop")
    shop.make("orders", retention_ms="1000")
    shop.produce("orders", "a")
    t.run(seconds=30)  # several times log.retention.check.interval.ms
    assert [broker.log_end("orders") for broker in t.brokers.values()] == [1, 1, 1]
    shop.produce("orders", "b")
    assert [broker.log_end("orders") for broker in t.brokers.values()] == [2, 2, 2]


def test_a_lonely_leader_refuses_acks_all(t: ClusterScenario) -> None:
    """Once the ISR is smaller than min.insync.replicas, nothing is written."""
    shop = t.client("shop")
    shop.make("orders")
    leader = t.leader("orders")
    for broker in t.others(leader):
        broker.kill()
    t.await_isr("orders", leader)
    end = t.broker(leader).log_end("orders")
    writing = shop.begins(shop.producing("orders", "a"))
    t.run(seconds=10)
    assert not writing.done()
    assert t.broker(leader).log_end("orders") == end
    t.others(leader)[0].start()
    shop.ends(writing)


def test_keep_in_sync_time(t: ClusterScenario) -> None:
    """A follower that is cut off leaves the ISR after replica.lag.time.max.ms; then acks go on."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "before")
    leader = t.leader("orders")
    slow = next(it for it in t.followers("orders") if it != t.controller())
    t.cut(slow, leader)
    writing = shop.begins(shop.producing("orders", "a"))
    t.run(seconds=1)
    assert not writing.done()
    shop.ends(writing)
    assert slow not in t.state("orders").isr
    t.heal()
    t.await_isr("orders", 1, 2, 3)


def test_a_leader_that_was_paused_past_its_session_finds_itself_replaced(
    t: ClusterScenario,
) -> None:
    """What it takes meanwhile is not acknowledged, and is truncated away when it follows."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    old = t.leader("orders")
    t.broker(old).machine.pause()
    t.await_new_leader("orders", old)
    shop.produce("orders", "b")
    t.broker(old).machine.resume()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b"]
    assert t.broker(old).log_end("orders") == 2


def test_acks_one_may_lose_what_the_leader_alone_had(t: ClusterScenario) -> None:
    """The follower that takes over never saw it; the old leader cuts it when it returns."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    old = t.leader("orders")
    for other in t.others(old):
        t.cut(old, other.number)
        t.cut(other.number, old)
    shop.produce("orders", "lost", acks=1)
    assert t.broker(old).log_end("orders") == 2
    t.break_connections(old)
    t.broker(old).kill()
    t.heal()
    t.await_new_leader("orders", old)
    shop.produce("orders", "b")
    t.broker(old).start()
    t.await_isr("orders", 1, 2, 3)
    logs = {broker.log_end("orders") for broker in t.brokers.values()}
    assert (logs, shop.read("orders")) == ({2}, ["a", "b"])


def test_the_controller_dies_while_it_leads(t: ClusterScenario) -> None:
    """Another broker is the controller at once, and the partitions of the dead one are led."""
    shop = t.client("shop")
    shop.make("orders", partitions=6)
    dead = t.controller()
    assert dead is not None
    t.broker(dead).kill()
    for partition in range(6):
        shop.produce("orders", "a", partition=partition)
    assert t.controller() not in {None, dead}
    assert all(t.leader("orders", partition) != dead for partition in range(6))


def test_a_controlled_shutdown_leaves_no_partition_without_a_leader(t: ClusterScenario) -> None:
    """Leaderships move first, so that no client waits for a broker that is gone."""
    shop = t.client("shop")
    shop.make("orders", partitions=6)
    for number in (1, 2, 3):
        t.broker(number).stop()
        assert all(t.leader("orders", partition) != number for partition in range(6))
        for partition in range(6):
            shop.produce("orders", "a", partition=partition)
        t.broker(number).start()
        for partition in range(6):
            t.await_isr("orders", 1, 2, 3, partition=partition)


def test_while_zookeeper_is_gone_clients_go_on(t: ClusterScenario) -> None:
    """Nothing is elected meanwhile; nothing else changes."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "before")
    t.zookeeper.machine.kill()
    shop.produce("orders", "a")
    t.run(seconds=1)
    shop.produce("orders", "b")
    t.zookeeper.start()
    t.run(seconds=2)
    shop.produce("orders", "c")
    assert shop.read("orders") == ["before", "a", "b", "c"]


def test_another_client_is_told_the_truth_by_every_broker(t: ClusterScenario) -> None:
    """What one broker was asked to make is known to all, and made by the controller."""
    for number, broker in t.brokers.items():
        client = t.client(f"client-{number}")
        assert broker.process.serves
        client.make(f"topic-{number}", partitions=2)
        client.produce(f"topic-{number}", "a", partition=1)
    reader = t.client("reader")
    assert [reader.read(f"topic-{number}", 1) for number in t.brokers] == [["a"]] * 3


def test_a_group_outlives_its_coordinator(t: ClusterScenario) -> None:
    """Commits are replicated; another broker has them."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a", "b")
    member = shop.member("readers", "orders")
    assert list(member.joins().values()) == [0]
    assert member.commits("orders", 0, 2) is ErrorCode.NONE
    for number in (1, 2):
        t.broker(number).stop()
        assert list(shop.committed("readers").values()) == [2]
        t.broker(number).start()


def test_followers_go_on_after_the_log_was_trimmed_to_its_end(t: ClusterScenario) -> None:
    """Their logs begin where the leader's begins, and take what comes next."""
    shop = t.operator()
    shop.make("orders")
    shop.produce("orders", "a", "b", "c")
    assert shop.trims("orders", 3) == 3
    t.run(seconds=1)
    shop.produce("orders", "d")
    assert shop.read("orders") == ["d"]
    assert [broker.log_end("orders") for broker in t.brokers.values()] == [4, 4, 4]


@staged(brokers=5, own={it: {"preferred.controller": "true"} for it in (4, 5)})
def test_a_leader_that_has_missed_a_leadership_awaits_what_followers_have_now(
    t: ClusterScenario,
) -> None:
    """Elected again, it hears of both at once; a member has cut what it had from it before."""
    t.wait_until(lambda: t.controller() in {4, 5}, "a preferred broker is the controller")
    first = t.controller() or 0
    second = 9 - first
    operator = t.operator()
    operator.places("orders", (2, 1, 3))
    t.broker(2).stop()
    t.broker(2).start()
    t.await_isr("orders", 1, 2, 3)
    operator.produce("orders", "a")
    t.cut(1, 2)
    writing = operator.begins(operator.producing("orders", "b"))
    t.wait_until(lambda: t.broker(3).log_end("orders") == 2, "one follower has it")
    for number in (2, 3, 4, 5):
        t.cut(number, 1)
    partitions = [TopicPartition("orders", 0)]
    _ = operator.begins(elect(operator.cluster, Election.PREFERRED, partitions))
    t.wait_until(lambda: t.broker(3).log_end("orders") == 1, "it follows another, and cuts")
    for number in (2, first):
        t.break_connections(number)
        t.broker(number).kill()
        t.wait_until(lambda: t.state("orders").leader == 1, "the first leads again")
    t.wait_until(lambda: t.controller() == second, "another controller")
    t.world.wires.mend(f"broker-{second}", "broker-1")
    t.run(seconds=1)
    assert t.broker(1).high_watermark("orders") == t.broker(3).log_end("orders") == 1
    t.heal()
    operator.ends(writing)
    assert operator.read("orders") == ["a", "b"]


@staged(settings={"log.flush.offset.checkpoint.interval.ms": "600000"})
def test_what_was_deleted_stays_so_when_all_brokers_die(t: ClusterScenario) -> None:
    """Nobody answers, or tells another, where a log begins before that is durable."""
    shop = t.operator()
    shop.make("orders")
    shop.produce("orders", "a", "b", "c")
    t.run(seconds=1)
    assert shop.trims("orders", 2) == 2
    for broker in t.brokers.values():
        broker.kill()
    for broker in t.brokers.values():
        broker.start()
    t.wait_until(lambda: all(it.process.serves for it in t.brokers.values()), "they are back")
    assert shop.read("orders") == ["c"]
