"""Topics are made, grow and go (`on_topic_change`, `init_leaders`), by us or by others."""

import pytest

from odradek.controller.events import (
    CreationAsked,
    DeletionAsked,
    GrowthAsked,
    ReassignmentAsked,
    RetryIsDue,
    TreeChanged,
)
from odradek.controller.guarded_writes import WRITES_PER_MULTI
from odradek.controller.topics import Growth, NewTopic
from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.zookeeper.client.errors import OutcomeUnknown, RequestTooLarge
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.jute_requests import Create, Multi, Request
from tests.unit.controller.conversation import Conversation

ORDERS = ("orders", 0)
MARK = "/admin/delete_topics/orders"


def created(talk: Conversation, *wanted: NewTopic) -> dict[str, object]:
    """Codes of what was refused, None for what was made."""
    outcomes = talk.on(CreationAsked(wanted))
    return {name: it.code if isinstance(it, BrokerError) else None for name, it in outcomes.items()}


def test_init_leaders_takes_the_first_live_replica_and_all_live_ones_as_isr() -> None:
    """Nobody has anything yet; the log is new everywhere."""
    talk = Conversation(brokers=(2, 3)).begin()
    talk.topic("orders", (1, 2, 3))
    talk.topics_changed()
    assert talk.leads("orders") == (2, (2, 3), 0)
    assert all(talk.led(broker)[ORDERS].is_new for broker in (2, 3))


def test_without_a_live_replica_a_new_topic_waits() -> None:
    """It gets its leader when the first of them starts."""
    talk = Conversation(brokers=(3,)).begin()
    talk.topic("orders", (1, 2))
    talk.topics_changed()
    assert "/brokers/topics/orders/partitions" not in talk.tree.nodes
    talk.brokers(2, 3)
    assert talk.leads("orders") == (2, (2,), 0)


def test_leaders_know_before_clients_hear_of_them() -> None:
    """LeaderAndIsr goes out before UpdateMetadata."""
    talk = Conversation().begin()
    talk.sent.clear()
    talk.make("orders", (1, 2))
    assert talk.kinds(1) == ["LeaderAndIsr", "UpdateMetadata"]
    assert talk.kinds(3) == ["UpdateMetadata"]


def test_the_settings_of_a_new_topic_are_as_old_as_the_topic() -> None:
    """Whoever has read those of an earlier topic of the name, and is late, replaces nothing."""
    talk = Conversation().begin()
    created(talk, NewTopic("orders", 1, 1, settings={"retention.ms": "5"}))
    (made,) = talk.made
    assert made == (
        "orders",
        {"retention.ms": "5"},
        talk.tree.nodes["/brokers/topics/orders"].czxid,
    )


def test_two_growths_at_once_both_count() -> None:
    """Each is decided from the znode as it is, so the second adds to the first or is refused."""
    talk = Conversation().begin().make("orders", (1,))
    assert talk.on(GrowthAsked(Growth("orders", 5))) is None
    second = talk.on(GrowthAsked(Growth("orders", 3)))
    assert second.code is ErrorCode.INVALID_PARTITIONS
    assert sorted(talk.context.image.topics["orders"].partitions) == [0, 1, 2, 3, 4]
    assert talk.on(GrowthAsked(Growth("orders", 6))) is None
    assert talk.state("orders", 5).leader_epoch == 0


def test_a_growth_counts_what_somebody_else_has_added() -> None:
    """The image may be stale; the znode's own bytes are not."""
    talk = Conversation().begin().make("orders", (1,))
    topic = TopicAssignment(
        {0: Assignment((BrokerId(1),)), 1: Assignment((BrokerId(2),))},
        talk.context.image.topics["orders"].topic_id,
    )
    talk.tree.put("/brokers/topics/orders", TopicZnode.encode(topic))
    assert talk.on(GrowthAsked(Growth("orders", 2))).code is ErrorCode.INVALID_PARTITIONS
    assert talk.on(GrowthAsked(Growth("orders", 3))) is None
    assert talk.state("orders", 1).leader == 2
    assert len(talk.context.image.topics["orders"].partitions) == 3


def test_new_partitions_are_made_with_their_states() -> None:
    """In one transaction, so a topic that has lost states once has none that could be lost."""
    talk = Conversation().begin().make("orders", (1,))
    topic, state = "/brokers/topics/orders", "/brokers/topics/orders/partitions/1/state"
    assert talk.on(GrowthAsked(Growth("orders", 2, [[BrokerId(2)]]))) is None
    grown = [it for it in talk.tree.writes if topic in {op.path for op in it.ops}][-1]
    assert state in {op.path for op in grown.ops}
    assert talk.state("orders", 1).leader == 2
    assert talk.led(2)["orders", 1].is_new


def test_a_topic_grows_though_a_state_is_there_already() -> None:
    """Somebody has left it; the partition is made as one whose topic another tool has written."""
    talk = Conversation().begin().make("orders", (1,))
    talk.write_state("orders", 1, leader=3, leader_epoch=7, isr=(3,))
    assert talk.on(GrowthAsked(Growth("orders", 2, [[BrokerId(2)]]))) is None
    assert sorted(talk.context.image.topics["orders"].partitions) == [0, 1]


def test_a_topic_grows_though_the_states_are_more_than_a_packet() -> None:
    """Those follow by themselves, in transactions that are small enough."""
    talk = Conversation().begin().make("orders", (1,))

    def refuse(request: Request) -> Answer | None:
        if isinstance(request, Multi) and len(request.ops) > 4:
            return RequestTooLarge("all of them")
        return None

    talk.tree.refuse = refuse
    assert talk.on(GrowthAsked(Growth("orders", 4))) is None
    assert all(talk.state("orders", number).leader for number in range(4))


def test_a_topic_that_grows_by_much_is_written_in_pieces() -> None:
    """No transaction has more states than others; with them go the guard and the topic."""
    talk = Conversation().begin().make("orders", (1,))
    talk.tree.writes.clear()
    assert talk.on(GrowthAsked(Growth("orders", 3 * WRITES_PER_MULTI))) is None
    assert all(talk.state("orders", it).leader for it in range(3 * WRITES_PER_MULTI))
    assert max(len(it.ops) for it in talk.tree.writes) == 2 * WRITES_PER_MULTI + 2


def test_a_name_is_taken_while_its_mark_for_deletion_stands() -> None:
    """Also if the mark is somebody else's, and the watch has not rung."""
    talk = Conversation().begin()
    talk.tree.put(MARK)
    assert created(talk, NewTopic("orders")) == {"orders": ErrorCode.TOPIC_ALREADY_EXISTS}
    talk.on(TreeChanged(frozenset({"/admin/delete_topics"})))
    assert created(talk, NewTopic("orders")) == {"orders": None}


def test_a_topic_is_made_again_as_soon_as_it_is_gone() -> None:
    """Until then its name is taken, and nothing else is said of it."""
    talk = Conversation().begin().make("orders", (1, 2))
    assert talk.on(DeletionAsked(["orders"])) == {"orders": None}
    assert created(talk, NewTopic("orders")) == {"orders": ErrorCode.TOPIC_ALREADY_EXISTS}
    talk.stopped(1)
    assert created(talk, NewTopic("orders")) == {"orders": ErrorCode.TOPIC_ALREADY_EXISTS}
    talk.stopped(2)
    assert created(talk, NewTopic("orders")) == {"orders": None}


@pytest.mark.parametrize("happened", [True, False])
def test_a_creation_whose_answer_was_lost_is_read_back(happened: bool) -> None:  # noqa: FBT001
    """It was made if the very bytes are there."""
    talk = Conversation().begin()

    def lose(request: object) -> object:
        if isinstance(request, Multi) and any(
            isinstance(op, Create) and op.path == "/brokers/topics/orders" for op in request.ops
        ):
            talk.tree.refuse = lambda _: None
            if happened:
                talk.tree.answer(request)
            return OutcomeUnknown()
        return None

    talk.tree.refuse = lose  # type: ignore[assignment]
    expected = None if happened else ErrorCode.UNKNOWN_SERVER_ERROR
    assert created(talk, NewTopic("orders")) == {"orders": expected}


def test_nothing_is_left_of_a_deleted_topic() -> None:
    """Its states, its assignment, its settings and its mark are gone."""
    talk = Conversation().begin().make("orders", (1, 2), (2, 1))
    talk.on(DeletionAsked(["orders"]))
    assert talk.metadata(3)[ORDERS].leader == -2
    assert talk.stops(1)[ORDERS].leader_epoch == -2
    talk.stopped(1)
    assert talk.forgotten == []
    talk.stopped(2)
    assert talk.forgotten == ["orders"]
    assert not [path for path in talk.tree.nodes if "orders" in path]
    assert not talk.context.image.topics
    assert not any(talk.context.hosted.values())


def test_a_controller_that_takes_over_ends_no_deletion_before_it_has_asked() -> None:
    """What brokers answered its predecessor may come first, while it begins slice by slice."""
    talk = Conversation().begin().make("orders", (1, 2))
    talk.on(DeletionAsked(["orders"]))
    talk.context.deletions["orders"].replicas.clear()  # as it finds the mark in the tree
    talk.stopped(1)
    assert talk.forgotten == []
    assert "orders" in talk.context.image.topics


def test_a_replica_out_of_reach_is_deleted_when_its_broker_returns() -> None:
    """Those that can be reached are deleted at once; the topic has no leader meanwhile."""
    talk = Conversation().begin().make("orders", (1, 2)).brokers(1, 3)
    talk.on(DeletionAsked(["orders"]))
    talk.stopped(1)
    talk.brokers(1, 2, 3)
    assert ORDERS in talk.stops(2)
    assert ORDERS not in talk.led(2)
    talk.stopped(2)
    assert talk.forgotten == ["orders"]


def test_a_deletion_that_failed_is_tried_again_with_the_next_life() -> None:
    """A disk may fail under it; the broker that restarts may have another."""
    talk = Conversation().begin().make("orders", (1,))
    talk.on(DeletionAsked(["orders"]))
    talk.stopped(1, ErrorCode.KAFKA_STORAGE_ERROR)
    assert talk.forgotten == []
    talk.bounce(1)
    talk.stopped(1)
    assert talk.forgotten == ["orders"]


def test_a_deletion_that_failed_is_tried_again_after_a_while() -> None:
    """The broker lives on: a dir that hung answers again, and its broker never restarts."""
    talk = Conversation().begin().make("orders", (1, 2))
    talk.on(DeletionAsked(["orders"]))
    talk.stopped(1, ErrorCode.KAFKA_STORAGE_ERROR)
    talk.stopped(2)
    talk.sent.clear()
    talk.on(RetryIsDue())
    assert ORDERS in talk.stops(1)
    assert talk.kinds(2) == []
    talk.stopped(1)
    assert talk.forgotten == ["orders"]


def test_a_broker_is_asked_to_delete_what_is_offline() -> None:
    """It alone knows whether the log may be in a dir that has failed, or could not be made."""
    talk = Conversation().begin().make("orders", (1, 2))
    talk.reports(2, ORDERS, code=ErrorCode.KAFKA_STORAGE_ERROR)
    assert not talk.context.image.is_online(TopicPartition(*ORDERS), BrokerId(2))
    talk.on(DeletionAsked(["orders"]))
    assert ORDERS in talk.stops(2)
    talk.stopped(1)
    talk.stopped(2)
    assert talk.forgotten == ["orders"]


def test_partitions_added_while_a_deletion_is_pending_are_deleted_too() -> None:
    """Growth during deletion: it ends all the same."""
    talk = Conversation().begin().make("orders", (1,))
    talk.on(DeletionAsked(["orders"]))
    topic_id = talk.context.image.topics["orders"].topic_id
    grown = {number: Assignment((BrokerId(number + 1),)) for number in range(3)}
    talk.tree.put("/brokers/topics/orders", TopicZnode.encode(TopicAssignment(grown, topic_id)))
    talk.topics_changed("orders")
    for number, broker in enumerate((1, 2, 3)):
        assert talk.forgotten == []
        assert talk.stops(broker)["orders", number].delete_partition
        talk.stopped(broker)
    assert talk.forgotten == ["orders"]


def test_a_deletion_waits_for_a_reassignment_and_a_cancel_frees_it() -> None:
    """Both would move the same replicas."""
    talk = Conversation().begin().make("orders", (1,))
    orders = TopicPartition(*ORDERS)
    talk.on(ReassignmentAsked({orders: (BrokerId(2),)}))
    talk.on(DeletionAsked(["orders"]))
    assert talk.stops(1) == {}
    assert "topic.deletion_waits" in talk.notes
    outcome = talk.on(ReassignmentAsked({orders: None}))[orders]
    assert outcome is None
    talk.stopped(1)
    assert talk.forgotten == ["orders"]


def test_deletion_can_be_forbidden() -> None:
    """`delete.topic.enable=false`: a mark of somebody else's is removed, a request refused."""
    talk = Conversation().begin().make("orders", (1,))
    talk.settings.may_delete = False
    talk.tree.put(MARK)
    talk.on(TreeChanged(frozenset({"/admin/delete_topics"})))
    assert MARK not in talk.tree.nodes
    outcome = talk.on(DeletionAsked(["orders"]))["orders"]
    assert outcome.code is ErrorCode.TOPIC_DELETION_DISABLED


def test_a_topic_of_the_same_name_with_another_id_is_another_topic() -> None:
    """Brokers forget the old one before they hear of the new."""
    talk = Conversation().begin().make("orders", (1, 2))
    for path in [it for it in talk.tree.nodes if it.startswith("/brokers/topics/orders/")]:
        del talk.tree.nodes[path]
    other = TopicAssignment({0: Assignment((BrokerId(3),))}, TopicId(b"other-topic-id-1"))
    talk.tree.put("/brokers/topics/orders", TopicZnode.encode(other))
    talk.topics_changed("orders")
    assert talk.leads("orders") == (3, (3,), 0)
    assert talk.forgotten == ["orders"]
    assert ORDERS in talk.stops(1)


def test_replicas_that_somebody_else_adds_to_a_znode_are_followed() -> None:
    """As a Kafka controller before us may have left it."""
    talk = Conversation().begin().make("orders", (1,))
    topic_id = talk.context.image.topics["orders"].topic_id
    moving = Assignment((BrokerId(2), BrokerId(1)), (BrokerId(2),), (BrokerId(1),))
    topic = TopicAssignment({0: moving}, topic_id)
    talk.tree.put("/brokers/topics/orders", TopicZnode.encode(topic))
    talk.topics_changed("orders")
    assert talk.led(2)[ORDERS].is_new
    assert list(talk.context.reassigning) == [TopicPartition(*ORDERS)]


def test_a_topic_that_somebody_took_out_of_the_tree_is_gone() -> None:
    """Brokers are told that it is being deleted, and delete their logs."""
    talk = Conversation().begin().make("orders", (1,))
    for path in [it for it in talk.tree.nodes if it.startswith("/brokers/topics/orders")]:
        del talk.tree.nodes[path]
    talk.topics_changed()
    assert talk.metadata(2)[ORDERS].leader == -2
    assert talk.context.image.topics == {}


def test_a_deletion_whose_topic_is_gone_takes_the_rest_away() -> None:
    """ZooKeeper did that, and its answer was lost before the settings and the mark were gone."""
    talk = Conversation().begin().make("orders", (1,))
    talk.tree.put("/config/topics/orders", b"{}")
    talk.on(DeletionAsked(["orders"]))
    for path in [it for it in talk.tree.nodes if it.startswith("/brokers/topics/orders")]:
        del talk.tree.nodes[path]
    talk.topics_changed()
    assert not [path for path in talk.tree.nodes if "orders" in path]


def test_topics_that_make_no_sense_are_named_and_left_alone() -> None:
    """Everything else goes on as if they were not there."""
    talk = Conversation().begin()
    talk.tree.put("/brokers/topics/broken", b"[]")
    talk.tree.put("/brokers/topics/bad name", b"{}")
    talk.tree.put("/admin/delete_topics/bad name")
    talk.topic("good", (1,))
    talk.on(TreeChanged(frozenset({"/brokers/topics", "/admin/delete_topics"})))
    assert talk.leads("good")[0] == 1
    assert talk.notes.count("controller.znode_ignored") == 3
    assert "/admin/delete_topics/bad name" in talk.tree.nodes


@pytest.mark.parametrize("is_found_at_the_beginning", [True, False])
def test_a_topic_of_older_tools_is_given_an_id(*, is_found_at_the_beginning: bool) -> None:
    """Its ISR could never change without: leaders ask for that by the topic's id."""
    talk = Conversation()
    data = TopicZnode.encode(TopicAssignment({0: Assignment((BrokerId(2), BrokerId(3)))}))
    if is_found_at_the_beginning:
        talk.tree.put(TopicZnode.path("orders"), data)
        talk.write_state("orders", leader=2, isr=(2, 3))
        talk.begin()
    else:
        talk.begin()
        talk.tree.put(TopicZnode.path("orders"), data)
        talk.topics_changed()
    node = talk.tree.nodes[TopicZnode.path("orders")]
    topic_id = TopicZnode.decode("orders", node.data).topic_id
    assert topic_id is not None
    assert talk.context.image.topics["orders"].topic_id == topic_id
    assert talk.context.topic_versions["orders"] == node.version
    talk.topics_changed("orders")
    talk.begin()
    assert TopicZnode.decode("orders", node.data).topic_id == topic_id
