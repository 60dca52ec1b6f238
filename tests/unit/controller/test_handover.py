"""The controller hands over to the broker that is wished for, and what may come in between.

Broker 1 is the controller of epoch 5, in session 1. Broker 2 does in session 2 what it decides.
"""

import pytest

from odradek.controller.candidacy import Lost
from odradek.controller.context import ControllerContext
from odradek.controller.controller_znodes import read_controller_znodes
from odradek.controller.decisions.campaign import Candidate, Won, campaign
from odradek.controller.decisions.readiness import (
    GetReady,
    GiveUp,
    SayReady,
    TakeOver,
    decide_part,
    say_ready,
)
from odradek.controller.events import (
    BeginningGoesOn,
    PreferenceIsDue,
    ProcessIsGone,
    StopAsked,
    WishChanged,
    WishIsDue,
)
from odradek.controller.standby import Standby
from odradek.controller.standing import Abstains, Standing
from odradek.metadata.znodes.cluster import ControllerZnode
from odradek.metadata.znodes.controller import (
    ControllerHistory,
    ControllerHistoryZnode,
    NextControllerZnode,
    ReadyToServeZnode,
    Wish,
)
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import ControllerEpoch
from odradek.model.units import Millis, Timestamp
from tests.unit.controller.conversation import Conversation, Deposed, Settings

WISH, READY = NextControllerZnode.PATH, ReadyToServeZnode.PATH


class Move(Conversation):
    """Two brokers of three, one of which is to replace the other."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(brokers=(1, 2, 3), settings=settings)
        self.standby: Standby | None = None

    def wish(self, broker: int, *, epoch: int = 5, wish_id: str = "a") -> None:
        """An operator's; the watch rings."""
        wish = Wish(wish_id, BrokerId(broker), ControllerEpoch(epoch), "an operator")
        self.tree.put(WISH, NextControllerZnode.encode(wish))
        self.on(WishChanged())

    def candidate(self, broker: int, standing: Standing | None = None) -> Candidate:
        """In its own session."""
        return Candidate(BrokerId(broker), broker, Timestamp(0), standing=standing or Standing())

    def part(self, broker: int) -> object:
        """What it has to do now; it does it."""
        self.tree.session = broker
        znodes = self.take(read_controller_znodes())
        loaded_for = None if self.standby is None else self.standby.wish
        part = decide_part(self.candidate(broker), znodes, loaded_for)
        match part:
            case GetReady(wish):
                self.standby = Standby(BrokerId(broker), wish.id, self.settings)
                self.take(self.standby.load())
                self.take(say_ready(wish, znodes))
            case SayReady(wish):
                self.take(say_ready(wish, znodes))
        self.tree.session = 1
        return part

    def competes(self, broker: int, standing: Standing | None = None) -> object:
        """For /controller."""
        self.tree.session = broker
        outcome = self.take(campaign(self.candidate(broker, standing)))
        self.tree.session = 1
        return outcome

    def becomes_ready(self, broker: int) -> None:
        """It loads the image; the controller hears of it."""
        assert isinstance(self.part(broker), GetReady)
        self.on(WishChanged())

    def history(self) -> ControllerHistory:
        """What is kept for people."""
        return ControllerHistoryZnode.decode(self.tree.nodes["/admin/controller_history"].data)

    @property
    def refusal(self) -> str:
        """Of the last wish."""
        return self.history().wishes[-1].refusal

    def hands_over(self) -> bool:
        """Whether the controller waits to be replaced."""
        return self.context.handover.is_handing_over

    def dies(self, session: int) -> None:
        """A session is over: its ephemerals go."""
        for path in [it for it, node in self.tree.nodes.items() if node.owner == session]:
            del self.tree.nodes[path]


@pytest.fixture
def t() -> Move:
    """One that has begun."""
    talk = Move()
    talk.begin()
    return talk


def test_the_controller_is_moved_to_the_broker_that_is_wished_for(t: Move) -> None:
    """It loads the image and says so, the controller stops deciding, and it takes over."""
    t.make("orders", (1, 2, 3))
    t.wish(2)
    assert not t.hands_over()
    t.becomes_ready(2)
    assert t.hands_over()
    assert isinstance(t.part(2), TakeOver)
    won = t.competes(2)
    assert isinstance(won, Won)
    assert (won.lease.epoch, won.why) == (6, "broker 1 handed over: an operator")
    assert WISH not in t.tree.nodes
    assert ControllerZnode.decode(t.tree.nodes["/controller"].data) == 2


def test_a_broker_that_has_just_come_is_waited_for(t: Move) -> None:
    """It stands in the tree, and the controller has not read it yet: that is no refusal."""
    t.register(4)
    t.wish(4)
    assert WISH in t.tree.nodes
    assert t.reminders[-1].event == WishChanged()
    t.brokers(1, 2, 3, 4)
    t.on(WishChanged())
    t.becomes_ready(4)
    assert t.hands_over()


def test_readiness_for_an_earlier_wish_does_not_count(t: Move) -> None:
    """What the broker has loaded for that one may be old: it says so anew for this one."""
    t.wish(2)
    assert isinstance(t.part(2), GetReady)
    t.wish(2, wish_id="b")
    assert not t.hands_over()
    assert isinstance(t.part(2), GetReady)
    t.on(WishChanged())
    assert t.hands_over()


def test_a_controller_that_was_replaced_writes_nothing_more(t: Move) -> None:
    """It has not heard of it yet; the guard of its epoch tells it."""
    t.wish(2)
    t.becomes_ready(2)
    t.competes(2)
    with pytest.raises(Deposed):
        t.on(WishIsDue("a"))


def test_the_new_controller_knows_what_the_tree_does_not_say(t: Move) -> None:
    """Offline and unclean replicas, and who shuts down; states that were written meanwhile."""
    t.make("orders", (1, 2, 3), (2, 3, 1))
    t.wish(2)
    assert isinstance(t.part(2), GetReady)
    t.reports(3, ("orders", 0), code=ErrorCode.KAFKA_STORAGE_ERROR)
    t.on(WishChanged())
    won = t.competes(2)
    assert isinstance(won, Won)
    assert won.wish is not None
    old = t.context
    begun = take_over(t, won)
    new = begun.context
    where = TopicPartition("orders", 0)
    assert new.image.partition(where) == old.image.partition(where)
    assert 3 in new.image.topics["orders"].partitions[0].offline
    while new.remaining:
        begun.on(BeginningGoesOn())
    assert begun.leads("orders") == (1, (1, 2), 1)
    assert {*begun.led(3)} == {("orders", 0), ("orders", 1)}


def take_over(t: Move, won: Won) -> Move:
    """The other process, on the same tree."""
    assert t.standby is not None
    assert won.wish is not None
    other = Move(t.settings)
    other.tree = t.tree
    for path in ("/brokers/topics/orders/partitions/0/state", "/brokers/ids"):
        t.standby.on_path(path)
    context: ControllerContext = other.take(t.standby.catch_up())
    context.lease = won.lease
    other.controller = type(t.controller)(context)
    other.take(other.controller.begin_warm(t.standby.reading, won.wish.facts or ()))
    return other


def test_before_its_first_event_a_warm_controller_names_itself_to_all(t: Move) -> None:
    """Brokers ask it at once; what they know already is said again later, in slices."""
    t.make("orders", (1, 2, 3))
    t.wish(2)
    t.becomes_ready(2)
    won = t.competes(2)
    assert isinstance(won, Won)
    begun = take_over(t, won)
    assert [begun.kinds(to) for to in (1, 2, 3)] == [["UpdateMetadata"]] * 3
    assert begun.metadata(1) == {}


@pytest.mark.parametrize(
    ("broker", "why"),
    [(9, "not registered"), (3, "shuts down"), (1, "the controller already")],
)
def test_a_wish_that_cannot_be_is_taken_back(t: Move, broker: int, why: str) -> None:
    """Whoever made it can read why."""
    t.context.shuts_down(BrokerId(3))
    t.wish(broker)
    assert WISH not in t.tree.nodes
    assert why in t.refusal


def test_a_broker_of_kafkas_cannot_take_over(t: Move) -> None:
    """It would never get ready; the operator is told at once."""
    t.register(3, marked=False)
    t.brokers(1, 2, 3)
    t.wish(3)
    assert "not one of ours" in t.refusal


def test_a_wish_from_an_earlier_epoch_is_taken_back(t: Move) -> None:
    """Its maker wanted the controller away from where it was then."""
    t.wish(2, epoch=4)
    assert "epoch 4" in t.refusal


@pytest.mark.parametrize("data", [b"2", b"{}", b'{"version":1,"broker":-3,"epoch":5}', b"\xff"])
def test_a_wish_that_makes_no_sense_is_taken_away(t: Move, data: bytes) -> None:
    """It harms nothing, and the next wish is fulfilled."""
    t.tree.put(WISH, data)
    t.on(WishChanged())
    assert WISH not in t.tree.nodes
    t.tree.put(READY, data)
    t.wish(2)
    assert not t.hands_over()
    t.becomes_ready(2)
    assert t.hands_over()


def test_a_wish_that_pretends_to_be_handed_over_is_taken_back(t: Move) -> None:
    """Only the controller itself hands over: another would act beside it."""
    wish = Wish("a", BrokerId(2), ControllerEpoch(5), "an intruder", ())
    t.tree.put(WISH, NextControllerZnode.encode(wish))
    assert t.part(2) is None
    t.on(WishChanged())
    assert WISH not in t.tree.nodes


def test_a_later_wish_replaces_an_earlier_one(t: Move) -> None:
    """Even after the hand-over: the first candidate's multi names a version that is no more."""
    t.wish(2)
    t.becomes_ready(2)
    t.wish(3, wish_id="b")
    assert not t.hands_over()
    assert isinstance(t.part(2), GiveUp)
    assert t.competes(2) == Lost(BrokerId(1))
    t.standby = None
    t.becomes_ready(3)
    assert isinstance(t.competes(3), Won)


def test_a_candidate_that_never_gets_ready_is_not_waited_for(t: Move) -> None:
    """The controller has worked on all the time."""
    t.wish(2)
    (reminder,) = t.reminders
    t.on(reminder.event)
    assert "did not get ready" in t.refusal


def test_a_candidate_that_hangs_after_the_hand_over_costs_the_lease(t: Move) -> None:
    """The controller takes the wish back and goes on; the other comes too late."""
    t.wish(2)
    t.becomes_ready(2)
    assert t.reminders[-1].after == 2_000
    t.on(t.reminders[-1].event)
    assert not t.hands_over()
    assert "did not take over" in t.refusal
    assert READY not in t.tree.nodes
    assert t.competes(2) == Lost(BrokerId(1))
    assert t.make("orders", (1, 2, 3)).leads("orders") == (1, (1, 2, 3), 0)


def test_a_candidate_whose_process_ends_is_not_waited_for(t: Move) -> None:
    """Its session may last; its connection has told."""
    t.wish(2)
    t.becomes_ready(2)
    t.on(ProcessIsGone(BrokerId(2), t.epoch(2)))
    assert not t.hands_over()
    assert "process" in t.refusal


def test_a_candidate_whose_session_ends_is_not_waited_for(t: Move) -> None:
    """Its process may live, but it has loaded nothing any more."""
    t.wish(2)
    t.becomes_ready(2)
    t.dies(2)
    t.on(WishChanged())
    assert not t.hands_over()
    assert "not ready" in t.refusal


def test_a_reminder_of_another_wish_means_nothing(t: Move) -> None:
    """That wish is over, and another one stands."""
    t.wish(2)
    t.on(WishIsDue("z"))
    assert t.context.handover.wish is not None


# The three cases of KIP-39: controller and candidate die together


def test_case_one_nobody_had_seen_that_it_was_ready(t: Move) -> None:
    """Whoever looks finds neither: an election like any other."""
    t.wish(2)
    t.becomes_ready(2)
    t.dies(1)
    t.dies(2)
    assert isinstance(t.competes(3), Won)


def test_case_two_all_had_seen_it_and_abstain(t: Move) -> None:
    """Its ephemeral goes, which is watched, and the others compete."""
    t.wish(2)
    t.becomes_ready(2)
    t.dies(1)
    assert t.competes(3) == Abstains(BrokerId(2), is_bounded=True)
    t.dies(2)
    assert isinstance(t.competes(3), Won)


def test_case_three_some_had_seen_it(t: Move) -> None:
    """Those who had not compete at once; those who had lose, or win, as in any election."""
    t.wish(2)
    t.becomes_ready(2)
    t.dies(1)
    assert t.competes(3) == Abstains(BrokerId(2), is_bounded=True)
    t.dies(2)
    t.register(4)
    assert isinstance(t.competes(4), Won)
    assert t.competes(3) == Lost(BrokerId(4))


def test_who_is_ready_takes_over_from_a_controller_that_has_died(t: Move) -> None:
    """The others leave it to it, for no longer than the lease."""
    t.wish(2)
    t.becomes_ready(2)
    t.dies(1)
    late = Standing(lease_is_over=True)
    assert t.competes(3) == Abstains(BrokerId(2), is_bounded=True)
    assert isinstance(t.competes(2), Won)
    t.dies(2)
    assert isinstance(t.competes(3, late), Won)


def test_nobody_abstains_for_a_process_that_is_gone(t: Move) -> None:
    """Its session lasts for seconds still."""
    t.wish(2)
    t.becomes_ready(2)
    t.dies(1)
    assert isinstance(t.competes(3, Standing(gone=frozenset({BrokerId(2)}))), Won)


def test_nobody_abstains_for_who_was_ready_in_another_epoch(t: Move) -> None:
    """It was left behind by a session that has not expired yet."""
    t.wish(2)
    t.becomes_ready(2)
    t.tree.put("/controller_epoch", b"6")
    t.dies(1)
    assert isinstance(t.competes(3), Won)


# Preferred brokers


def preferred(*brokers: int, settings: Settings | None = None) -> Move:
    """These are preferred; broker 1 is the controller all the same, if it is not among them."""
    talk = Move(settings)
    for number in brokers:
        talk.register(number, preferred=True)
    talk.begin()
    return talk


def test_others_leave_it_to_a_preferred_broker_for_as_long_as_the_lease() -> None:
    """It may hang, and with the fall-back the cluster shall not wait for its session."""
    t = preferred(3)
    t.dies(1)
    assert t.competes(2) == Abstains(BrokerId(3), is_bounded=True)
    assert isinstance(t.competes(2, Standing(lease_is_over=True)), Won)


def test_without_the_fall_back_only_preferred_brokers_compete() -> None:
    """However long it takes; the one that is preferred wins."""
    t = preferred(3)
    t.dies(1)
    strict = Standing(has_fallback=False, lease_is_over=True)
    assert t.competes(2, strict) == Abstains(BrokerId(3), is_bounded=False)
    assert isinstance(t.competes(3, Standing(is_preferred=True, has_fallback=False)), Won)


def test_where_no_preferred_broker_lives_the_fall_back_decides() -> None:
    """With it anybody competes at once; without it nobody does."""
    t = preferred()
    t.dies(1)
    assert t.competes(2, Standing(has_fallback=False)) == Abstains(None, is_bounded=False)
    assert isinstance(t.competes(2), Won)


def test_the_controller_goes_to_a_preferred_broker_that_has_settled() -> None:
    """Not before, and not if it has had another life meanwhile."""
    t = preferred(3)
    t.on(PreferenceIsDue())
    t.context.time = Millis(29_000)
    t.on(PreferenceIsDue())
    assert WISH not in t.tree.nodes
    t.bounce(3)
    t.register(3, preferred=True)
    t.brokers(1, 2, 3)
    t.context.time = Millis(31_000)
    t.on(PreferenceIsDue())
    assert WISH not in t.tree.nodes
    t.context.time = Millis(61_000)
    t.on(PreferenceIsDue())
    assert NextControllerZnode.decode(t.tree.nodes[WISH].data).broker == 3


def test_a_preferred_broker_that_lags_behind_is_waited_for() -> None:
    """It has been up for long, and is in no ISR yet."""
    t = preferred(3)
    t.topic("orders", (1, 2, 3))
    t.write_state("orders", leader=1, isr=(1, 2))
    t.topics_changed()
    t.on(PreferenceIsDue())
    t.context.time = Millis(40_000)
    t.on(PreferenceIsDue())
    assert WISH not in t.tree.nodes


def test_after_a_move_that_failed_it_waits_as_long_again() -> None:
    """Or a preferred broker that hangs would take the controller away every other second."""
    t = preferred(3)
    t.on(PreferenceIsDue())
    t.context.time = Millis(30_000)
    t.on(PreferenceIsDue())
    wish = NextControllerZnode.decode(t.tree.nodes[WISH].data)
    t.on(WishIsDue(wish.id))
    t.on(PreferenceIsDue())
    t.context.time = Millis(59_000)
    t.on(PreferenceIsDue())
    assert WISH not in t.tree.nodes


def test_an_operator_cannot_move_it_away_from_preferred_brokers() -> None:
    """It would come back; and without the fall-back it may not go there at all."""
    t = preferred(3)
    t.wish(2)
    assert "3, which is, lives" in t.refusal
    t.settings.has_fallback = False
    t.wish(2)
    assert "allow no other" in t.refusal


def test_a_controller_that_stops_hands_over_to_a_preferred_or_the_youngest_broker(t: Move) -> None:
    """The youngest was restarted already, if this is a rolling restart."""
    t.bounce(2)
    t.on(StopAsked())
    assert NextControllerZnode.decode(t.tree.nodes[WISH].data).broker == 2


def test_a_controller_that_stops_alone_waits_for_nobody() -> None:
    """There is no broker that could take over."""
    t = Move()
    t.begin()
    t.brokers(1)
    assert t.on(StopAsked()) == ""
