"""Brokers come, go and bounce (`on_broker_change`, `on_broker_startup`), and what follows."""

import pytest

from odradek.controller import messages
from odradek.controller.decisions import elections
from odradek.controller.events import BrokerAnswered, ProcessIsGone, TreeChanged
from odradek.metadata.znodes.broker import BrokerIdsZnode
from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
)
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from odradek.zookeeper.protocol.jute_requests import Multi, SetData
from tests.unit.controller.conversation import Conversation

ORDERS = ("orders", 0)
PARTITIONS = 7


def test_on_broker_change_elects_a_member_of_the_isr() -> None:
    """A leader dies: the first live replica that is in sync leads, and the dead one leaves."""
    talk = Conversation().begin().make("orders", (1, 2, 3)).brokers(2, 3)
    assert talk.leads("orders") == (2, (2, 3), 1)
    assert talk.led(2)[ORDERS].leader == talk.led(3)[ORDERS].leader == 2
    assert list(talk.metadata(2)[ORDERS].offline_replicas) == [1]


def test_a_follower_that_dies_leaves_the_isr() -> None:
    """The leader goes on in another leader epoch, as Kafka's does."""
    talk = Conversation().begin().make("orders", (1, 2)).brokers(1, 3)
    assert talk.leads("orders") == (1, (1,), 1)


def test_the_last_member_stays_in_the_isr_and_leads_when_it_is_back() -> None:
    """Question A.1: with no live replica there is no leader, and the ISR is kept."""
    talk = Conversation().begin().make("orders", (1,)).brokers(2, 3)
    assert talk.leads("orders") == (None, (1,), 1)
    talk.brokers(1, 2, 3)
    assert talk.leads("orders") == (1, (1,), 2)


def test_leaders_are_elected_before_followers_leave() -> None:
    """Clients wait for leaders; the ISR of what a dead broker followed can wait."""
    talk = Conversation().begin()
    talk.make("followed", *[(2, 1)] * 3).make("led", *[(1, 2)] * 3)
    talk.tree.writes.clear()
    talk.brokers(2, 3)
    paths = [op.path for multi in talk.tree.writes for op in multi.ops if isinstance(op, SetData)]
    assert [path.split("/")[3] for path in paths] == ["led"] * 3 + ["followed"] * 3


def test_on_broker_startup_a_broker_hears_everything_and_leads_what_nobody_could() -> None:
    """The whole metadata first, then what it holds; the others hear that it is back."""
    talk = Conversation(brokers=(1, 2)).begin()
    talk.make("both", (1, 2)).make("late", (2,)).brokers(1)
    talk.brokers(1, 2)
    assert talk.kinds(2)[0] == "UpdateMetadata"
    assert set(talk.metadata(2)) == {("both", 0), ("late", 0)}
    assert talk.led(2)[("both", 0)].leader == 1
    assert talk.led(2)[("late", 0)].leader == 2
    assert list(talk.metadata(1)[("both", 0)].offline_replicas) == []


def test_a_bounce_is_a_failure_and_then_a_start() -> None:
    """What it led is led by another, and it left the ISR: its log may not be what it was."""
    talk = Conversation().begin().make("orders", (1, 2)).make("alone", (1,)).bounce(1)
    assert talk.leads("orders") == (2, (2,), 1)
    assert talk.leads("alone") == (1, (1,), 2)
    assert talk.led(1)[ORDERS].leader == 2


def test_a_broker_that_only_seems_younger_changes_nothing() -> None:
    """A read that comes late names a life that is over; the newer one counts."""
    talk = Conversation().begin().make("orders", (1, 2))
    path = f"{BrokerIdsZnode.PATH}/1"
    talk.tree.nodes[path] = talk.tree.nodes[path]._replace(czxid=0)
    talk.on(TreeChanged(frozenset({BrokerIdsZnode.PATH})))
    assert talk.leads("orders") == (1, (1, 2), 0)


def test_a_leader_that_was_faster_does_not_save_a_dead_follower() -> None:
    """The conflict is looked at again: the removal still has to happen."""
    talk = Conversation().begin().make("orders", (1, 2, 3))
    path = PartitionStateZnode.path(TopicPartition(*ORDERS))
    raced: list[int] = []

    def race(request: object) -> None:
        writes = isinstance(request, Multi) and any(op.path == path for op in request.ops)
        if writes and not raced:
            raced.append(1)
            state = talk.context.image.partition(TopicPartition(*ORDERS)).state  # type: ignore[union-attr]
            data = PartitionStateZnode.encode(state._replace(isr=(BrokerId(1), BrokerId(2))))  # type: ignore[union-attr]
            talk.tree.put(path, data)

    talk.tree.refuse = race
    talk.brokers(1, 3)
    assert raced
    assert talk.leads("orders") == (1, (1,), 1)
    assert talk.led(1)[ORDERS].isr == (1,)


def test_live_leaders_are_named_by_the_listener_between_brokers() -> None:
    """A follower that connects to the clients' listener may not be let in."""
    talk = Conversation().begin().make("orders", (1, 2))
    (request,) = [it for to, it in talk.sent if to == 2 and isinstance(it, LeaderAndIsrRequest)]
    assert [(it.host_name, it.port) for it in request.live_leaders] == [("host1", 9_093)]


def test_brokers_that_hold_nothing_are_told_of_as_well() -> None:
    """Everybody learns who is alive, although no partition has changed."""
    talk = Conversation().begin().brokers(1, 2)
    updates = [it for to, it in talk.sent if to == 2 and isinstance(it, UpdateMetadataRequest)]
    assert [it.id for it in updates[-1].live_brokers] == [1, 2]


def test_a_registration_that_makes_no_sense_is_named_and_left_alone() -> None:
    """Somebody's slip of the pen must not take the controller away."""
    talk = Conversation().begin().make("orders", (1, 2))
    talk.tree.put(f"{BrokerIdsZnode.PATH}/nonsense", b"{}")
    talk.tree.put(f"{BrokerIdsZnode.PATH}/7", b"no json")
    talk.on(TreeChanged(frozenset({BrokerIdsZnode.PATH})))
    assert talk.notes.count("controller.znode_ignored") == 2
    assert set(talk.context.image.brokers) == {1, 2, 3}


def test_a_process_that_is_gone_loses_its_registration_at_once() -> None:
    """Nobody waits for the session: the leadership moves in the same turn."""
    talk = Conversation().begin().make("orders", (1, 2))
    talk.on(ProcessIsGone(BrokerId(1), talk.epoch(1)))
    assert f"{BrokerIdsZnode.PATH}/1" not in talk.tree.nodes
    assert talk.leads("orders") == (2, (2,), 1)


def test_another_life_and_a_kafka_broker_are_not_struck() -> None:
    """The one is alive; the other would never register again."""
    talk = Conversation()
    talk.register(2, marked=False)
    talk.begin().make("orders", (1, 2))
    earlier = talk.epoch(1)
    talk.register(1)
    talk.on(ProcessIsGone(BrokerId(1), earlier))
    talk.on(ProcessIsGone(BrokerId(2), talk.epoch(2)))
    assert {f"{BrokerIdsZnode.PATH}/{it}" for it in (1, 2)} <= set(talk.tree.nodes)


def test_a_log_dir_that_failed_takes_its_leaderships_along() -> None:
    """The broker lives on: its other partitions are not touched."""
    talk = Conversation().begin().make("orders", (1, 2), (1, 2))
    talk.reports(1, ORDERS, code=ErrorCode.KAFKA_STORAGE_ERROR)
    assert talk.leads("orders") == (2, (2,), 1)
    assert talk.leads("orders", 1) == (1, (1, 2), 0)
    assert list(talk.metadata(3)[ORDERS].offline_replicas) == [1]


def test_a_replica_that_had_obeyed_before_is_not_offline() -> None:
    """It is asked again where its answer was lost, and a failed dir is told before any epoch."""
    talk = Conversation().begin().make("orders", (1, 2))
    talk.reports(1, ORDERS, code=ErrorCode.KAFKA_STORAGE_ERROR)
    talk.reports(1, ORDERS, code=ErrorCode.STALE_CONTROLLER_EPOCH)
    assert list(talk.metadata(3)[ORDERS].offline_replicas) == []


def test_a_broker_that_returns_has_its_disks_again() -> None:
    """Whether a log dir still fails it says itself; the others would call it offline for ever."""
    talk = Conversation().begin().make("orders", (1, 2))
    talk.reports(1, ORDERS, code=ErrorCode.KAFKA_STORAGE_ERROR)
    talk.bounce(1)
    assert list(talk.metadata(3)[ORDERS].offline_replicas) == []
    image = talk.context.image.partition(TopicPartition(*ORDERS))
    assert image is not None
    assert not image.offline


def test_the_answer_of_an_earlier_life_marks_nothing() -> None:
    """It came late; the disks of the new life may be fine."""
    talk = Conversation().begin().make("orders", (1, 2))
    before = talk.context.image.brokers[BrokerId(1)].epoch
    talk.bounce(1)
    row = LeaderAndIsrPartitionError("orders", 0, ErrorCode.KAFKA_STORAGE_ERROR)
    response = LeaderAndIsrResponse(partition_errors=[row])
    talk.on(BrokerAnswered(BrokerId(1), before, LeaderAndIsrRequest(), response))
    assert list(talk.metadata(3)[ORDERS].offline_replicas) == []


# Last replica standing


def test_a_whole_eligible_replica_leads_before_a_log_that_lacks_records() -> None:
    """ISR {1}, 2 left while it was too small: 1 comes back with a log that was cut, 2 leads."""
    talk = Conversation()
    talk.settings.min_isrs["orders"] = 2
    talk.begin().make("orders", (1, 2)).brokers(1, 3)
    assert talk.state("orders").eligible == (2,)
    talk.brokers(2, 3)
    assert talk.leads("orders")[:2] == (2, (2,))
    assert talk.state("orders").eligible == (1,)


def test_a_leader_that_lacks_records_refuses_and_others_are_waited_for() -> None:
    """It is asked to be whole because another may be; that one leads as soon as it comes."""
    talk = Conversation()
    talk.settings.min_isrs["orders"] = 2
    talk.begin().make("orders", (1, 2)).brokers(1, 3).brokers(3).brokers(1, 3)
    assert talk.led(1)[ORDERS].must_be_whole
    talk.reports(1, ORDERS, unclean=True, code=ErrorCode.REPLICA_NOT_AVAILABLE)
    assert talk.leads("orders")[:2] == (None, (2,))
    talk.brokers(1, 2, 3)
    assert talk.leads("orders")[:2] == (2, (2,))


def test_the_only_copy_leads_whatever_it_lacks() -> None:
    """There is nobody to wait for."""
    talk = Conversation().begin().make("orders", (1,)).bounce(1)
    assert not talk.led(1)[ORDERS].must_be_whole
    assert talk.leads("orders")[0] == 1


def test_a_follower_that_lacks_records_leaves_the_isr() -> None:
    """Otherwise it could be elected, and what it lacks would be lost."""
    talk = Conversation().begin().make("orders", (1, 2))
    talk.reports(2, ORDERS, unclean=True)
    assert talk.leads("orders")[:2] == (1, (1,))


def test_what_a_follower_lacks_elects_no_leader_again() -> None:
    """The one that leads lacks some, too, and no other can: each epoch is told, and answered."""
    talk = Conversation().begin().make("orders", (1, 2)).brokers(1, 3).brokers(3).brokers(1, 2, 3)
    talk.reports(1, ORDERS, unclean=True, code=ErrorCode.REPLICA_NOT_AVAILABLE)
    before = talk.leads("orders")
    talk.reports(2, ORDERS, unclean=True)
    assert before[0] == 1
    assert talk.leads("orders") == before
    talk.reports(1, ORDERS, unclean=True)  # its disk is slow: it does not lead yet
    assert talk.leads("orders") == before


def test_a_replica_that_can_only_follow_is_not_elected_again_and_again() -> None:
    """Each of two follows the other, and neither can lead: a newer log may be in a dir of each."""
    talk = Conversation()
    talk.settings.min_isrs["orders"] = 2
    talk.begin().make("orders", (1, 2))
    talk.reports(1, ORDERS, leader=1, code=ErrorCode.KAFKA_STORAGE_ERROR)
    assert talk.leads("orders")[0] == 2
    talk.reports(1, ORDERS, leader=2)
    talk.reports(2, ORDERS, leader=2, code=ErrorCode.KAFKA_STORAGE_ERROR)
    waiting = talk.leads("orders")
    assert waiting[0] is None
    talk.reports(1, ORDERS, leader=2)
    assert talk.leads("orders") == waiting
    talk.reports(1, ORDERS, leader=None)
    assert talk.leads("orders")[0] == 1


def test_nobody_is_eligible_once_the_isr_is_large_enough() -> None:
    """Records are committed again without those who left."""
    talk = Conversation()
    talk.settings.min_isrs["orders"] = 2
    talk.begin().make("orders", (1, 2, 3)).brokers(1, 2)
    assert talk.state("orders").eligible == ()
    talk.brokers(1)
    assert talk.state("orders").eligible == (2,)


def all_died(first: int) -> Conversation:
    """All replicas were gone at once; the controller saw that, and one of them return."""
    talk = Conversation(brokers=(1, 2, 3, 4)).begin().make("orders", (1, 2, 3)).brokers(4)
    assert talk.leads("orders") == (None, (1, 2, 3), 1)
    return talk.brokers(4, first)


def test_the_first_to_return_leads_alone_once_it_says_that_it_is_whole() -> None:
    """Until then it waits for the others: they may be the only ones who have everything."""
    talk = all_died(2)
    assert talk.leads("orders") == (2, (1, 2, 3), 2)
    assert talk.led(2)[ORDERS].must_be_whole
    talk.reports(2, ORDERS)
    assert talk.leads("orders") == (2, (2,), 3)


def test_the_first_to_return_may_lack_what_the_others_have() -> None:
    """It lost its power, and refuses; another that returns leads."""
    talk = all_died(2)
    talk.reports(2, ORDERS, unclean=True)
    assert talk.leads("orders") == (None, (1, 3), 3)
    talk.brokers(4, 2, 3)
    assert talk.leads("orders")[:2] == (3, (1, 3))
    talk.reports(3, ORDERS)
    assert talk.leads("orders")[:2] == (3, (3,))


def test_one_that_returned_unseen_is_not_trusted_by_the_next_controller() -> None:
    """Its life is younger than the state, which names others who are dead."""
    talk = Conversation(brokers=(4,))
    talk.topic("orders", (1, 2, 3))
    talk.write_state("orders", leader=1, isr=(1, 2, 3))
    talk.register(1)
    talk.begin()
    assert talk.leads("orders") == (1, (1, 2, 3), 1)
    assert talk.led(1)[ORDERS].must_be_whole
    talk.reports(1, ORDERS)
    assert talk.leads("orders") == (1, (1,), 2)


def test_a_broker_with_very_many_partitions_comes_and_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looking at them and naming them takes several turns, and comes to the same."""
    talk = Conversation().begin().make("orders", *[(1, 2)] * PARTITIONS)
    pauses = talk.pauses
    whole = talk.brokers(1, 2).brokers(1, 2, 3).metadata(3)
    assert talk.pauses == pauses
    for module in (messages, elections):
        monkeypatch.setattr(module, "ROWS_IN_A_TURN", 2)
    talk.brokers(1, 2)
    assert talk.brokers(1, 2, 3).metadata(3) == whole
    assert len(whole) == PARTITIONS
    assert talk.pauses > pauses
    talk.brokers(2, 3)
    assert {talk.leads("orders", it)[0] for it in range(PARTITIONS)} == {2}
    assert len(talk.led(2)) == PARTITIONS
