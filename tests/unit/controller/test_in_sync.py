"""AlterPartition: each check in its order, and what follows from a change."""

import pytest

from odradek.controller.events import AlterPartitionAsked, ControlledShutdownAsked
from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import BrokerEpoch
from odradek.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from tests.unit.controller.conversation import Conversation

NONE = ErrorCode.NONE
STATE = PartitionStateZnode.path(TopicPartition("orders", 0))


def ask(talk: Conversation, *isr: int, version: int = 2, **said: int) -> AlterPartitionResponse:
    """The leader asks for this ISR; what a test says is asked for instead of what is true."""
    image = talk.context.image.partition(TopicPartition("orders", 0))
    assert image is not None
    state = image.state
    assert state is not None
    sender = said.get("sender", state.leader if state.leader is not None else 1)
    topic_id = talk.context.image.topics["orders"].topic_id
    assert topic_id is not None
    row = RequestPartitionData(
        said.get("partition", 0),
        said.get("leader_epoch", state.leader_epoch),
        new_isr=isr,
        new_isr_with_epochs=[
            BrokerState(it, said.get(f"epoch_{it}", talk.epoch(it)), said.get(f"log_{it}", 0))
            for it in isr
        ]
        if version > 2
        else (),
        leader_recovery_state=said.get("recovering", 0),
        partition_epoch=said.get("partition_epoch", state.partition_epoch),
    )
    topic = RequestTopicData("orders", bytes(16) if said.get("unknown") else topic_id, [row])
    epoch = said.get("broker_epoch", talk.epoch(sender) if sender in {1, 2, 3} else 0)
    response = talk.on(AlterPartitionAsked(AlterPartitionRequest(sender, epoch, [topic]), version))
    assert isinstance(response, AlterPartitionResponse)
    return response


def code(response: AlterPartitionResponse) -> ErrorCode:
    """Of the whole, or of its only partition."""
    if response.error_code:
        return ErrorCode(response.error_code)
    return ErrorCode(response.topics[0].partitions[0].error_code)


def orders(min_isr: int = 1) -> Conversation:
    """A topic that 1 leads, with everybody in sync."""
    talk = Conversation()
    talk.settings.min_isrs["orders"] = min_isr
    return talk.begin().make("orders", (1, 2, 3))


def test_a_smaller_isr_is_written_and_told_to_all() -> None:
    """The leader epoch stays, the partition epoch is the znode's new version."""
    talk = orders()
    talk.sent.clear()
    response = ask(talk, 1, 2)
    assert code(response) is NONE
    row = response.topics[0].partitions[0]
    assert (row.leader_id, row.leader_epoch, row.partition_epoch) == (1, 0, 1)
    assert tuple(row.isr) == (1, 2)
    assert talk.leads("orders") == (1, (1, 2), 0)
    assert talk.kinds(3) == ["UpdateMetadata"]
    assert list(talk.metadata(3)["orders", 0].isr) == [1, 2]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"sender": 9}, ErrorCode.STALE_BROKER_EPOCH),
        ({"broker_epoch": 0}, ErrorCode.STALE_BROKER_EPOCH),
        ({"unknown": 1}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"partition": 7}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"partition_epoch": 0}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"sender": 3}, ErrorCode.INVALID_REQUEST),
        ({"recovering": 1}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_speaks_against_a_change(said: dict[str, int], expected: ErrorCode) -> None:
    """Stale ones by their epochs; a broker that does not lead has no say."""
    talk = orders().brokers(2, 3).brokers(1, 2, 3)  # 2 leads, in leader epoch 1
    before = talk.state("orders")
    assert code(ask(talk, 2, **said)) is expected
    assert talk.state("orders") == before


@pytest.mark.parametrize("said", [{"leader_epoch": 9}, {"partition_epoch": 9}])
def test_a_leader_that_is_ahead_of_the_tree_begins_another_epoch(said: dict[str, int]) -> None:
    """Somebody has put an earlier state back: until then it would be refused whatever it asks."""
    talk = orders()
    before = talk.state("orders")
    assert code(ask(talk, 1, 2, **said)) is ErrorCode.NOT_CONTROLLER
    after = talk.state("orders")
    assert (after.leader, after.isr) == (before.leader, before.isr)
    assert after.leader_epoch > max(before.leader_epoch, said.get("leader_epoch", 0))
    assert code(ask(talk, 1, 2)) is NONE


def test_a_leader_whose_state_was_removed_asks_again() -> None:
    """Until it is put back nothing can be written; what it asks for is not overtaken."""
    talk = orders()
    ask(talk, 1, 2)
    node = talk.tree.nodes.pop(STATE)
    row = {"leader_epoch": 0, "partition_epoch": 1, "sender": 1}
    assert code(ask(talk, 1, 2, 3, **row)) is ErrorCode.UNKNOWN_SERVER_ERROR
    talk.tree.put(STATE, node.data)
    assert code(ask(talk, 1, 2, 3, **row)) is ErrorCode.INVALID_UPDATE_VERSION
    assert talk.state("orders").leader_epoch == 1
    assert code(ask(talk, 1, 2, 3)) is NONE


def test_another_broker_that_is_ahead_changes_nothing() -> None:
    """It does not lead here."""
    talk = orders()
    before = talk.state("orders")
    assert code(ask(talk, 1, 3, sender=3, leader_epoch=9)) is ErrorCode.NOT_CONTROLLER
    assert talk.state("orders") == before


def test_members_are_replicas_and_the_leader_is_one_of_them() -> None:
    """A leader that writes anything else has gone wrong."""
    talk = Conversation().begin().make("orders", (1, 2))
    assert code(ask(talk, 1, 3)) is ErrorCode.INVALID_REQUEST
    assert code(ask(talk, 2)) is ErrorCode.INVALID_REQUEST
    assert code(ask(talk, 1)) is NONE


def test_a_change_that_stands_there_already_is_accepted_again() -> None:
    """Its first answer was lost; the old partition epoch does not matter."""
    talk = orders()
    ask(talk, 1, 2)
    assert code(ask(talk, 2, 1, partition_epoch=0)) is NONE
    assert talk.state("orders").partition_epoch == 1


def test_who_is_dead_or_about_to_go_does_not_join() -> None:
    """The partition would lose its leader, or wait for nobody."""
    talk = orders()
    ask(talk, 1)
    talk.on(ControlledShutdownAsked(BrokerId(3), talk.epoch(3)))
    assert code(ask(talk, 1, 3)) is ErrorCode.INELIGIBLE_REPLICA
    assert code(ask(talk, 1, 3, version=1)) is ErrorCode.OPERATION_NOT_ATTEMPTED
    assert code(ask(talk, 1, 2)) is NONE
    talk.bounce(3)
    assert code(ask(talk, 1, 2, 3)) is NONE


def test_a_member_counts_in_the_life_in_which_it_caught_up() -> None:
    """It may have come back without its log since the leader saw it (KIP-903)."""
    talk = orders()
    ask(talk, 1)
    earlier = talk.epoch(2)
    talk.bounce(2)
    assert code(ask(talk, 1, 2, version=3, epoch_2=earlier)) is ErrorCode.INELIGIBLE_REPLICA
    assert code(ask(talk, 1, 2, version=3, epoch_2=-1)) is NONE


def test_a_leader_that_recovers_says_when_it_has() -> None:
    """After an unclean election; while it recovers it is alone in its ISR."""
    talk = orders()
    ask(talk, 1)
    talk.settings.unclean_topics.add("orders")
    talk.brokers(2, 3)
    assert talk.state("orders").recovering
    assert code(ask(talk, 2, 3, recovering=1)) is ErrorCode.INVALID_REQUEST
    assert code(ask(talk, 2, recovering=0)) is NONE
    assert not talk.state("orders").recovering
    assert code(ask(talk, 2, 3)) is NONE


def test_a_write_that_met_another_version_is_refused_and_taken_over() -> None:
    """The leader learns of it by the next LeaderAndIsr, or asks again."""
    talk = orders()
    partition = TopicPartition("orders", 0)
    theirs = talk.state("orders")._replace(isr=(BrokerId(1), BrokerId(3)))
    talk.tree.put(PartitionStateZnode.path(partition), PartitionStateZnode.encode(theirs))
    image = talk.context.image.partition(partition)
    assert image is not None
    known = image.state
    assert known is not None
    topic_id = talk.context.image.topics["orders"].topic_id
    assert topic_id is not None
    row = RequestPartitionData(
        0, known.leader_epoch, new_isr=(1, 2), partition_epoch=known.partition_epoch
    )
    request = AlterPartitionRequest(1, talk.epoch(1), [RequestTopicData("", topic_id, [row])])
    assert code(talk.on(AlterPartitionAsked(request, 2))) is ErrorCode.INVALID_UPDATE_VERSION
    assert talk.leads("orders") == (1, (1, 3), 0)


def test_who_leaves_a_small_isr_stays_eligible_until_it_is_large_enough() -> None:
    """Nothing is committed without them meanwhile."""
    talk = orders(min_isr=2)
    ask(talk, 1, 2)
    assert talk.state("orders").eligible == ()
    ask(talk, 1)
    assert talk.state("orders").eligible == (2,)
    ask(talk, 1, 3)
    assert talk.state("orders").eligible == ()


def test_a_leader_is_told_the_number_under_which_others_are_eligible() -> None:
    """In the answer that makes its ISR too small, and in every word on that state."""
    talk = orders(min_isr=2)
    ask(talk, 1, 2)
    assert ask(talk, 1).topics[0].partitions[0].eligible_min_isr == 2
    assert ask(talk, 1).topics[0].partitions[0].eligible_min_isr == 2  # its first answer was lost
    talk.brokers(2, 3)
    assert talk.leads("orders")[:2] == (2, (2,))
    assert talk.led(2)[TopicPartition("orders", 0)].eligible_min_isr == 2
    assert ask(talk, 2, 3).topics[0].partitions[0].eligible_min_isr == 0


def test_nobody_is_eligible_under_a_leader_of_kafkas() -> None:
    """It does not know the number, and commits by its own settings."""
    talk = Conversation()
    talk.settings.min_isrs["orders"] = 2
    talk.register(1, marked=False)
    talk.begin().make("orders", (1, 2, 3))
    ask(talk, 1, 2)
    ask(talk, 1)
    assert talk.state("orders").eligible == ()
    ask(talk, 1, 2)
    talk.brokers(2)
    assert talk.state("orders").eligible == (1,)
    talk.register(1, marked=False)
    talk.brokers(1)
    assert talk.leads("orders")[:2] == (1, (1,))
    assert talk.state("orders").eligible == ()


def test_a_log_is_whole_again_once_its_replica_has_caught_up() -> None:
    """Then it may lead, whatever it had lost."""
    talk = orders()
    talk.reports(2, ("orders", 0), unclean=True)
    assert talk.leads("orders")[:2] == (1, (1, 3))
    ask(talk, 1, 2)
    talk.brokers(2)
    assert talk.leads("orders")[:2] == (2, (2,))
    assert BrokerEpoch(talk.epoch(2)) == talk.context.image.brokers[BrokerId(2)].epoch


def test_a_broker_that_has_not_heard_that_its_log_is_whole_may_lead() -> None:
    """It says what it said before; taken at its word it would leave the lead to one that lacks."""
    talk = orders(min_isr=2)
    talk.reports(2, ("orders", 0), unclean=True, incarnation=70)
    ask(talk, 1, 2, version=3, log_2=70)
    before = talk.leads("orders")
    talk.reports(2, ("orders", 0), unclean=True, incarnation=70)
    assert talk.leads("orders") == before
    talk.brokers(2, 3)
    assert talk.leads("orders")[:2] == (2, (2,))
    (told,) = talk.led(2)[TopicPartition("orders", 0)].incarnations
    assert (told.broker_id, told.incarnation) == (2, 70)


def test_a_join_of_what_a_log_was_before_is_void() -> None:
    """It was on its way while the disk was replaced; the broker is asked again what it has."""
    talk = orders()
    ask(talk, 1, 3)
    talk.reports(2, ("orders", 0), unclean=True, incarnation=70)
    talk.sent.clear()
    assert code(ask(talk, 1, 2, 3, version=3)) is ErrorCode.INELIGIBLE_REPLICA
    assert code(ask(talk, 1, 2, 3, version=3, log_2=69)) is ErrorCode.INELIGIBLE_REPLICA
    assert TopicPartition("orders", 0) in talk.led(2)
    assert code(ask(talk, 1, 2, 3, version=3, log_2=70)) is NONE
    assert talk.state("orders").incarnations == ((2, 70),)


def test_a_member_whose_log_lost_something_joins_as_what_it_is_now() -> None:
    """The same ISR is another one then; who leaves it takes along what it was."""
    talk = orders(min_isr=2)
    ask(talk, 1, 2, 3, version=3, log_2=70)
    before = talk.state("orders")
    ask(talk, 1, 2, 3, version=3, log_2=70)
    assert talk.state("orders") == before
    ask(talk, 1, 2, 3, version=3, log_2=71)
    assert talk.state("orders").incarnations == ((2, 71),)
    ask(talk, 1, 2, version=3, log_2=71)
    ask(talk, 1, version=3)
    state = talk.state("orders")
    assert (state.eligible, state.incarnations) == ((2,), ((2, 71),))
    ask(talk, 1, 3, version=3)
    assert talk.state("orders").incarnations == ()
