"""Wrong rules of what leaders, followers, readers, groups and ZooKeeper's client tell."""

from collections.abc import Mapping
from typing import Any, Final

from odradek.broker.coordinators.record_topics import CoordinatorShell
from odradek.broker.fetching import partition_reading
from odradek.broker.fetching.fetch_sessions import Session, Slot
from odradek.broker.fetching.partition_reading import PartitionReading
from odradek.broker.fetching.replica_fetchers import LeaderFetcher
from odradek.broker.handlers import delete_records, produce_one
from odradek.broker.network.refused_batches import RefusedBatches
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.coordinator.groups.errors import IllegalGeneration, UnknownMemberId
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.groups import Groups
from odradek.coordinator.groups.steps import commits
from odradek.coordinator.shard import Shard
from odradek.replication.following import Follower
from odradek.replication.isr import Committed
from odradek.replication.leader import Leader
from odradek.replication.leadership import LeaderEffects
from odradek.replication.progress import FollowerProgress
from odradek.sim.simulation import Knob
from odradek.zookeeper.client.errors import NeverSent
from odradek.zookeeper.client.pipeline import Pipeline, subject_of


def _nothing(*_: object, **__: object) -> None:
    """What a mistake does instead."""


def _todays(leader: Any) -> None:
    """What is committed says the setting of today (before KIP-966)."""
    leader.min_isr = min(leader._settings.min_isr, len(leader._replicas))  # noqa: SLF001


def _backwards(leader: Any, now: Any) -> LeaderEffects:
    """The high watermark is where the slowest is."""
    end = leader._smallest_end(now)  # noqa: SLF001
    if end is not None and leader.leader_epoch and end < leader.high_watermark:
        leader.high_watermark = end
        return LeaderEffects(high_watermark=end)
    return _advanced(leader, now)


def _a_majority(leader: Any, _now: Any) -> Any:
    """What most have is committed."""
    ends = [leader.log_end_offset, *(it.end_offset or 0 for it in leader._followers.values())]  # noqa: SLF001
    return sorted(ends)[(len(ends) - 1) // 2]


def _below_the_start(leader: Any, broker: Any, follower: Any) -> Any:
    """Where a follower's log starts is its own affair."""
    start, leader.log_start_offset = leader.log_start_offset, 0
    try:
        return _expansion(leader, broker, follower)
    finally:
        leader.log_start_offset = start


def _with_ends(progress: FollowerProgress, leader_end: Any, caught_up_at: Any) -> None:
    """What a follower had it has."""
    progress.leader_end_then = leader_end
    progress.fetched_at = progress.caught_up_at = caught_up_at


def _written_is_committed(replica: LeadingReplica, end: Any, committer: Any) -> Any:
    """What a leader has written is committed when the ISR has it, whichever broker leads."""
    if replica.is_over:
        committer.on_verdict(None)
        return None
    return _await_commit(replica, end, committer)


def _never_parted(slot: Slot, log: Any) -> Any:
    """A follower that is within the log has what the log has (before KIP-595)."""
    epoch, slot.last_fetched_epoch = slot.last_fetched_epoch, -1
    try:
        return _diverging(slot, log)
    finally:
        slot.last_fetched_epoch = epoch


def _alone(leader: Leader) -> tuple[Any, ...]:
    """What the leader has deleted is deleted."""
    leader.low_watermark = leader.log_start_offset
    return leader._at_low_watermark.reached(leader.log_start_offset)  # noqa: SLF001


def _of_those_who_live(leader: Any) -> tuple[Any, ...]:
    """Who is away deletes when it is back."""
    eligible, leader._eligible = leader._eligible, ()  # noqa: SLF001
    try:
        return _deleted(leader)
    finally:
        leader._eligible = eligible  # noqa: SLF001


async def _at_once(_services: Any, led: Any, start: Any, _deadline: Any) -> Any:
    """The followers hear of it with their next fetch."""
    del led
    return start


def _is_written(one: Any, place: int, _error: Any) -> None:
    """What could not be written is written again."""
    _on_written(one, place, None)


def _not_looked_at_again(session: Session, _slots: Any) -> None:
    """What was found was told."""


def _for_ever(slot: Slot, _high_watermark: int, _log_start: int) -> bool:
    """A client knows what it was told first."""
    return slot.told_high_watermark < 0


def _any_generation(groups: Groups, call: Any, _turn: Any) -> None:
    """A member is a member, of whichever generation."""
    group = groups.live.get(call.request.group_id)
    if group is not None:
        group.identify(call.request.member_id, call.request.group_instance_id)


def _any_member(groups: Groups, call: Any, _turn: Any) -> None:
    """Who knows the generation is of it."""
    group = groups.live.get(call.request.group_id)
    if group is not None and call.request.generation_id_or_member_epoch not in {
        -1,
        group.generation,
    }:
        raise IllegalGeneration


def _any_name(group: Any, member_id: str, _instance_id: Any) -> Any:
    """A static member is known by its id, whichever member has its name now."""
    member = group.members.get(member_id)
    if member is None:
        raise UnknownMemberId
    return member


def _whole_at_once(shard: Any, high_watermark: Any, now: Any) -> Any:
    """A log that is led is known."""
    if not shard.active and shard._loaded_to is None:  # noqa: SLF001
        shard._loaded_to = 0  # noqa: SLF001
    return _shard_committed(shard, high_watermark, now)


def _answers_on(shell: Any, ticket: Any, response: Any) -> None:
    """Who is the coordinator answers until it hears otherwise."""
    may, shell._deps = shell._deps, shell._deps._replace(may_answer=lambda: True)  # noqa: SLF001
    try:
        _answer(shell, ticket, response)
    finally:
        shell._deps = may  # noqa: SLF001


def _by_name(*_: object) -> bool:
    """A topic is known by its name."""
    return False


def _not_done(pipeline: Any) -> None:
    """What was not answered was not done."""
    for submission, index, request, _ in pipeline._window:  # noqa: SLF001
        pipeline.answer(submission, index, NeverSent(subject_of(request)))
    pipeline._window.clear()  # noqa: SLF001
    pipeline._window_bytes = 0  # noqa: SLF001


def _early(_reading: Any, _replica: Any, _reader: Any) -> bool:
    """A throttle bounds every copy."""
    return True


def _by_itself(leader: Any, members: Any) -> Any:
    """What a leader proposes holds: the controller writes it down (before KIP-497)."""
    proposal = _proposed(leader, members)
    leader.isr = Committed(frozenset(members))
    return proposal


_proposed = Leader._proposed  # noqa: SLF001
_take_replicas = Leader._take_replicas  # noqa: SLF001
_advanced = Leader._advanced  # noqa: SLF001
_expansion = Leader._expansion  # noqa: SLF001
_await_commit = LeadingReplica.await_commit
_diverging = partition_reading._diverging  # noqa: SLF001
_committed = Follower._committed  # noqa: SLF001
_deleted = Leader._deleted  # noqa: SLF001
_on_written = produce_one._One.on_written  # noqa: SLF001
_shard_committed = Shard.committed
_answer = CoordinatorShell._answer  # noqa: SLF001
_on_applied = LeaderFetcher._on_applied  # noqa: SLF001

COPY_MISTAKES: Final[Mapping[str, Knob | tuple[Knob, ...]]] = {
    "eligible-by-todays-value": Knob(Leader, "_find_min_isr", _todays),
    "the-high-watermark-goes-back": Knob(Leader, "_advanced", _backwards),
    "a-leader-changes-the-isr-itself": Knob(Leader, "_proposed", _by_itself),
    "all-is-one": Knob(produce_one._OneCommitted, "on_written", produce_one._One.on_written),  # noqa: SLF001
    "a-majority-commits": Knob(Leader, "_smallest_end", _a_majority),
    "joined-below-the-start": Knob(Leader, "_expansion", _below_the_start),
    "ends-outlive-a-leadership": (
        Knob(FollowerProgress, "begin_leadership", _with_ends),
        Knob(FollowerProgress, "forget_end", _nothing),
    ),
    "acknowledged-by-who-led": Knob(LeadingReplica, "await_commit", _written_is_committed),
    "fetches-of-any-epoch": Knob(Leader, "check_leader_epoch", _nothing),
    "logs-never-part": Knob(partition_reading, "_diverging", _never_parted),
    "deleted-by-the-leader-alone": Knob(Leader, "_deleted", _alone),
    "deleted-by-those-who-live": Knob(Leader, "_deleted", _of_those_who_live),
    "deletions-are-answered-early": Knob(delete_records, "_everywhere", _at_once),
    "a-failed-write-is-acknowledged": Knob(produce_one._One, "on_written", _is_written),  # noqa: SLF001
    "what-was-found-was-told": Knob(Session, "look_again", _not_looked_at_again),
    "offsets-are-told-once": Knob(Slot, "is_news", _for_ever),
    "commits-of-any-generation": Knob(commits, "_check", _any_generation),
    "commits-of-any-member": Knob(commits, "_check", _any_member),
    "static-names-do-not-fence": Knob(Group, "identify", _any_name),
    "a-coordinator-reads-nothing-first": Knob(Shard, "committed", _whole_at_once),
    "a-coordinator-answers-after-its-lease": Knob(CoordinatorShell, "_answer", _answers_on),
    "commits-outlive-their-topic": Knob(Groups, "is_of_earlier_topic", _by_name),
    "what-was-not-answered-was-not-sent": Knob(Pipeline, "lose_window", _not_done),
    "a-gap-that-a-refusal-made-is-told": Knob(RefusedBatches, "check", _nothing),
    "who-is-in-sync-is-throttled": Knob(PartitionReading, "is_throttled", _early),
}
"""By name."""
