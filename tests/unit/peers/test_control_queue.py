"""What waits for a broker: merged by partition, in the order that matters, bounded."""

import tracemalloc
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from odradek.peers.control_message import ControlMessage, ControlRequest
from odradek.peers.control_queue import FULL, ROWS_MAX, ControlQueue
from odradek.wire.codec import decode, encoded
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.stop_replica import StopReplicaPartitionState, StopReplicaRequest
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from tests.unit.peers.control_requests import (
    DURING_DELETION,
    FIRST_ID,
    SECOND_ID,
    SENDER,
    lead,
    metadata,
    queue_of,
    said,
    stop,
    take_all,
)

PARTITIONS = 1_000
BYTES_MAX = 5_000_000  # a tenth of what ten thousand partitions may cost


def test_what_nothing_was_merged_to_goes_out_as_it_came() -> None:
    """The very message that the other receivers get: it is encoded once."""
    message = ControlMessage(lead(0, 1))
    queue = ControlQueue(SENDER)
    queue.add(message)
    assert queue.take() is message
    first, second = message.encoded_for(5), message.encoded_for(6)  # type: ignore[arg-type]
    assert first.body[1].obj is second.body[1].obj  # type: ignore[union-attr]


def test_each_receiver_is_addressed_by_its_own_epoch() -> None:
    """In all three kinds, at the versions of Kafka 3.9; the rest is untouched."""
    for request in (lead(0), metadata(0), stop(0)):
        message = ControlMessage(request)
        _, version, body = message.encoded_for(1234)  # type: ignore[arg-type]
        there, _ = decode(type(request), version, b"".join(body))  # type: ignore[arg-type]
        own = message.request_for(1234)  # type: ignore[arg-type]
        assert there.broker_epoch == own.broker_epoch == 1234
        assert encoded(there, version) == encoded(own, version)
        assert request.broker_epoch == -1


def test_the_newest_state_of_a_partition_counts() -> None:
    """And that it is new to the broker is not forgotten."""
    queue = queue_of(lead(0, 1, epoch=3, new=True), lead(1, epoch=4), lead(2, epoch=1))
    (request,) = take_all(queue)
    assert said(request) == ("lead", [(0, 3, True), (1, 4, True), (2, 1, False)])
    assert isinstance(request, LeaderAndIsrRequest)
    assert (request.controller_id, request.controller_epoch) == SENDER
    assert [it.broker_id for it in request.live_leaders] == [1]


def test_rows_that_others_share_are_not_changed() -> None:
    """A queue that must say `is_new` of a later state makes a row of its own."""
    later = lead(0, epoch=4)
    take_all(queue_of(lead(0, epoch=3, new=True), later))
    assert not later.topic_states[0].partition_states[0].is_new


def test_leaders_begin_before_clients_hear_of_them() -> None:
    """As long as the broker knows all who live."""
    queue = queue_of(metadata())
    assert queue.take() is not None
    for request in (metadata(0), lead(0), stop(1)):
        queue.add(ControlMessage(request))
    assert [said(it)[0] for it in take_all(queue)] == ["lead", "metadata", "stop"]


def test_a_broker_hears_of_other_brokers_before_it_follows_them() -> None:
    """It would refuse a leader that it does not know."""
    queue = queue_of(metadata(live=(1, 2)))
    assert queue.take() is not None
    for request in (lead(0), metadata(live=(1, 2, 3)), lead(1, leader=3), metadata(live=(1, 2, 3))):
        queue.add(ControlMessage(request))
    assert [said(it)[0] for it in take_all(queue)] == ["metadata", "lead"]


def test_metadata_is_merged_and_the_last_list_of_brokers_counts() -> None:
    """Each partition once, with the newest of what was said of it."""
    (request,) = take_all(queue_of(metadata(0, 1), metadata(1, leader=2, live=(2,))))
    assert said(request) == ("metadata", [(0, 1, False), (1, 2, False)])
    assert isinstance(request, UpdateMetadataRequest)
    assert [it.id for it in request.live_brokers] == [2]


def test_the_whole_metadata_replaces_what_waits_and_stays_whole() -> None:
    """What it does not name does not exist; later changes are merged into it."""
    queue = queue_of(metadata(0, 1), metadata(2), metadata(1, 3, kind=FULL), metadata(3, leader=2))
    (request,) = take_all(queue)
    assert said(request) == ("metadata", [(1, 1, False), (3, 2, False)])
    assert isinstance(request, UpdateMetadataRequest)
    assert request.type == FULL
    (later,) = take_all(queue_of(metadata(1), metadata(2)))
    assert isinstance(later, UpdateMetadataRequest)
    assert later.type == 0


def test_what_was_merged_goes_out_in_parts() -> None:
    """Each partition once; the leaders of a part are named in it; all begin before clients hear."""
    numbers = range(ROWS_MAX + 1)
    queue = queue_of(*(it(*numbers, leader=2) for it in (lead, lead, metadata, metadata)))
    first, *parts = take_all(queue)
    assert said(first)[0] == "metadata", "it names the live brokers"
    assert [(said(it)[0], len(said(it)[1])) for it in parts] == [
        ("lead", ROWS_MAX),
        ("lead", 1),
        ("metadata", 1),
    ]
    assert sorted(row[0] for it in (first, parts[-1]) for row in said(it)[1]) == [*numbers]
    assert all(it.live_leaders for it in parts if isinstance(it, LeaderAndIsrRequest))


def test_the_whole_metadata_is_not_divided() -> None:
    """A broker that has just started opens with what it has heard of."""
    numbers = range(ROWS_MAX + 1)
    (request,) = take_all(queue_of(metadata(*numbers, kind=FULL), metadata(0, leader=2)))
    assert len(said(request)[1]) == ROWS_MAX + 1


def test_a_deletion_sticks() -> None:
    """And so does the epoch that no fence stops; an ordinary one is replaced."""
    queue = queue_of(stop(0, 1, delete=True, epoch=DURING_DELETION), stop(0, epoch=6), stop(2))
    (request,) = take_all(queue)
    rows = [(1, DURING_DELETION, True), (0, DURING_DELETION, True), (2, 5, False)]
    assert said(request) == ("stop", rows)


def test_a_replica_stops_after_it_was_told_its_last_state() -> None:
    """A stop without a deletion does not make the state before it false."""
    assert [said(it)[0] for it in take_all(queue_of(lead(0), stop(0)))] == ["lead", "stop"]


def test_a_state_after_a_stop_is_the_end_of_the_stop() -> None:
    """The partition is hosted again, as the newest state says."""
    queue = queue_of(lead(0, epoch=3), stop(0), lead(0, epoch=4))
    assert [said(it) for it in take_all(queue)] == [("lead", [(0, 4, False)])]


def test_a_replica_that_is_to_be_deleted_does_not_begin_first() -> None:
    """Whatever it was told before."""
    queue = queue_of(lead(0, 1, new=True), stop(0, delete=True))
    assert [said(it) for it in take_all(queue)] == [
        ("lead", [(1, 0, True)]),
        ("stop", [(0, 5, True)]),
    ]


def test_a_topic_made_again_does_not_meet_the_old_log() -> None:
    """The deletion goes out first, then the new topic's first state."""
    queue = queue_of(
        lead(0, epoch=9),
        stop(0, delete=True, epoch=DURING_DELETION),
        lead(0, new=True, topic_id=SECOND_ID),
    )
    taken = take_all(queue)
    assert [said(it) for it in taken] == [
        ("stop", [(0, DURING_DELETION, True)]),
        ("lead", [(0, 0, True)]),
    ]
    assert isinstance(taken[1], LeaderAndIsrRequest)
    assert taken[1].topic_states[0].topic_id == SECOND_ID


def test_each_topic_of_a_name_is_deleted_for_itself() -> None:
    """The broker may still host the first one, and passes over the deletion of the second."""
    queue = queue_of(
        stop(0, delete=True, epoch=DURING_DELETION),
        lead(0, new=True, topic_id=SECOND_ID),
        stop(0, delete=True, epoch=0, topic_id=SECOND_ID),
    )
    first, second = take_all(queue)
    for request, topic_id in ((first, FIRST_ID), (second, SECOND_ID)):
        assert isinstance(request, StopReplicaRequest)
        assert [it.topic_id for it in request.topic_states] == [topic_id]
    assert said(first) == ("stop", [(0, DURING_DELETION, True)])
    assert said(second) == ("stop", [(0, 0, True)])


def test_two_deletions_of_one_topic_are_one_that_no_fence_stops() -> None:
    """A replica was to be deleted, hosted again, and deleted with its topic."""
    queue = queue_of(
        stop(0, delete=True, epoch=DURING_DELETION),
        lead(0, new=True),
        stop(0, delete=True, epoch=3),
    )
    assert [said(it) for it in take_all(queue)] == [("stop", [(0, DURING_DELETION, True)])]


def test_metadata_of_a_topic_made_again_comes_behind_its_end() -> None:
    """A broker that reads from the front ends with the new id."""
    queue = queue_of(metadata(0, 1, leader=-2), metadata(0, topic_id=SECOND_ID))
    (request,) = take_all(queue)
    assert isinstance(request, UpdateMetadataRequest)
    assert [it.topic_id for it in request.topic_states] == [FIRST_ID, SECOND_ID]
    assert said(request)[1] == [(0, -2, False), (1, -2, False), (0, 1, False)]


def test_the_end_of_a_topic_is_told_even_if_the_next_of_its_name_has_ended_too() -> None:
    """A broker that stood still knows the first one; of those between it has never heard."""
    queue = ControlQueue(SENDER)
    for number in range(9):
        topic_id = bytes(15) + bytes([number])
        if number:
            queue.add(ControlMessage(metadata(0, 1, topic_id=topic_id)))
        queue.add(ControlMessage(metadata(0, 1, leader=-2, topic_id=topic_id)))
    assert len(queue) == 4
    (request,) = take_all(queue)
    assert isinstance(request, UpdateMetadataRequest)
    assert [it.topic_id[-1] for it in request.topic_states] == [0, 8]
    assert said(request)[1] == [(0, -2, False), (1, -2, False)] * 2


class Hosted(NamedTuple):
    """What a broker has of one partition."""

    topic_id: bytes
    leader_epoch: int
    is_running: bool


class Receiver:
    """A broker as far as the order of requests matters to it."""

    def __init__(self) -> None:
        self.hosted: dict[int, Hosted] = {}
        self.topic = b""
        self.leaders: dict[int, int] = {}  # of that topic
        self.live: list[int] = []

    def hear(self, request: ControlRequest) -> None:
        """Obeys, and refuses what cannot be."""
        match request:
            case LeaderAndIsrRequest():
                for topic in request.topic_states:
                    for row in topic.partition_states:
                        known = self.hosted.get(row.partition_index)
                        assert known is None or known.topic_id == topic.topic_id
                        assert row.leader in self.live, "a leader that nobody told of"
                        it = Hosted(topic.topic_id, row.leader_epoch, is_running=True)
                        self.hosted[row.partition_index] = it
            case UpdateMetadataRequest():
                self.live = [it.id for it in request.live_brokers]
                before, leaders = self.topic, self.leaders
                for about in request.topic_states:
                    told = {it.partition_index: it.leader for it in about.partition_states}
                    is_same = about.topic_id == before
                    left = {**(leaders if is_same else {}), **told}
                    left = {it: leader for it, leader in left.items() if leader != DURING_DELETION}
                    if left or is_same:
                        self.topic, self.leaders = about.topic_id, left
            case StopReplicaRequest():
                for stopped in request.topic_states:
                    for end in stopped.partition_states:
                        self._stop(end, stopped.topic_id)

    def _stop(self, row: StopReplicaPartitionState, topic_id: bytes) -> None:
        known = self.hosted.get(row.partition_index)
        if known is None or known.topic_id != topic_id:
            return
        if row.delete_partition:
            del self.hosted[row.partition_index]
        else:
            self.hosted[row.partition_index] = known._replace(is_running=False)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["lead", "stop", "remove", "delete topic", "metadata", "broker", "take"]),
        st.integers(0, 2),
    ),
    max_size=25,
)


MADE_AND_DELETED_TWICE = ["metadata", "take", "take", "delete topic", "metadata", "delete topic"]


@given(STEPS)
@example([(what, 0) for what in MADE_AND_DELETED_TWICE])
def test_a_slow_broker_ends_where_one_ends_that_heard_every_word(
    steps: list[tuple[str, int]],
) -> None:
    """Whatever was merged on the way, and whenever the broker took something."""
    quick, slow, queue = Receiver(), Receiver(), ControlQueue(SENDER)
    live: tuple[int, ...] = (1, 2)
    topics = 0  # of that name, one after the other

    def tell(request: ControlRequest) -> None:
        quick.hear(request)
        queue.add(ControlMessage(request))

    tell(metadata(live=live))
    for epoch, (what, partition) in enumerate(steps):
        topic_id = bytes(15) + bytes([topics])
        match what:
            case "lead":
                new = partition not in quick.hosted
                leader = live[-1]
                tell(lead(partition, epoch=epoch, leader=leader, new=new, topic_id=topic_id))
            case "stop":
                tell(stop(partition, epoch=epoch, topic_id=topic_id))
            case "remove":
                tell(stop(partition, delete=True, epoch=epoch, topic_id=topic_id))
            case "delete topic":
                everything = range(3)
                epoch_of_all = DURING_DELETION
                tell(metadata(*everything, leader=DURING_DELETION, live=live, topic_id=topic_id))
                tell(stop(*everything, delete=True, epoch=epoch_of_all, topic_id=topic_id))
                topics += 1
            case "metadata":
                tell(metadata(partition, leader=epoch, live=live, topic_id=topic_id))
            case "broker":
                live = (*live, live[-1] + 1)
                tell(metadata(live=live))
            case "take":
                message = queue.take()
                if message is not None:
                    slow.hear(message.request)
    for request in take_all(queue):
        slow.hear(request)
    assert slow.hosted == quick.hosted
    assert slow.leaders == quick.leaders
    assert slow.live == quick.live


def test_a_stopped_broker_costs_what_its_partitions_cost_not_what_happened() -> None:
    """Ten changes of each partition weigh as much as one."""
    everything = range(PARTITIONS)
    tracemalloc.start()
    try:
        queue = ControlQueue(SENDER)
        for epoch in range(10):
            queue.add(ControlMessage(lead(*everything, epoch=epoch, new=not epoch)))
            queue.add(ControlMessage(metadata(*everything, leader=epoch)))
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(queue) == 2 * PARTITIONS
    assert grown < BYTES_MAX
