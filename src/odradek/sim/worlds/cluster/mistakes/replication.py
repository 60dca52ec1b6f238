"""Rules of a cluster turned into wrong ones, each of which the world's promises must notice.

A mistake stands for what somebody might write in good faith, or for what Kafka did before the KIP
that is named.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from odradek.broker.fetching.pending_fetch import Fetch
from odradek.broker.partitions.logs import group_commit
from odradek.controller.context import ControllerContext
from odradek.controller.decisions import broker_changes, deletions
from odradek.controller.phases import ReplicaPhase
from odradek.controller.steps import Steps
from odradek.metadata.delta import BrokersDelta, brokers_delta
from odradek.metadata.nouns import Broker
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import NO_BROKER_EPOCH, BrokerEpoch, Offset
from odradek.model.units import Millis
from odradek.replication.following import EpochEnd, Fetching, Follower, FollowerEffects
from odradek.replication.leader import Leader
from odradek.sim.simulation import Knob
from odradek.sim.worlds.cluster.mistakes.control import CONTROL_MISTAKES
from odradek.storage.dirs.dir_unclean_logs import DirUncleanLogs
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.files.checkpoints import decode_clean_shutdown
from odradek.storage.files.dir_files import read_small
from odradek.storage.files.names import CLEAN_SHUTDOWN
from odradek.storage.files.unclean_logs import Unclean
from odradek.storage.logs import producer_snapshot
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import ReadableLog
from odradek.storage.logs.writing import WriteJob
from odradek.storage.segments.segment import Segment


def _begin_at_high_watermark(follower: Any) -> FollowerEffects:
    """What it has beyond that is not believed (before KIP-101)."""
    effects: FollowerEffects = follower._cut_at_high_watermark()  # noqa: SLF001 - the wrong rule
    return effects


def _compared_once(follower: Any, theirs: EpochEnd, _now: Millis) -> FollowerEffects:
    """The leader's answer is the end, whichever epoch it names (KIP-101 without KIP-279)."""
    if theirs.end_offset < 0:
        return _begin_at_high_watermark(follower)
    end = min(theirs.end_offset, follower._log.log_end_offset)  # noqa: SLF001 - the wrong rule
    effects: FollowerEffects = follower._truncate(end, Fetching())  # noqa: SLF001 - likewise
    return effects


def _committed_isr_only(leader: Any, _now: int) -> int | None:
    """A member that is proposed is not waited for."""
    followers = leader._followers.items()  # noqa: SLF001 - the wrong rule
    ends = [it.end_offset for broker, it in followers if broker in leader.isr.committed]
    return None if None in ends else min([leader.log_end_offset, *ends])


def _read_to_the_end(
    log: PartitionLog, offset: Offset, _end: Offset, *how: Any, **more: Any
) -> Any:
    """Consumers see what is not committed."""
    return _read(log, offset, log.log_end_offset, *how, **more)


def _sync_what_is_left(jobs: list[WriteJob]) -> None:
    """The segment that an earlier job of the group has begun is synced some other time."""
    synced: set[int] = set()
    for job in reversed(jobs):
        segments = {id(piece.segment) for piece in job.pieces}
        if segments - synced:
            job.sync()
            synced |= segments


def _published_producers(log: PartitionLog) -> bytes:
    """A snapshot lacks what this turn has decided."""
    return producer_snapshot.encode(log.producers.entries.values())


def _own_end(leader: Leader, _now: int) -> int:
    """What the leader has is committed."""
    return leader.log_end_offset


def _one(leader: Leader) -> None:
    """A leader alone is enough."""
    leader.min_isr = 1


def _no_bounce(old: Mapping[BrokerId, Broker], new: Mapping[BrokerId, Broker]) -> BrokersDelta:
    """A broker that is registered again was never away."""
    return replace(brokers_delta(old, new), bounced=())


def _none_of(_log_dir: DirUncleanLogs) -> dict[TopicPartition, Unclean]:
    """Nothing was in the page cache alone."""
    return {}


def _nothing(*_: object) -> None:
    """No log is noted as one that may lack records."""


def _finish_at_once(context: ControllerContext, name: str) -> Steps[None]:
    """A topic is gone as soon as its brokers were told."""
    deletion = context.deletions.get(name)
    if deletion is not None:
        for replica in deletion.replicas:
            deletion.replicas[replica] = ReplicaPhase.DELETION_SUCCESSFUL
    yield from _finish_if_done(context, name)


def _kept_marker(log_dir: LogDir) -> tuple[bool, BrokerEpoch]:
    """What says that all was closed in good order says so for ever."""
    try:
        data = read_small(log_dir.disk, CLEAN_SHUTDOWN)
    except FileNotFoundError:
        return False, NO_BROKER_EPOCH
    return True, decode_clean_shutdown(data)


def _whatever_failed(job: WriteJob) -> None:
    """A write does not ask whether the one that it rests on was done."""
    job.log.broken = False
    _run(job)


def _within_active(log: PartitionLog, offset: Offset) -> list[Segment]:
    """Below the active segment nothing is deleted."""
    return _move_start(log, offset) if offset >= log.active_segment.base_offset else []


def _for_each_partition(fetch: Any, slot: Any) -> None:
    """The bound of the whole answer is one of each partition."""
    found = fetch._found  # noqa: SLF001 - the wrong rule
    size, found.size = found.size, 0
    _look_at(fetch, slot)
    found.size += size


_finish_if_done = deletions.finish_if_done
_read = ReadableLog.read
_run = WriteJob.run
_move_start = PartitionLog.move_start
_look_at = Fetch._look_at  # noqa: SLF001 - likewise

MISTAKES: Final[Mapping[str, Knob]] = {
    "truncate-to-high-watermark": Knob(Follower, "begin", _begin_at_high_watermark),
    "committed-by-the-leader-alone": Knob(Leader, "_smallest_end", _own_end),
    "no-minimum-of-replicas": Knob(Leader, "_find_min_isr", _one),
    "a-bounce-is-nothing": Knob(broker_changes, "brokers_delta", _no_bounce),
    "page-cache-trusted": Knob(DirUncleanLogs, "_unflushed", _none_of),
    "unclean-logs-forgotten": Knob(DirUncleanLogs, "_settle_unclean", _nothing),
    "deleted-before-all-replicas-are": Knob(deletions, "finish_if_done", _finish_at_once),
    "one-comparison-is-enough": Knob(Follower, "_compared", _compared_once),
    "committed-isr-only": Knob(Leader, "_smallest_end", _committed_isr_only),
    "read-beyond-the-high-watermark": Knob(ReadableLog, "read", _read_to_the_end),
    "group-sync-skips-what-was-begun": Knob(group_commit, "sync_group", _sync_what_is_left),
    "snapshot-without-this-turn": Knob(PartitionLog, "_snapshot", _published_producers),
    "clean-marker-stays": Knob(LogDir, "_take_marker", _kept_marker),
    "append-behind-a-failed-write": Knob(WriteJob, "run", _whatever_failed),
    "nothing-below-the-active-segment-goes": Knob(PartitionLog, "move_start", _within_active),
    "max-bytes-of-each-partition": Knob(Fetch, "_look_at", _for_each_partition),
    **CONTROL_MISTAKES,
}
"""By name."""
