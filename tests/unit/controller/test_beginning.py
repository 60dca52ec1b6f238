"""A controller begins (`on_controller_failover`) with what its predecessor left."""

from odradek.controller.candidacy import ControllerLease, Lost
from odradek.controller.decisions.campaign import (
    Candidate,
    NotRegistered,
    Won,
    campaign,
    step_down,
    still_holds,
)
from odradek.controller.events import ProducerIdsAsked, SettingsChanged
from odradek.controller.messages import FULL, INCREMENTAL
from odradek.controller.standing import Abstains, Standing
from odradek.metadata.nouns import Assignment
from odradek.metadata.znodes.cluster import ControllerZnode, FeatureZnode, ProducerIdBlock
from odradek.model.ids import BrokerId, ProducerId, TopicPartition
from odradek.model.positions import ControllerEpoch
from odradek.model.units import Timestamp
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from odradek.zookeeper.client.errors import OutcomeUnknown
from odradek.zookeeper.protocol.jute_requests import Multi
from tests.unit.controller.conversation import Conversation

ORDERS = ("orders", 0)


def test_on_controller_failover_everybody_hears_everything_once() -> None:
    """Who lives, the whole metadata, who leads what each of them holds; nothing is written."""
    talk = Conversation()
    talk.topic("orders", (2, 3))
    talk.write_state("orders", leader=2, leader_epoch=3, isr=(2, 3))
    talk.begin()
    assert talk.leads("orders") == (2, (2, 3), 3)
    assert talk.kinds(1) == ["UpdateMetadata", "UpdateMetadata"]
    assert talk.kinds(2) == ["UpdateMetadata", "UpdateMetadata", "LeaderAndIsr"]
    assert metadata_types(talk, 1) == [INCREMENTAL, FULL]
    assert set(talk.led(2)) == set(talk.led(3)) == {ORDERS}


def metadata_types(talk: Conversation, broker: int) -> list[int]:
    """Of what a broker was sent."""
    sent = (request for to, request in talk.sent if to == broker)
    return [it.type for it in sent if isinstance(it, UpdateMetadataRequest)]


def test_dead_brokers_lead_and_follow_nothing_after_a_failover() -> None:
    """The predecessor died before it could write that."""
    talk = Conversation(brokers=(1, 2))
    talk.topic("orders", (3, 2), (1, 3), (3,))
    for partition, (leader, isr) in enumerate([(3, (3, 2)), (1, (1, 3)), (3, (3,))]):
        talk.write_state("orders", partition, leader=leader, isr=isr)
    talk.begin()
    assert talk.leads("orders", 0) == (2, (2,), 1)
    assert talk.leads("orders", 1) == (1, (1,), 1)
    assert talk.leads("orders", 2) == (None, (3,), 1)
    assert talk.kinds(2)[:4] == [
        "UpdateMetadata",
        "LeaderAndIsr",
        "UpdateMetadata",
        "UpdateMetadata",
    ]
    assert metadata_types(talk, 2) == [INCREMENTAL, INCREMENTAL, FULL], "leaders before the whole"


def test_a_new_controller_finishes_what_changes_who_is_eligible() -> None:
    """A lowered number, an assignment that names it no more: the predecessor wrote no state."""
    talk = Conversation()
    talk.settings.min_isrs = {"orders": 1, "grown": 2, "whole": 2}
    for name, replicas in (("orders", (1, 2)), ("grown", (1, 2)), ("whole", (1, 3))):
        talk.topic(name, replicas)
        talk.write_state(name, leader=1, isr=(1,), eligible=(3,), eligible_min_isr=2)
    talk.begin()
    assert talk.leads("orders") == (1, (1,), 1)
    assert talk.state("orders").eligible == ()
    assert talk.leads("grown") == (1, (1,), 1)
    assert talk.state("grown").eligible == ()
    assert talk.leads("whole") == (1, (1,), 0)
    assert talk.state("whole").eligible == (3,)
    talk.settings.min_isrs["whole"] = 1
    talk.on(SettingsChanged("whole"))
    assert talk.state("whole").eligible == (3,), "its leader has not said yet that it leads"


def test_a_topic_that_was_only_written_gets_its_leaders() -> None:
    """The predecessor died between the znode and the states."""
    talk = Conversation()
    talk.topic("orders", (1, 2))
    talk.begin()
    assert talk.leads("orders") == (1, (1, 2), 0)
    assert talk.led(1)[ORDERS].is_new


def test_a_bounce_that_nobody_saw_is_found_out() -> None:
    """The registration is younger than the state that counts on it."""
    talk = Conversation(brokers=(2,))
    talk.topic("orders", (1, 2), (2, 1), (1,))
    for partition, (leader, isr) in enumerate([(1, (1, 2)), (2, (2, 1)), (1, (1,))]):
        talk.write_state("orders", partition, leader=leader, isr=isr)
    talk.register(1)
    talk.begin()
    assert talk.leads("orders", 0) == (2, (2,), 1)
    assert talk.leads("orders", 1) == (2, (2,), 1)
    assert talk.leads("orders", 2) == (1, (1,), 1)


def test_deletions_go_on_and_their_topics_get_no_leaders() -> None:
    """The mark is what they go on from."""
    talk = Conversation(brokers=(1,))
    talk.topic("orders", (2, 1))
    talk.write_state("orders", leader=2, isr=(2, 1))
    talk.tree.put("/admin/delete_topics/orders")
    talk.tree.put("/admin/delete_topics/unknown")
    talk.tree.put("/config/topics/unknown", b"{}")  # its controller died before it came to that
    talk.begin()
    assert talk.leads("orders") == (2, (2, 1), 0)
    assert not [path for path in talk.tree.nodes if "unknown" in path]
    talk.stopped(1)
    talk.brokers(1, 2)
    talk.stopped(2)
    assert talk.forgotten == ["orders"]


def test_a_topic_that_is_deleted_and_reassigned_finishes_moving_first() -> None:
    """Its partition is led meanwhile."""
    talk = Conversation()
    two = (BrokerId(2),)
    talk.topic("orders", Assignment((BrokerId(2), BrokerId(1)), two, (BrokerId(1),)))
    talk.write_state("orders", leader=2, isr=(2,))
    talk.tree.put("/admin/delete_topics/orders")
    talk.begin()
    talk.stopped(1)
    talk.stopped(2)
    assert talk.forgotten == ["orders"]


def test_features_are_enabled_and_none() -> None:
    """A Kafka broker exits when it meets a feature; one that makes no sense is left alone."""
    talk = Conversation().begin()
    assert talk.tree.nodes[FeatureZnode.PATH].data == b'{"features":{},"version":2,"status":1}'
    before = talk.tree.nodes[FeatureZnode.PATH].version
    talk.begin()
    assert talk.tree.nodes[FeatureZnode.PATH].version == before
    talk.tree.put(FeatureZnode.PATH, b"nonsense")
    talk.begin()
    assert talk.tree.nodes[FeatureZnode.PATH].data == b"nonsense"


def test_bad_states_and_topics_are_left_out() -> None:
    """The others get their leaders."""
    talk = Conversation()
    talk.topic("good", (1,))
    talk.tree.put("/brokers/topics/bad", b"no json")
    talk.tree.put("/brokers/ids/bad", b"no json")
    talk.begin()
    assert talk.leads("good")[0] == 1
    assert talk.notes.count("controller.znode_ignored") == 2


def test_producer_ids_are_given_in_blocks_to_brokers_that_live() -> None:
    """No id is given twice, whoever asks."""
    talk = Conversation().begin()
    first = talk.on(ProducerIdsAsked(BrokerId(1), talk.epoch(1)))
    assert first == ProducerIdBlock(BrokerId(1), ProducerId(0), ProducerId(999))
    second = talk.on(ProducerIdsAsked(BrokerId(2), talk.epoch(2)))
    assert second.first == ProducerId(1000)


# How it is elected


def compete(
    talk: Conversation, *, gone: int | None = None
) -> ControllerLease | Lost | Abstains | NotRegistered:
    """Broker 1 does, in session 1."""
    dead = None if gone is None else BrokerId(gone)
    standing = Standing(gone=frozenset(() if dead is None else (dead,)))
    candidate = Candidate(BrokerId(1), 1, Timestamp(7), dead, standing=standing)
    outcome = talk.take(campaign(candidate))
    return outcome.lease if isinstance(outcome, Won) else outcome


def test_the_first_controller_of_a_cluster_has_epoch_one() -> None:
    """Nobody has made the znode yet."""
    talk = Conversation()
    del talk.tree.nodes["/controller_epoch"]
    won = compete(talk)
    assert isinstance(won, ControllerLease)
    assert won.epoch == ControllerEpoch(1)
    assert talk.tree.nodes["/controller"].owner == 1
    assert talk.take(still_holds(won, 1))


def test_where_somebody_is_elected_another_waits() -> None:
    """Unless that one is known to be dead: then it is replaced at once."""
    talk = Conversation()
    talk.tree.put("/controller", ControllerZnode.encode(BrokerId(2), Timestamp(0)), owner=2)
    assert compete(talk) == Lost(BrokerId(2))
    won = compete(talk, gone=2)
    assert isinstance(won, ControllerLease)
    assert won.epoch == 6
    assert talk.tree.nodes["/controller"].owner == 1


def test_a_former_life_is_replaced_by_its_successor() -> None:
    """The node names us, and belongs to a session that was ours."""
    talk = Conversation()
    talk.tree.put("/controller", ControllerZnode.encode(BrokerId(1), Timestamp(0)), owner=99)
    assert isinstance(compete(talk), ControllerLease)


def test_a_process_whose_number_another_has_registered_is_not_elected() -> None:
    """The other was the controller, its own session has expired: it is no successor of that one.

    As the controller it would lead what the other was elected for, in the same leader epoch.
    """
    talk = Conversation()
    talk.tree.put("/controller", ControllerZnode.encode(BrokerId(1), Timestamp(0)), owner=99)
    registration = talk.tree.nodes["/brokers/ids/1"]
    talk.tree.nodes["/brokers/ids/1"] = registration._replace(owner=99)
    assert compete(talk) == NotRegistered()
    assert talk.tree.nodes["/controller"].owner == 99


def test_who_is_not_registered_does_not_become_the_controller() -> None:
    """Its session is new, and the registration not made yet: it competes once it is."""
    talk = Conversation()
    registration = talk.tree.nodes.pop("/brokers/ids/1")
    assert compete(talk) == NotRegistered()
    talk.tree.nodes["/brokers/ids/1"] = registration
    assert isinstance(compete(talk), ControllerLease)


def test_a_successor_of_the_dead_is_not_replaced() -> None:
    """It was elected between the read and the write: the epoch's version tells."""
    talk = Conversation()
    talk.tree.put("/controller", ControllerZnode.encode(BrokerId(2), Timestamp(0)), owner=2)

    def race(request: object) -> None:
        if isinstance(request, Multi):
            talk.tree.refuse = lambda _: None
            talk.tree.put("/controller_epoch", b"6")
            del talk.tree.nodes["/controller"]
            data = ControllerZnode.encode(BrokerId(3), Timestamp(0))
            talk.tree.put("/controller", data, owner=3)

    talk.tree.refuse = race
    assert compete(talk, gone=2) == Lost(BrokerId(3))
    assert talk.tree.nodes["/controller"].owner == 3


def test_an_election_whose_answer_was_lost_is_read_back() -> None:
    """It happened: the ephemeral is ours, and the epoch is the one that we wrote."""
    talk = Conversation()

    def lose(request: object) -> object:
        if isinstance(request, Multi):
            talk.tree.refuse = lambda _: None
            talk.tree.answer(request)
            return OutcomeUnknown()
        return None

    talk.tree.refuse = lose  # type: ignore[assignment]
    assert isinstance(compete(talk), ControllerLease)


def test_an_epoch_that_makes_no_sense_elects_nobody() -> None:
    """It is named and left alone; whoever mends it is heard."""
    talk = Conversation()
    talk.tree.put("/controller_epoch", b"abc")
    assert compete(talk) == Lost(None)
    assert talk.notes[-1] == "controller.znode_ignored"
    talk.tree.put("/controller_epoch", b"8")
    won = compete(talk)
    assert isinstance(won, ControllerLease)
    assert won.epoch == 9


def test_stepping_down_removes_only_what_is_ours() -> None:
    """Also after somebody changed the epoch; never the node of a successor."""
    talk = Conversation()
    won = compete(talk)
    assert isinstance(won, ControllerLease)
    talk.tree.put("/controller_epoch", b"77")
    assert not talk.take(still_holds(won, 1))
    talk.take(step_down(1))
    assert "/controller" not in talk.tree.nodes
    talk.tree.put("/controller", ControllerZnode.encode(BrokerId(2), Timestamp(0)), owner=2)
    talk.take(step_down(1))
    assert "/controller" in talk.tree.nodes


def test_the_partition_of_a_state_that_makes_no_sense_is_not_led_anew() -> None:
    """Its znode is there: a first state cannot be made over it, and it stays as it is."""
    talk = Conversation()
    talk.topic("orders", (1,))
    path = "/brokers/topics/orders/partitions/0/state"
    talk.tree.put(path, b"nonsense")
    talk.begin()
    assert talk.tree.nodes[path].data == b"nonsense"
    image = talk.context.image.partition(TopicPartition(*ORDERS))
    assert image is not None
    assert image.state is None
