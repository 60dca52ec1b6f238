"""What DeleteRecords has answered stays deleted, whoever may lead next.

Its answer waits for all who may: the ISR, and those who are eligible. Who else is away deletes the
same before it can join the ISR, and so before it may lead.
"""

from odradek.client.admin import admin
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.scenarios.operator import Operator
from tests.scenarios.cluster.placed import move, other_than

ORDERS = TopicPartition("orders", 0)
CALM = {"auto.leader.rebalance.enable": "false"}


def written(t: ClusterScenario, *replicas: int, min_isr: str) -> Operator:
    """A topic with three records, of which every replica knows that they are committed."""
    operator = t.operator()
    operator.places("orders", replicas, min_insync_replicas=min_isr)
    for value in ("a", "b", "c"):
        operator.produce("orders", value)
    t.run(seconds=1)
    return operator


def test_nothing_is_deleted_while_somebody_away_could_bring_it_back(t: ClusterScenario) -> None:
    """Below min.insync.replicas an eligible replica may lead, with the records that it had."""
    shop = t.operator()
    shop.places("orders", (1, 2, 3), min_insync_replicas="2")
    for value in ("a", "b", "c"):
        shop.produce("orders", value)
    t.run(seconds=1)
    leader = t.leader("orders")
    for broker in t.others(leader):
        broker.stop()
    t.await_isr("orders", leader)
    trimming = admin.delete_records(shop.cluster, {TopicPartition("orders", 0): 2})
    assert shop.refusal_of(trimming) is ErrorCode.REQUEST_TIMED_OUT
    for broker in t.others(leader):
        broker.start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.trims("orders", 2) == 2


def test_a_deletion_waits_for_no_fetch_that_waits_for_records(t: ClusterScenario) -> None:
    """Followers are told at once, and tell at once: nobody writes, and each fetch would wait."""
    operator = written(t, 1, 2, 3, min_isr="2")
    trimming = operator.begins(admin.delete_records(operator.cluster, {ORDERS: 2}))
    t.run(seconds=0.2)
    assert trimming.done()
    assert operator.ends(trimming) == {"orders-0": 2}


@staged(settings=CALM)
def test_a_deletion_that_is_told_to_an_overtaken_fetch_is_carried_out(t: ClusterScenario) -> None:
    """A follower says where it begins while the answer is on its way that names the next start."""
    operator = written(t, 1, 2, 3, min_isr="2")
    leader = t.leader("orders")
    other = t.broker(t.followers("orders")[0])
    disk = other.disk_of("orders")
    other.hang_disk(disk)
    first = operator.begins(operator.trimming("orders", 1))
    t.run(seconds=0.1)
    t.cut(other.number, leader)
    other.release_disk(disk)
    t.run(seconds=0.1)
    second = operator.begins(operator.trimming("orders", 2))
    t.run(seconds=0.1)
    t.heal()
    assert operator.ends(first) >= 1
    t.run(seconds=1)
    assert second.done()
    assert operator.ends(second) == 2


@staged(settings=CALM)
def test_a_deletion_is_answered_once_nobody_away_may_lead(t: ClusterScenario) -> None:
    """The number is lowered while it waits; who was eligible comes back, and deletes first."""
    operator = written(t, 1, 2, min_isr="2")
    leader = t.leader("orders")
    other = t.broker(other_than(t, leader, 3))
    other.stop()
    t.await_isr("orders", leader)
    trimming = operator.begins(admin.delete_records(operator.cluster, {ORDERS: 2}))
    t.run(seconds=1)
    assert not trimming.done()
    t.operator().sets("orders", min_insync_replicas="1")
    assert operator.ends(trimming) == {"orders-0": 2}
    t.broker(leader).stop()
    other.start()
    t.run(seconds=20)
    assert t.state("orders").leader is None
    t.broker(leader).start()
    t.await_isr("orders", 1, 2)
    t.broker(leader).stop()
    assert t.await_new_leader("orders", leader) == other.number
    assert operator.read("orders") == ["c"]


@staged(settings=CALM)
def test_a_deletion_waits_for_no_replica_that_is_only_being_added(t: ClusterScenario) -> None:
    """A replica that has never joined is not eligible, though fewer than the number are in sync."""
    operator = written(t, 1, min_isr="2")
    move(t, 3)
    t.cut(1, 2)
    t.cut(2, 1)
    assert operator.moves("orders", 1, 2) is ErrorCode.NONE
    t.broker(2).kill()
    t.run(seconds=1)
    assert operator.trims("orders", 2) == 2
    t.heal()
    t.broker(2).start()
    t.await_isr("orders", 1, 2)
    t.broker(1).stop()
    assert t.await_new_leader("orders", 1) == 2
    assert operator.read("orders") == ["c"]


@staged(settings=CALM)
def test_a_deletion_with_one_in_sync_of_one_is_brought_back_by_nobody(t: ClusterScenario) -> None:
    """With min.insync.replicas 1 nobody is eligible: who was away joins first."""
    operator = written(t, 1, 2, min_isr="1")
    leader = t.leader("orders")
    other = t.broker(other_than(t, leader, 3))
    other.kill()
    t.await_isr("orders", leader)
    assert operator.trims("orders", 2) == 2
    t.broker(leader).kill()
    other.start()
    t.run(seconds=20)
    assert t.state("orders").leader is None
    t.broker(leader).start()
    t.await_isr("orders", 1, 2)
    t.broker(leader).kill()
    assert t.await_new_leader("orders", leader) == other.number
    assert operator.read("orders") == ["c"]


@staged(settings=CALM)
def test_a_deletion_is_not_undone_by_a_replica_that_was_moved_away_and_back(
    t: ClusterScenario,
) -> None:
    """It was dead when it was moved away, and has its old log when it is a replica again."""
    operator = written(t, 1, 2, min_isr="1")
    move(t, 3)
    t.broker(2).kill()
    t.await_isr("orders", 1)
    assert operator.moves("orders", 1, 3) is ErrorCode.NONE
    t.await_isr("orders", 1, 3)
    assert operator.trims("orders", 2) == 2
    t.broker(2).start()
    assert operator.moves("orders", 1, 2) is ErrorCode.NONE
    t.await_isr("orders", 1, 2)
    t.broker(1).stop()
    assert t.await_new_leader("orders", 1) == 2
    assert operator.read("orders") == ["c"]


@staged(settings=CALM)
def test_a_deletion_is_not_undone_by_a_log_that_lost_records_and_is_whole_again(
    t: ClusterScenario,
) -> None:
    """It becomes whole by joining, and joins only from where its leader's log begins."""
    operator = written(t, 1, 2, min_isr="1")
    leader = t.leader("orders")
    other = t.broker(other_than(t, leader, 3))
    other.cut_power()
    t.await_isr("orders", leader)
    assert operator.trims("orders", 2) == 2
    other.start()
    t.await_isr("orders", 1, 2)
    t.broker(leader).kill()
    assert t.await_new_leader("orders", leader) == other.number
    assert operator.read("orders") == ["c"]


@staged(settings=CALM)
def test_a_log_that_an_unclean_election_cuts_below_its_start_keeps_what_comes_then(
    t: ClusterScenario,
) -> None:
    """The start that it had is told to nobody any more; what is acknowledged since is in it."""
    operator = written(t, 1, 2, 3, min_isr="1")
    move(t, 3)
    t.broker(2).kill()
    t.await_isr("orders", 1, 3)
    for value in ("d", "e"):
        operator.produce("orders", value)
    assert operator.trims("orders", 5) == 5
    t.broker(1).kill()
    t.await_isr("orders", 3)
    t.broker(3).kill()
    t.broker(2).start()
    t.wait_until(lambda: t.controller() == 2, "it is the controller")
    assert t.operator(2).elects("orders", uncleanly=True) is ErrorCode.NONE
    t.broker(1).start()
    t.await_isr("orders", 1, 2)
    survivor = t.operator(2)
    survivor.produce("orders", "x")
    t.run(seconds=1)
    t.broker(1).kill()
    t.broker(2).kill()
    t.broker(1).start()
    t.await_new_leader("orders", 2)
    assert t.operator(1).read("orders")[-1] == "x"


def arriving(t: ClusterScenario, operator: Operator, broker: NumberedBroker) -> str:
    """Its log is about to be served from this dir, where all is noted, and which is slow now."""
    disk = broker.other_disk("orders")
    renaming = Fault(0, calls=frozenset({"rename"}), path="*-future", pause=500_000)
    broker.machine.disk(disk).faults.rows.append(renaming)
    assert operator.move(broker.number, "orders", broker.path_of(disk)) is ErrorCode.NONE
    t.wait_until(lambda: renaming.hits, "the log gets its name there")
    return disk


@staged(settings=CALM)
def test_a_deletion_at_the_end_of_a_move_between_log_dirs_is_durable_in_the_new_one(
    t: ClusterScenario,
) -> None:
    """What the old dir's checkpoint says of the log counts no more after a crash."""
    operator = written(t, 1, min_isr="1")
    broker = t.broker(1)
    disk = arriving(t, operator, broker)
    assert operator.trims("orders", 2) == 2
    t.wait_until(lambda: broker.disk_of("orders") == disk, "it is served from there")
    broker.kill()
    broker.start()
    assert broker.disk_of("orders") == disk
    assert operator.read("orders") == ["c"]


@staged(settings={**CALM, "log.retention.check.interval.ms": "100"})
def test_what_retention_deletes_at_the_end_of_a_move_between_log_dirs_stays_deleted(
    t: ClusterScenario,
) -> None:
    """A deletion that asks for no more than that is answered at once, and as good as another."""
    operator = t.operator()
    operator.places("orders", [1], min_insync_replicas="1", segment_bytes="100")
    for value in ("a", "b", "c"):
        operator.produce("orders", value)
    broker = t.broker(1)
    before, disk = broker.disk_of("orders"), arriving(t, operator, broker)
    leaving = Fault(0, calls=frozenset({"rename"}), path="orders-0", pause=5_000_000)
    broker.machine.disk(before).faults.rows.append(leaving)
    operator.sets("orders", retention_bytes="100")
    t.run(seconds=0.3)
    operator.sets("orders", retention_bytes="-1")
    t.wait_until(lambda: broker.disk_of("orders") == disk, "it is served from there")
    start = operator.trims("orders", 1)
    broker.kill()
    broker.start()
    assert operator.read("orders") == ["a", "b", "c"][start:]


@staged(settings=CALM)
def test_a_deletion_is_told_again_to_a_follower_whose_log_has_moved_meanwhile(
    t: ClusterScenario,
) -> None:
    """It is followed anew, in the session of before: what it was told was about to be done."""
    operator = written(t, 1, 2, 3, min_isr="2")
    operator.places("others", (1, 2, 3), (2, 3, 1), (3, 1, 2))
    t.run(seconds=2)
    broker = t.broker(t.followers("orders")[0])
    before, disk = broker.disk_of("orders"), broker.other_disk("orders")
    rename = frozenset({"rename"})
    preparing = Fault(0, calls=rename, path="*-future/moved-here*", pause=20_000)
    broker.machine.disk(disk).faults.rows.append(preparing)
    assert operator.move(broker.number, "orders", broker.path_of(disk)) is ErrorCode.NONE
    t.wait_until(lambda: preparing.hits, "all is prepared there")
    noting = Fault(0, calls=rename, path="log-start-offset-checkpoint*", pause=60_000, times=1)
    broker.machine.disk(before).faults.rows.append(noting)
    deleting = operator.begins(operator.trimming("orders", 2))
    t.run(seconds=3)
    assert noting.hits
    assert broker.disk_of("orders") == disk
    assert deleting.done()
    assert operator.ends(deleting) == 2


@staged(settings=CALM)
def test_who_deleted_more_than_the_leader_has_copies_all_of_the_leaders(t: ClusterScenario) -> None:
    """After an unclean election records are back that the others had deleted: they count again."""
    shop = written(t, 1, 2, 3, min_isr="2")
    late = t.broker(3)
    late.kill()
    t.await_isr("orders", 1, 2)
    for value in ("d", "e", "f"):
        shop.produce("orders", value)
    assert shop.trims("orders", 5) == 5
    for number in (1, 2):
        t.broker(number).stop()
    late.start()
    assert t.operator(3).elects("orders", uncleanly=True) is ErrorCode.NONE
    t.wait_until(lambda: t.state("orders").leader == 3, "the late one leads")
    for number in (1, 2):
        t.broker(number).start()
    t.await_isr("orders", 1, 2, 3)
    late.kill()
    t.wait_until(lambda: t.state("orders").leader in {1, 2}, "another leads")
    assert shop.read("orders") == ["a", "b", "c"]
