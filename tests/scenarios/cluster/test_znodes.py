"""A znode that is missing, or cannot be read, is not a deletion: what users made stays."""

import json

import pytest

from odradek.client.admin import admin
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, PartitionZnode, TopicZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition, topic_id_text
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from tests.scenarios.cluster.placed import move

ORDERS = TopicPartition("orders", 0)
SECOND = TopicPartition("orders", 1)
STATE = PartitionStateZnode.path(ORDERS)


def remove(t: ClusterScenario, path: str) -> None:
    """By hand."""
    keeper = t.keeper("a person")
    keeper.does(keeper.zookeeper.delete(path))


def move_away(t: ClusterScenario) -> None:
    """Another broker is the controller, and reads the whole tree."""
    controller = t.controller()
    assert controller is not None
    move(t, t.others(controller)[0].number)


def test_a_topic_that_cannot_be_read_keeps_its_commits_and_is_served(t: ClusterScenario) -> None:
    """A new controller does not know it: its leader goes on, and groups go on where they were."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a", "b")
    member = shop.member("readers", "orders")
    member.joins()
    member.commits("orders", 0, 1)
    path = TopicZnode.path("orders")
    said = t.data(path)
    assert said is not None
    t.put(path, b"{")
    move_away(t)
    t.run(seconds=2)
    shop.produce("orders", "c")
    assert shop.committed("readers") == {ORDERS: 1}
    t.put(path, said)
    move_away(t)
    shop.produce("orders", "d")
    assert shop.committed("readers") == {ORDERS: 1}
    assert shop.read("orders") == ["a", "b", "c", "d"]


def test_a_lost_state_elects_nobody(t: ClusterScenario) -> None:
    """All that live would be in sync from the first epoch on, whatever their logs have."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    said = t.data(STATE)
    assert said is not None
    remove(t, STATE)
    move_away(t)
    t.run(seconds=15)
    assert t.data(STATE) is None
    t.put(STATE, said)
    move_away(t)
    shop.produce("orders", "b")
    assert shop.read("orders") == ["a", "b"]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_partition_whose_znodes_were_removed_is_not_new(
    t: ClusterScenario, count: int, *, is_made_again: bool
) -> None:
    """Those above count what they have lost; a new topic, beside it, gets its leaders."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    said, topic = t.data(STATE), t.data(TopicZnode.path("orders"))
    assert said is not None
    assert topic is not None
    paths = [PartitionZnode.path(ORDERS), PartitionZnode.parent("orders")]
    for path in [STATE, *paths][:count]:
        remove(t, path)
    if is_made_again:  # the controller learns of it by its watch, not by a whole look
        t.put(TopicZnode.path("orders"), b"{")
        move_away(t)
        t.put(TopicZnode.path("orders"), topic)
    else:
        move_away(t)
    shop.make("others")
    t.run(seconds=15)
    assert t.data(STATE) is None
    for path in reversed(paths[: count - 1]):
        t.put(path, b"")
    t.put(STATE, said)
    move_away(t)
    shop.produce("orders", "b")
    assert shop.read("orders") == ["a", "b"]


def test_a_state_that_was_put_back_can_change_again(t: ClusterScenario) -> None:
    """Its versions begin anew, and its leader is further: another leader epoch makes them agree."""
    shop = t.client("shop")
    shop.make("orders")
    leader, (one, two) = t.leader("orders"), t.followers("orders")
    for follower in (one, two):
        t.broker(follower).kill()
        t.await_isr("orders", *({1, 2, 3} - {follower}))
        t.broker(follower).start()
        t.await_isr("orders", 1, 2, 3)
    before, said = t.state("orders"), t.data(STATE)
    assert said is not None
    remove(t, STATE)
    t.put(STATE, said)
    move(t, leader if t.controller() == one else one)
    assert t.state("orders").partition_epoch < before.partition_epoch
    t.cut(two, leader)
    producing = shop.begins(shop.producing("orders", "a"))
    t.await_isr("orders", leader, one)
    t.heal()
    assert shop.ends(producing) == 0
    t.await_isr("orders", 1, 2, 3)
    assert t.state("orders").leader_epoch > before.leader_epoch


def mistype_under_another(t: ClusterScenario, *candidates: int) -> bytes:
    """The next controller, one of these, cannot read the topic; what it said is returned."""
    path = TopicZnode.path("orders")
    said = t.data(path)
    assert said is not None
    t.put(path, b"{")
    move(t, next(it for it in candidates if it != t.controller()))
    t.run(seconds=1)
    return said


def test_an_isr_that_a_controller_knew_nothing_of_changes_once_its_topic_is_mended(
    t: ClusterScenario,
) -> None:
    """Its leader was told that there is no such topic, while a follower came back."""
    shop = t.client("shop")
    shop.make("orders")
    leader, (one, two) = t.leader("orders"), t.followers("orders")
    t.broker(one).kill()
    t.await_isr("orders", leader, two)
    said = mistype_under_another(t, leader, two)
    t.broker(one).start()
    t.run(seconds=5)
    t.put(TopicZnode.path("orders"), said)
    t.await_isr("orders", 1, 2, 3)
    shop.produce("orders", "a")


def test_a_leader_that_came_back_while_its_topic_could_not_be_read_leads_again(
    t: ClusterScenario,
) -> None:
    """The only member of the ISR was told nothing by a controller that knew nothing of it."""
    op = t.operator()
    leader = next(it.number for it in t.others(t.controller() or 0))
    op.places("orders", (leader,))
    op.produce("orders", "a")
    said = mistype_under_another(t, *(it.number for it in t.others(leader)))
    t.broker(leader).kill()
    t.run(seconds=5)
    t.broker(leader).start()
    t.run(seconds=5)
    t.put(TopicZnode.path("orders"), said)
    op.produce("orders", "b")
    assert op.read("orders") == ["a", "b"]


def test_a_deletion_goes_on_once_its_topic_is_mended(t: ClusterScenario) -> None:
    """The controller that began meanwhile did not know which topic it had found a mark of."""
    operator = t.operator()
    controller = t.controller() or 0
    away, other = t.others(controller)
    operator.places("orders", (controller, other.number, away.number), min_insync_replicas="1")
    away.kill()
    t.await_isr("orders", controller, other.number)
    epoch = t.state("orders").leader_epoch
    deleting = operator.begins(operator.deleting("orders"))
    t.wait_until(lambda: other.log("orders") is None, "who can be reached has deleted it")
    said = mistype_under_another(t, other.number)
    t.put(TopicZnode.path("orders"), said)
    t.run(seconds=3)
    assert t.state("orders").leader_epoch == epoch
    assert other.log("orders") is None
    away.start()
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    deleting.cancel()


def test_a_log_moved_away_from_a_broker_that_was_away_goes_once_its_topic_is_mended(
    t: ClusterScenario,
) -> None:
    """When it came back the controller could not say whose replica is where."""
    leader, other, away = 1, 2, 3
    operator = t.operator()
    operator.places("orders", (leader, other, away))
    operator.produce("orders", "a")
    t.broker(away).kill()
    t.await_isr("orders", leader, other)
    assert operator.moves("orders", leader, other) is ErrorCode.NONE
    t.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
    said = mistype_under_another(t, leader, other)
    t.broker(away).start()
    t.run(seconds=2)
    assert t.broker(away).log_end("orders") == 1, "what cannot be read is not deleted"
    t.put(TopicZnode.path("orders"), said)
    t.wait_until(lambda: t.broker(away).log_end("orders") == -1, "nothing is left of it")


@pytest.mark.parametrize(
    "mistyped", [{"partitions": {}}, {"topic_id": topic_id_text(TopicId(b"another id here!"))}]
)
def test_a_lost_state_elects_nobody_whatever_else_is_wrong(
    t: ClusterScenario, mistyped: dict[str, object]
) -> None:
    """Its topic names no partition, or has another id, for a controller that reads it so."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    state, path = t.data(STATE), TopicZnode.path("orders")
    topic = t.data(path)
    assert state is not None
    assert topic is not None
    t.put(path, json.dumps(json.loads(topic) | mistyped).encode())
    remove(t, STATE)
    move_away(t)
    t.run(seconds=5)
    t.put(path, topic)
    t.run(seconds=5)
    assert t.data(STATE) is None
    if mistyped == {"partitions": {}}:  # a topic of another id is another topic
        t.put(STATE, state)
        move_away(t)
        shop.produce("orders", "b")
        assert shop.read("orders") == ["a", "b"]


def test_a_reassignment_goes_on_once_its_topic_is_mended(t: ClusterScenario) -> None:
    """All its new replicas are in sync; a controller that did not know it has begun meanwhile."""
    op = t.operator()
    leaving, staying = (it.number for it in t.others(t.controller() or 0))
    op.places("orders", (leaving, staying))
    op.produce("orders", "a")
    t.await_isr("orders", leaving, staying)
    said = json.loads(mistype_under_another(t, staying, leaving))
    t.put(
        TopicZnode.path("orders"),
        json.dumps(said | {"removing_replicas": {"0": [leaving]}}).encode(),
    )
    t.await_isr("orders", staying)
    t.wait_until(lambda: not op.ongoing(), "it is over")
    assert op.read("orders") == ["a"]


def test_growth_beside_lost_states_makes_none_of_them_new(t: ClusterScenario) -> None:
    """The znode above the partitions is made again by it, and has lost no child itself."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    for path in (STATE, PartitionZnode.path(ORDERS), PartitionZnode.parent("orders")):
        remove(t, path)
    move_away(t)
    assert t.operator().grows("orders", 2) is ErrorCode.NONE
    t.wait_until(lambda: t.state("orders", 1).leader, "what is new has a leader")
    move_away(t)
    t.run(seconds=15)
    assert t.data(STATE) is None


def test_growth_goes_on_though_the_topic_has_lost_states_once(t: ClusterScenario) -> None:
    """A partition without a state may then be one that was lost: it is made with its state."""
    shop = t.client("shop")
    shop.make("orders")
    said = t.data(STATE)
    assert said is not None
    remove(t, STATE)
    remove(t, PartitionZnode.path(ORDERS))
    t.put(PartitionZnode.path(ORDERS), b"")
    t.put(STATE, said)
    move_away(t)
    t.run(seconds=2)
    controller = t.controller()
    assert controller is not None
    operator, topic = t.operator(), TopicZnode.path("orders")
    before = t.tree.nodes[topic].version
    _growing = operator.begins(admin.grow_topic(operator.cluster, "orders", 3))
    t.wait_until(lambda: t.tree.nodes[topic].version > before, "it has grown")
    t.broker(controller).kill()
    t.wait_until(lambda: t.controller() not in {None, controller}, "another is elected")
    t.run(seconds=15)
    assert all(t.state("orders", number).leader for number in range(3))


def test_a_topic_that_somebody_took_out_of_the_tree_leaves_its_logs(t: ClusterScenario) -> None:
    """Nobody has asked for its deletion: with its znodes it is back, whole."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    paths = [STATE, "/brokers/topics/orders/partitions/0", "/brokers/topics/orders/partitions"]
    said, state = t.data(TopicZnode.path("orders")), t.data(STATE)
    assert said is not None
    assert state is not None
    for path in (*paths, TopicZnode.path("orders")):
        remove(t, path)
    t.run(seconds=5)
    assert [it.log_end("orders") for it in t.brokers.values()] == [1, 1, 1]


@staged(settings={"log.retention.ms": "10000"})
def test_records_of_a_topic_whose_settings_cannot_be_read_are_not_deleted(
    t: ClusterScenario,
) -> None:
    """It may be one that keeps them for ever."""
    shop = t.client("shop")
    shop.make("orders", retention_ms="-1", segment_bytes="2000")
    for _ in range(20):
        shop.produce("orders", "x" * 500)
    t.put(SettingsZnode.path(Entity(EntityType.TOPICS, "orders")), b"{")
    for broker in t.brokers.values():
        broker.stop()
        broker.start()
    t.run(seconds=120)
    assert len(shop.read("orders")) == 20


def test_a_new_partition_without_a_live_replica_is_led_when_one_comes(t: ClusterScenario) -> None:
    """Until then it has no state, and health names it with the broker that it waits for."""
    operator, controller = t.operator(), t.controller()
    operator.make("orders")
    assert controller is not None
    away = t.others(controller)[0]
    away.kill()
    t.wait_until(lambda: t.data(BrokerZnode.path(BrokerId(away.number))) is None, "it is gone")
    said = json.loads(t.data(TopicZnode.path("orders")) or b"")
    said["partitions"]["1"] = [away.number]
    t.put(TopicZnode.path("orders"), json.dumps(said).encode())
    cause, state = f"broker {away.number} is not registered", PartitionStateZnode.path(SECOND)
    t.run(seconds=5)
    assert operator.problems()[cause]["no leader"] == {"orders": [1]}
    assert t.data(state) is None
    away.start()
    t.run(seconds=20)
    assert t.data(state)
    assert t.state("orders", 1).leader == away.number
    assert operator.produce("orders", "a", partition=1) == 0
    assert cause not in operator.problems()
