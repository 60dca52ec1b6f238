"""The controller's mind as a conversation: brokers and topics come and go, and what follows."""

from collections.abc import Iterable

from odradek.config.listeners import SecurityProtocol
from odradek.controller.candidacy import ControllerLease
from odradek.controller.controller import (
    Controller,
    Effects,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
)
from odradek.controller.messages import message
from odradek.controller.phases import PartitionPhase, ReplicaPhase
from odradek.metadata.image import Changes, ClusterImage, PartitionImage
from odradek.metadata.nouns import (
    Assignment,
    Broker,
    Endpoint,
    PartitionState,
    TopicAssignment,
)
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionEpoch
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.stop_replica import StopReplicaRequest
from odradek.wire.messages.update_metadata import UpdateMetadataRequest

ONE, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)
ORDERS = TopicPartition("orders", 0)
ID = TopicId(bytes(range(16)))


def broker(number: BrokerId, epoch: int = 10) -> Broker:
    """A life of a broker."""
    at = Endpoint("PLAINTEXT", "host", 9_000 + number, SecurityProtocol.PLAINTEXT)
    return Broker(number, (at,), epoch=BrokerEpoch(epoch))


def topic(*assignments: tuple[BrokerId, ...]) -> TopicAssignment:
    """Its partitions' replicas."""
    partitions = {number: Assignment(replicas) for number, replicas in enumerate(assignments)}
    return TopicAssignment(partitions, ID)


class Talk:
    """A controller whose writes succeed, and what it has said."""

    def __init__(
        self,
        live: Iterable[BrokerId] = (ONE, TWO, THREE),
        *,
        unclean: bool = False,
        image: ClusterImage | None = None,
        marked: tuple[str, ...] = (),
    ) -> None:
        image = Changes(image or ClusterImage()).brokers(map(broker, live)).image()
        mandate = ControllerLease(ControllerEpoch(5), 7)
        self.controller = Controller(mandate, image, unclean=lambda _: unclean)
        self.said: list[SendLeaderAndIsr | SendUpdateMetadata | SendStopReplica] = []
        self.forgotten: list[str] = []
        self.unmarked: list[str] = []
        self.follow(self.controller.begin(marked))

    def follow(self, effects: Effects) -> "Talk":
        """Carries everything out, with all that follows."""
        self.said += effects.messages
        if effects.writes:
            self.follow(self.controller.on_written(effects.writes))
        for name in effects.forget:
            self.forgotten.append(name)
            self.controller.on_forgotten(name)
        self.unmarked += effects.unmark
        assert self.controller.faults == []
        return self

    def make(self, *assignments: tuple[BrokerId, ...]) -> "Talk":
        """The topic `orders`."""
        return self.follow(self.controller.on_topics({"orders": topic(*assignments)}))

    def live(self, *brokers: Broker) -> "Talk":
        """From now on these."""
        self.said.clear()
        return self.follow(self.controller.on_brokers(brokers))

    def state(self, partition: TopicPartition = ORDERS) -> PartitionState:
        """As it was written."""
        image = self.controller.image.partition(partition)
        assert image is not None
        assert image.state is not None
        return image.state

    def leads(self) -> dict[BrokerId, tuple[TopicPartition, ...]]:
        """Who was told of which partitions."""
        return {it.broker: it.partitions for it in self.said if isinstance(it, SendLeaderAndIsr)}


def test_a_new_topic_is_led_by_the_first_replica_that_is_alive() -> None:
    """All that are alive are in sync, because there is nothing to have yet."""
    talk = Talk(live=(TWO, THREE)).make((ONE, TWO, THREE))
    state = talk.state()
    assert (state.leader, state.isr, state.leader_epoch) == (TWO, (TWO, THREE), 0)
    assert talk.leads() == {TWO: (ORDERS,), THREE: (ORDERS,)}
    assert all(
        it.new == {ORDERS} for it in talk.said if isinstance(it, SendLeaderAndIsr) and it.partitions
    )


def test_without_a_replica_that_is_alive_a_topic_waits_for_one() -> None:
    """It has no leader until a broker comes that holds it."""
    talk = Talk(live=(THREE,)).make((ONE, TWO))
    assert talk.controller.partition_phases[ORDERS] is PartitionPhase.NEW
    talk.live(broker(TWO), broker(THREE))
    assert talk.state().leader == TWO


def test_a_leader_that_dies_is_followed_by_one_that_is_in_sync() -> None:
    """A new leadership, without the dead one, and everybody who is alive hears of it."""
    talk = Talk().make((ONE, TWO, THREE)).live(broker(TWO), broker(THREE))
    state = talk.state()
    assert (state.leader, state.isr, state.leader_epoch) == (TWO, (TWO, THREE), 1)
    assert state.partition_epoch == 1
    assert set(talk.leads()) == {TWO, THREE}
    assert {it.broker for it in talk.said if isinstance(it, SendUpdateMetadata)} == {TWO, THREE}


def test_a_follower_that_dies_leaves_the_isr() -> None:
    """The leader goes on; its epoch rises, as Kafka's does."""
    talk = Talk().make((ONE, TWO)).live(broker(ONE), broker(THREE))
    state = talk.state()
    assert (state.leader, state.isr, state.leader_epoch) == (ONE, (ONE,), 1)


def test_the_last_member_stays_in_the_isr_when_it_dies() -> None:
    """It has everything that was committed, and leads again when it comes back."""
    talk = Talk().make((ONE,)).live(broker(TWO), broker(THREE))
    assert (talk.state().leader, talk.state().isr) == (None, (ONE,))
    assert talk.controller.partition_phases[ORDERS] is PartitionPhase.OFFLINE
    talk.live(broker(ONE, epoch=20), broker(TWO), broker(THREE))
    assert (talk.state().leader, talk.state().isr) == (ONE, (ONE,))
    assert talk.leads()[ONE] == (ORDERS,)


def test_losing_records_is_the_operators_to_allow() -> None:
    """Only then a replica from outside the ISR leads, alone and marked as recovering."""
    state = PartitionState(ONE, LeaderEpoch(3), (ONE,), PartitionEpoch(4), ControllerEpoch(2))
    partition = PartitionImage(Assignment((ONE, TWO)), state)
    image = Changes(ClusterImage()).topic("orders", ID, {0: partition}).image()
    assert Talk(live=(TWO,), image=image).state().leader == ONE
    talk = Talk(live=(TWO,), image=image, unclean=True)
    assert (talk.state().leader, talk.state().isr, talk.state().recovering) == (TWO, (TWO,), True)


def test_a_broker_that_bounced_is_lost_and_back_at_once() -> None:
    """Its new life has another epoch, and leads only what it is told to."""
    talk = Talk().make((ONE, TWO)).live(broker(ONE, epoch=20), broker(TWO), broker(THREE))
    state = talk.state()
    assert (state.leader, state.leader_epoch) == (ONE, 1)
    assert ORDERS in talk.leads()[ONE]


def test_a_new_controller_tells_everybody_everything() -> None:
    """First who is alive, then the partitions, then each broker what it holds."""
    state = PartitionState(TWO, LeaderEpoch(3), (TWO,), PartitionEpoch(4), ControllerEpoch(2))
    partition = PartitionImage(Assignment((TWO, THREE)), state)
    image = Changes(ClusterImage()).topic("orders", ID, {0: partition}).image()
    talk = Talk(image=image)
    kinds = [type(it).__name__ for it in talk.said]
    assert kinds == ["SendUpdateMetadata"] * 6 + ["SendLeaderAndIsr"] * 2
    assert talk.leads() == {TWO: (ORDERS,), THREE: (ORDERS,)}
    assert talk.state() == state


def test_partitions_that_are_added_are_brought_online_alone() -> None:
    """Those that were there hear nothing."""
    talk = Talk().make((ONE,))
    talk.said.clear()
    talk.make((ONE,), (TWO,))
    added = TopicPartition("orders", 1)
    assert talk.leads() == {TWO: (added,)}
    assert talk.state(added).leader == TWO


def test_a_topic_is_forgotten_once_all_its_replicas_are_deleted() -> None:
    """Each broker says so for itself."""
    talk = Talk().make((ONE, TWO))
    talk.said.clear()
    talk.follow(talk.controller.on_deletions(["orders"]))
    assert {it.broker for it in talk.said if isinstance(it, SendStopReplica)} == {ONE, TWO}
    talk.follow(talk.controller.on_stopped(ONE, {ORDERS: ErrorCode.NONE}))
    assert talk.forgotten == []
    talk.follow(talk.controller.on_stopped(TWO, {ORDERS: ErrorCode.NONE}))
    assert talk.forgotten == ["orders"]
    assert talk.controller.image.topics == {}
    assert talk.controller.partition_phases == {}
    assert talk.controller.replica_phases == {}


def test_a_deletion_waits_for_a_broker_that_is_away() -> None:
    """Meanwhile the topic takes part in nothing, and gets no leader."""
    talk = Talk().make((ONE, TWO)).live(broker(ONE), broker(THREE))
    talk.follow(talk.controller.on_deletions(["orders"]))
    talk.follow(talk.controller.on_stopped(ONE, {ORDERS: ErrorCode.NONE}))
    phases = talk.controller.replica_phases
    assert phases[ORDERS, TWO] is ReplicaPhase.DELETION_INELIGIBLE
    talk.live(broker(ONE), broker(TWO, epoch=20), broker(THREE))
    assert [it for it in talk.said if isinstance(it, SendStopReplica)] == [
        SendStopReplica(TWO, (ORDERS,))
    ]
    talk.follow(talk.controller.on_stopped(TWO, {ORDERS: ErrorCode.NONE}))
    assert talk.forgotten == ["orders"]


def test_a_deletion_that_failed_is_tried_again_with_the_next_life() -> None:
    """A broker may be killed in the middle of it."""
    talk = Talk().make((ONE,))
    talk.follow(talk.controller.on_deletions(["orders"]))
    talk.follow(talk.controller.on_stopped(ONE, {ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}))
    assert talk.forgotten == []
    talk.live(broker(ONE, epoch=20), broker(TWO), broker(THREE))
    assert [it for it in talk.said if isinstance(it, SendStopReplica)] == [
        SendStopReplica(ONE, (ORDERS,))
    ]


def test_a_mark_of_a_topic_that_is_not_there_is_taken_away() -> None:
    """Nothing would ever come of it."""
    talk = Talk(marked=("nothing",))
    assert talk.unmarked == ["nothing"]


def test_a_topic_that_somebody_took_out_of_the_tree_is_gone() -> None:
    """Brokers are told that it is being deleted, and forget it."""
    talk = Talk().make((ONE,))
    talk.said.clear()
    talk.follow(talk.controller.on_topics({"orders": None}))
    assert [it.partitions for it in talk.said] == [(ORDERS,)] * 3
    assert talk.controller.image.topics == {}


def test_what_another_had_written_is_taken_as_it_is() -> None:
    """If that leader is alive there is nothing to decide."""
    talk = Talk().make((ONE, TWO))
    state = PartitionState(TWO, LeaderEpoch(9), (TWO,), PartitionEpoch(9), ControllerEpoch(4))
    effects = talk.controller.on_states({ORDERS: state})
    assert effects.writes == ()
    assert talk.state() == state


def test_messages_name_who_says_so_and_whom_they_are_for() -> None:
    """A controller of the past, and an earlier life of a broker, are told from those of now."""
    talk = Talk().make((ONE, TWO))
    lead = message(THREE, talk.controller, SendLeaderAndIsr(TWO, (ORDERS,)))
    assert isinstance(lead, LeaderAndIsrRequest)
    assert (lead.controller_id, lead.controller_epoch, lead.broker_epoch) == (3, 5, 10)
    (row,) = lead.topic_states[0].partition_states
    assert (row.leader, row.leader_epoch, tuple(row.isr)) == (1, 0, (1, 2))
    inform = message(THREE, talk.controller, SendUpdateMetadata(ONE, None))
    assert isinstance(inform, UpdateMetadataRequest)
    assert [it.id for it in inform.live_brokers] == [1, 2, 3]
    stop = message(THREE, talk.controller, SendStopReplica(ONE, (ORDERS,)))
    assert isinstance(stop, StopReplicaRequest)
    assert stop.topic_states[0].partition_states[0].delete_partition


def test_a_topic_that_is_being_deleted_is_told_as_such() -> None:
    """Its leader is minus two: whoever hears that forgets the partition."""
    talk = Talk().make((ONE,))
    talk.controller.deleting["orders"] = None
    inform = message(THREE, talk.controller, SendUpdateMetadata(ONE, (ORDERS,)))
    assert isinstance(inform, UpdateMetadataRequest)
    assert inform.topic_states[0].partition_states[0].leader == -2
