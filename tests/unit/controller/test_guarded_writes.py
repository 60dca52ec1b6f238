"""Many writes of one controller, and everything that can come back instead of a yes."""

from odradek.controller.candidacy import ControllerLease
from odradek.controller.guarded_writes import WRITES_PER_MULTI, GuardedWrites, StateWrite
from odradek.metadata.nouns import PartitionState
from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import ControllerEpoch, LeaderEpoch, PartitionEpoch
from odradek.zookeeper.client.errors import (
    BadVersion,
    MultiFailed,
    NoAuth,
    NodeExists,
    NoNode,
    OutcomeUnknown,
    RequestTooLarge,
    SessionExpired,
)
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.jute_replies import Data, Results
from odradek.zookeeper.protocol.jute_requests import Check, Create, GetData, Multi, SetData
from tests.unit.controller.znode_stats import stat

LEASE = ControllerLease(ControllerEpoch(7), 10)
GUARD = Check("/controller_epoch", 10)
YES = Results([])
THEIRS = PartitionState(
    BrokerId(2), LeaderEpoch(9), (BrokerId(2),), PartitionEpoch(0), ControllerEpoch(6)
)


def write(number: int, *, is_new: bool = False) -> StateWrite:
    """The state of a partition, from version 4 to 5, or from nothing to 0."""
    epoch = PartitionEpoch(0 if is_new else 5)
    state = PartitionState(BrokerId(1), LeaderEpoch(number), (BrokerId(1),), epoch, LEASE.epoch)
    return StateWrite(TopicPartition("t", number), state, is_new)


def answered(batch: GuardedWrites, *rounds: list[Answer]) -> None:
    """Round by round, until there are no more."""
    for answers in rounds:
        assert batch.requests()
        batch.on_answers(answers)
    assert batch.requests() == []


def test_many_writes_share_a_guarded_multi() -> None:
    """A few hundred conditional sets to a request, each behind the epoch's version."""
    writes = [write(number) for number in range(WRITES_PER_MULTI + 1)]
    batch = GuardedWrites(LEASE, writes)
    first, second = batch.requests()
    assert isinstance(first, Multi)
    assert first.ops[0] == GUARD
    assert len(first.ops) == WRITES_PER_MULTI + 1
    assert first.ops[1] == SetData("/brokers/topics/t/partitions/0/state", writes[0].data, 4)
    assert second == Multi((GUARD, *writes[-1].operations()))
    batch.on_answers([YES, YES])
    assert batch.requests() == []
    assert batch.written == writes


def test_a_new_partition_is_made_with_what_is_above_it() -> None:
    """The topic's znode for partitions may be there already: one grew before."""
    new = write(0, is_new=True)
    batch = GuardedWrites(LEASE, [new])
    assert batch.requests() == [
        Multi((GUARD, Create("/brokers/topics/t/partitions", None))),
        Multi(
            (
                GUARD,
                Create("/brokers/topics/t/partitions/0", None),
                Create("/brokers/topics/t/partitions/0/state", new.data),
            )
        ),
    ]
    batch.on_answers([MultiFailed(NodeExists(), 1), YES])
    assert batch.requests() == []
    assert batch.written == [new]


def test_a_controller_that_was_replaced_writes_nothing_more() -> None:
    """The guard's failure is the end, not a conflict of one partition."""
    batch = GuardedWrites(LEASE, [write(0), write(1)])
    answered(batch, [MultiFailed(BadVersion(), 0)])
    assert batch.stopped is not None
    assert "another controller" in batch.stopped
    assert batch.written == []


def test_a_session_that_is_over_stops_everything() -> None:
    """Whoever has no session is no controller."""
    batch = GuardedWrites(LEASE, [write(0)])
    answered(batch, [SessionExpired()])
    assert batch.stopped is not None


def test_what_is_too_large_together_goes_in_halves() -> None:
    """As small as jute.maxbuffer wants it; what is too large alone fails alone."""
    writes = [write(number) for number in range(3)]
    batch = GuardedWrites(LEASE, writes)
    answered(batch, [RequestTooLarge()], [YES, RequestTooLarge()], [YES, RequestTooLarge()])
    assert batch.written == writes[:2]
    assert list(batch.failed) == [writes[2].partition]
    assert batch.stopped is None


def test_one_conflict_harms_only_itself() -> None:
    """All are written again alone; the one that met another version says so."""
    good, bad = write(0), write(1)
    batch = GuardedWrites(LEASE, [good, bad])
    theirs = Data(PartitionStateZnode.encode(THEIRS), stat(6))
    answered(
        batch,
        [MultiFailed(BadVersion(), 2)],
        [YES, MultiFailed(BadVersion(), 1)],
        [theirs],
    )
    assert batch.written == [good]
    assert batch.conflicts == {bad.partition: THEIRS._replace(partition_epoch=PartitionEpoch(6))}
    assert batch.stopped is None


def test_a_write_without_an_answer_is_read_back() -> None:
    """Our own bytes are a yes; what is as before is written again; all else is a conflict."""
    done, undone, taken = write(0), write(1), write(2)
    theirs = Data(PartitionStateZnode.encode(THEIRS), stat(5))
    batch = GuardedWrites(LEASE, [done, undone, taken])
    batch.requests()
    batch.on_answers([OutcomeUnknown()])
    assert batch.requests() == [GetData(it.path) for it in (done, undone, taken)]
    batch.on_answers([Data(done.data, stat(5)), Data(b"before", stat(4)), theirs])
    assert batch.requests() == [Multi((GUARD, *undone.operations()))]
    batch.on_answers([YES])
    assert batch.requests() == []
    assert batch.written == [done, undone]
    assert list(batch.conflicts) == [taken.partition]


def test_ours_is_recognised_although_a_leader_wrote_since() -> None:
    """The version that counts is the one that is there."""
    ours = write(0)
    batch = GuardedWrites(LEASE, [ours])
    answered(batch, [OutcomeUnknown()], [Data(ours.data, stat(7))])
    assert [it.state.partition_epoch for it in batch.written] == [7]


def test_a_read_back_may_be_lost_too() -> None:
    """It is asked again, as often as it takes, while the session lives."""
    ours = write(0)
    batch = GuardedWrites(LEASE, [ours])
    answered(batch, [OutcomeUnknown()], [OutcomeUnknown()], [Data(ours.data, stat(5))])
    assert batch.written == [ours]


def test_a_creation_that_was_interrupted_is_completed() -> None:
    """The znode above is there, from a predecessor; the state is not."""
    new = write(0, is_new=True)
    batch = GuardedWrites(LEASE, [new])
    batch.requests()
    batch.on_answers([YES, MultiFailed(NodeExists(), 1)])
    assert batch.requests() == [
        Multi((GUARD, Create("/brokers/topics/t/partitions/0/state", new.data)))
    ]
    batch.on_answers([YES])
    assert batch.requests() == []
    assert batch.written == [new]


def test_a_creation_without_an_answer_is_repeated_where_nothing_is() -> None:
    """The answers to both may be lost."""
    new = write(0, is_new=True)
    batch = GuardedWrites(LEASE, [new])
    answered(batch, [OutcomeUnknown(), OutcomeUnknown()], [YES, NoNode()], [YES])
    assert batch.written == [new]


def test_a_partition_that_was_deleted_meanwhile_fails_alone() -> None:
    """Its topic is gone; the controller will hear of it."""
    batch = GuardedWrites(LEASE, [write(0)])
    answered(batch, [MultiFailed(NoNode(), 1)], [NoNode()])
    assert len(batch.failed) == 1
    batch = GuardedWrites(LEASE, [write(0)])
    answered(batch, [OutcomeUnknown()], [NoNode()])
    assert len(batch.failed) == 1


def test_what_zookeeper_refuses_for_another_reason_is_not_tried_for_ever() -> None:
    """An ACL that somebody has set keeps one partition as it is, and harms no other."""
    good, bad = write(0), write(1)
    batch = GuardedWrites(LEASE, [good, bad])
    answered(
        batch,
        [MultiFailed(NoAuth(), 2)],
        [YES, MultiFailed(NoAuth(), 1)],
        [Data(b"before", stat(4))],
    )
    assert batch.written == [good]
    assert list(batch.failed) == [bad.partition]
    assert batch.stopped is None


def test_what_may_not_be_read_back_fails_alone() -> None:
    """It was refused, or written and its answer lost: the others are written."""
    good, bad = write(0), write(1)
    refused, unanswered = GuardedWrites(LEASE, [good, bad]), GuardedWrites(LEASE, [good, bad])
    answered(refused, [MultiFailed(NoAuth(), 2)], [YES, MultiFailed(NoAuth(), 1)], [NoAuth()])
    answered(unanswered, [OutcomeUnknown()], [Data(good.data, stat(5)), NoAuth()])
    for batch in (refused, unanswered):
        assert batch.written == [good]
        assert list(batch.failed) == [bad.partition]
        assert batch.stopped is None


def test_a_state_that_a_predecessor_made_is_taken_over() -> None:
    """It is a conflict, and decided anew from what stands there; our own is written."""
    for found, is_ours in (
        (write(0, is_new=True).data, True),
        (PartitionStateZnode.encode(THEIRS), False),
    ):
        new = write(0, is_new=True)
        batch = GuardedWrites(LEASE, [new])
        exists = MultiFailed(NodeExists(), 1)
        answered(batch, [YES, exists], [exists], [Data(found, stat(0))])
        assert batch.written == ([new] if is_ours else [])
        assert list(batch.conflicts) == ([] if is_ours else [new.partition])


def test_new_partitions_that_are_too_large_together_are_made_in_halves() -> None:
    """Where one of them has its znode above already, only that one is made without it."""
    first, second = write(0, is_new=True), write(1, is_new=True)
    batch = GuardedWrites(LEASE, [first, second])
    batch.requests()
    batch.on_answers([YES, RequestTooLarge()])
    assert batch.requests() == [Multi((GUARD, *it.operations())) for it in (first, second)]
    batch.on_answers([MultiFailed(NodeExists(), 1), YES])
    assert batch.requests() == [Multi((GUARD, *first.operations(parent=False)))]
    batch.on_answers([YES])
    assert batch.requests() == []
    assert batch.written == [second, first]


def test_only_the_guard_says_that_another_was_elected() -> None:
    """Then its own ephemeral is gone already; after any other error it has to give it up."""
    batch = GuardedWrites(LEASE, [write(0)])
    answered(batch, [MultiFailed(BadVersion(), 0)])
    assert batch.deposed
    batch = GuardedWrites(LEASE, [write(0)])
    answered(batch, [SessionExpired()])
    assert not batch.deposed
