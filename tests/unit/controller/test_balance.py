"""Leaders move because an operator, an older tool, a stop or the balance wants it."""

import pytest

from odradek.controller.decisions.balance import imbalanced_partitions, offline_partitions
from odradek.controller.decisions.broker_changes import BrokerNotAvailable, StaleBrokerEpoch
from odradek.controller.events import (
    ControlledShutdownAsked,
    ElectionAsked,
    ElectionType,
    RebalanceIsDue,
    SettingsChanged,
    TreeChanged,
)
from odradek.metadata.znodes.admin import PreferredElectionZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import BrokerEpoch
from tests.unit.controller.conversation import Conversation
from tests.unit.controller.test_in_sync import ask

ORDERS = TopicPartition("orders", 0)


def test_a_lower_number_makes_nobody_eligible_where_a_leader_may_commit_by_it() -> None:
    """A higher one counts for the leader at once; for who is eligible with the next state."""
    talk = Conversation()
    talk.settings.min_isrs = {"orders": 3, "away": 3}
    talk.begin().make("orders", (1, 2, 3)).make("away", (3,))
    talk.brokers(1, 2)
    small = talk.state("orders")
    assert (small.isr, small.eligible, small.eligible_min_isr) == ((1, 2), (3,), 3)
    talk.settings.min_isrs["orders"] = 4
    talk.on(SettingsChanged("orders"))
    assert talk.state("orders") == small
    talk.settings.min_isrs["orders"] = 2
    talk.on(SettingsChanged("orders"))
    assert talk.leads("orders") == (1, (1, 2), 2)
    assert talk.state("orders").eligible == ()
    assert talk.led(1)[ORDERS].eligible_min_isr == 0


def test_a_lower_number_waits_for_a_leader() -> None:
    """Without one nothing is committed, so whoever was eligible still is."""
    talk = Conversation()
    talk.settings.min_isrs["orders"] = 2
    talk.begin().make("orders", (1, 2)).brokers(1, 3).brokers(3)
    assert talk.state("orders").eligible == (2,)
    talk.settings.min_isrs["orders"] = 1
    talk.on(SettingsChanged("orders"))
    assert talk.state("orders").eligible == (2,)
    talk.brokers(2, 3)
    assert talk.leads("orders")[:2] == (2, (2,))
    assert talk.state("orders").eligible == (1,), "its log may turn out to lack records"
    talk.reports(2, ("orders", 0), leading=True)
    assert talk.state("orders").eligible == ()


@pytest.mark.parametrize("is_another", [False, True])
def test_a_lower_number_waits_until_the_leader_is_known_to_lead(*, is_another: bool) -> None:
    """By this controller, in this life of the leader: a wiped disk would say so in its answer."""
    talk = Conversation()
    talk.settings.min_isrs["orders"] = 2
    talk.topic("orders", (1, 2))
    talk.write_state("orders", leader=1, isr=(1,), eligible=(2,), eligible_min_isr=2)
    talk.begin()
    if not is_another:
        talk.reports(1, ("orders", 0), leading=True)
        talk.bounce(1)
    talk.settings.min_isrs["orders"] = 1
    talk.on(SettingsChanged("orders"))
    assert talk.state("orders").eligible
    talk.reports(2, ("orders", 0))
    assert talk.state("orders").eligible
    leader = talk.leads("orders")[0]
    assert leader is not None
    talk.reports(leader, ("orders", 0), leading=True)
    assert talk.state("orders").eligible == ()


def elect(
    talk: Conversation, kind: ElectionType, *partitions: TopicPartition, is_forced: bool = False
) -> list[ErrorCode]:
    """Asks for elections; the error code of each."""
    outcomes = talk.on(ElectionAsked(kind, partitions, is_forced))
    return [it.code if isinstance(it, BrokerError) else ErrorCode.NONE for it in outcomes.values()]


def led_elsewhere() -> Conversation:
    """1 is preferred, alive and in sync; 2 leads."""
    talk = Conversation().begin().make("orders", (1, 2)).brokers(2, 3).brokers(1, 2, 3)
    ask(talk, 2, 1)
    assert talk.leads("orders") == (2, (2, 1), 1)
    return talk


def test_back_to_back_preferred_elections_add_an_epoch_each() -> None:
    """A stop and an election: two epochs for each round."""
    talk = led_elsewhere()
    assert imbalanced_partitions(talk.context) == 1
    assert elect(talk, ElectionType.PREFERRED, ORDERS) == [ErrorCode.NONE]
    assert talk.leads("orders") == (1, (2, 1), 2)
    talk.brokers(2, 3).brokers(1, 2, 3)
    ask(talk, 2, 1)
    elect(talk, ElectionType.PREFERRED, ORDERS)
    assert talk.state("orders").leader_epoch == 4


def test_what_speaks_against_an_election() -> None:
    """Each partition has its own answer."""
    talk = Conversation().begin().make("orders", (1, 2)).make("away", (3, 1))
    preferred = ElectionType.PREFERRED
    assert elect(talk, preferred, ORDERS) == [ErrorCode.ELECTION_NOT_NEEDED]
    assert elect(talk, preferred, TopicPartition("orders", 9)) == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    talk.brokers(1, 2)
    assert elect(talk, preferred, TopicPartition("away", 0)) == [
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    ]
    assert elect(talk, ElectionType.UNCLEAN, ORDERS) == [ErrorCode.ELECTION_NOT_NEEDED]


def test_all_are_asked_for_and_only_those_in_need_are_named() -> None:
    """Of ten thousand partitions nobody wants to read that nothing was to be done."""
    talk = led_elsewhere().make("fine", (3,))
    outcomes = talk.on(ElectionAsked(ElectionType.PREFERRED, None))
    assert outcomes == {ORDERS: None}


def test_an_unclean_election_ends_the_waiting() -> None:
    """Records are lost, because an operator says so; the state says it, too."""
    talk = Conversation().begin().make("orders", (1, 2))
    ask(talk, 1)
    talk.brokers(2, 3)
    assert talk.leads("orders")[0] is None
    assert offline_partitions(talk.context) == 1
    assert elect(talk, ElectionType.PREFERRED, ORDERS) == [ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE]
    assert elect(talk, ElectionType.UNCLEAN, ORDERS) == [ErrorCode.NONE]
    assert talk.leads("orders")[:2] == (2, (2,))
    assert talk.state("orders").recovering
    assert talk.context.unclean_elections == 1


def test_an_unclean_election_is_refused_where_a_whole_replica_may_lead() -> None:
    """Its broker is alive, its log dir offline: that may be repaired. It can be forced."""
    talk = Conversation().begin().make("orders", (1, 2))
    ask(talk, 1)
    talk.reports(1, ("orders", 0), code=ErrorCode.KAFKA_STORAGE_ERROR)
    assert talk.leads("orders")[:2] == (None, (1,))
    unclean, refused = ElectionType.UNCLEAN, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert elect(talk, unclean, ORDERS) == [refused]
    assert talk.leads("orders")[:2] == (None, (1,))
    assert elect(talk, unclean, ORDERS, is_forced=True) == [ErrorCode.NONE]
    assert talk.leads("orders")[:2] == (2, (2,))


def test_the_unclean_chain() -> None:
    """A, B: A stops, B leads; B stops, none; A returns, and leads only because it may."""
    talk = Conversation(brokers=(1, 2)).begin().make("orders", (1, 2)).brokers(2).brokers()
    assert talk.leads("orders")[:2] == (None, (2,))
    talk.brokers(1)
    assert talk.leads("orders")[:2] == (None, (2,))
    talk.settings.unclean_topics.add("orders")
    talk.on(SettingsChanged("orders"))
    assert talk.leads("orders")[:2] == (1, (1,))
    assert talk.led(1)["orders", 0].leader_recovery_state == 1
    assert not talk.led(1)["orders", 0].must_be_whole


def test_the_znode_of_older_tools_elects_and_goes() -> None:
    """It is deleted, whatever came of its partitions."""
    talk = led_elsewhere()
    path = PreferredElectionZnode.PATH
    talk.tree.put(path, PreferredElectionZnode.encode([ORDERS, TopicPartition("none", 0)]))
    talk.on(TreeChanged(frozenset({path})))
    assert talk.leads("orders")[0] == 1
    assert path not in talk.tree.nodes


def test_leaderships_return_by_themselves_where_many_are_elsewhere() -> None:
    """More than a tenth of what a broker is preferred for."""
    talk = led_elsewhere()
    talk.make("fine", *[(1,)] * 9)
    talk.on(RebalanceIsDue())
    assert talk.leads("orders")[0] == 2
    talk.settings.imbalance_percentage = 9
    talk.on(RebalanceIsDue())
    assert talk.leads("orders")[0] == 1


def test_a_preferred_leader_that_has_not_caught_up_is_waited_for() -> None:
    """It would have to be out of sync to lead."""
    talk = Conversation().begin().make("orders", (1, 2)).brokers(2, 3).brokers(1, 2, 3)
    talk.on(RebalanceIsDue())
    assert talk.leads("orders")[0] == 2


# Controlled shutdown


def shut_down(talk: Conversation, broker: int) -> list[TopicPartition]:
    """A broker asks to go; what it still leads."""
    remaining = talk.on(ControlledShutdownAsked(BrokerId(broker), talk.epoch(broker)))
    assert isinstance(remaining, list)
    return remaining


def test_controlled_shutdown_moves_leaderships_one_broker_after_the_other() -> None:
    """The last one keeps its partition, and its leadership."""
    talk = Conversation(brokers=(0, 1, 2)).begin().make("orders", (0, 1, 2))
    assert shut_down(talk, 2) == []
    assert talk.leads("orders")[:2] == (0, (0, 1))
    assert not talk.stops(2)["orders", 0].delete_partition
    assert shut_down(talk, 1) == []
    assert talk.leads("orders")[:2] == (0, (0,))
    assert shut_down(talk, 0) == []  # nobody is there who could take it
    assert talk.leads("orders")[0] == 0


def test_a_broker_that_stops_hands_all_its_leaderships_over_at_once() -> None:
    """One batch of writes; partitions of one replica stay where they are."""
    talk = Conversation().begin().make("orders", *[(1, 2)] * 5).make("alone", (1,))
    talk.tree.writes.clear()
    assert shut_down(talk, 1) == []
    assert len(talk.tree.writes) == 1
    assert {talk.leads("orders", it)[0] for it in range(5)} == {2}
    assert talk.leads("alone") == (1, (1,), 0)


def test_who_stops_must_be_who_is_registered() -> None:
    """A request of an earlier life comes too late."""
    talk = Conversation().begin()
    with pytest.raises(StaleBrokerEpoch):
        talk.on(ControlledShutdownAsked(BrokerId(1), BrokerEpoch(0)))
    with pytest.raises(BrokerNotAvailable):
        talk.on(ControlledShutdownAsked(BrokerId(9), BrokerEpoch(0)))


def test_a_broker_that_shuts_down_is_elected_for_nothing() -> None:
    """It is alive, but not for long; once it is back it counts again."""
    talk = Conversation().begin().make("orders", (1, 2))
    shut_down(talk, 1)
    elect(talk, ElectionType.PREFERRED, ORDERS)
    assert talk.leads("orders")[0] == 2
    talk.make("new", (1, 3))
    assert talk.leads("new")[:2] == (3, (3,))
    talk.bounce(1)
    ask(talk, 2, 1)
    elect(talk, ElectionType.PREFERRED, ORDERS)
    assert talk.leads("orders")[0] == 1
