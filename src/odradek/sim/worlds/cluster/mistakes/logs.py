"""Wrong rules of logs: producers, leader epochs, retention, compaction, and who has them now."""

from collections.abc import Mapping
from typing import Any, Final

from odradek.broker.handlers import list_offsets
from odradek.broker.jobs import off_loop
from odradek.broker.partitions import log_maintenance
from odradek.broker.partitions.logs import dir_moves, local_logs
from odradek.broker.partitions.logs.local_logs import LocalLogs
from odradek.records.batch import headers
from odradek.records.control import end_marker_in
from odradek.sim.simulation import Knob
from odradek.storage.compacting.key_map import KeyMap
from odradek.storage.dirs import moves
from odradek.storage.dirs.dir_checkpoints import Note
from odradek.storage.logs import loading, retention, truncation
from odradek.storage.logs.epochs import EpochHistory
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.producers import ProducerState
from odradek.storage.logs.writing import WriteJob


def _nothing(*_: object, **__: object) -> None:
    """What a mistake does instead."""


def _none(*_: object, **__: object) -> list[Any]:
    """Likewise, where something is to be found."""
    return []


def _all(state: ProducerState, now: int, _after: int) -> int:
    """Who has nothing on its way is not waited for."""
    return _expire(state, now, 0)


def _not_at_all(*_: object) -> bool:
    """What is cut has its epochs still."""
    return False


def _up_to_the_end(_history: EpochHistory, leader_epoch: int, end: int) -> tuple[int, int]:
    """Each epoch ended where the log ends."""
    return leader_epoch, end


def _not_newer(keys: KeyMap, key: bytes, offset: int) -> bool:
    """Of a key one record stays: the one that the map does not name was replaced."""
    return offset > keys._offsets.get(key, -1)  # noqa: SLF001 - the wrong rule


def _itself(found: PartitionLog) -> PartitionLog:
    """Who only looks needs no view of his own."""
    return found


async def _with_others(logs: LocalLogs, found: PartitionLog, plan: Any) -> None:
    """What cuts a log needs nobody's leave."""
    async with logs.without_compaction(found):
        await logs.appends[found.folder.disk.name].settled()
        await off_loop(logs.worker_of(found), plan(), of=found)


def _as_they_come(found: Any, run: memoryview, now: Any) -> Any:
    """What a leader sends is what follows."""
    for position, header in headers(run, cut_tail=True):
        chunk = run[position : position + header.size]
        found._take(chunk, header, now, end_marker_in(chunk, header))  # noqa: SLF001
    return found._next_offset  # noqa: SLF001


async def _lending_nothing(worker: Any, job: Any, **how: Any) -> Any:
    """A job is short, and the loop has other logs to look at."""
    return await off_loop(worker, job, **{**how, "lent": ()})


class _ByTheThread:
    """A log's start moves where its files go: on the disk's thread."""

    def __init__(self, found: PartitionLog, start: Any) -> None:
        self._found, self._start = found, start

    def run(self) -> None:
        """All of it."""
        retention.DeleteJob(self._found, self._start).run()


def _as_it_is_then(note: Any) -> None:
    """What a checkpoint says is gathered as it is written, so that it is new."""
    note._offsets = note._dir.recovery_points()  # noqa: SLF001 - the wrong rule
    _write_note(note)


def _and_publish(job: Any) -> None:
    """What is written may be read at once."""
    _run(job)
    job.publish()


_write_note = Note.write
_run = WriteJob.run
_expire = ProducerState.expire
_place = PartitionLog._place  # noqa: SLF001

LOG_MISTAKES: Final[Mapping[str, Knob | tuple[Knob, ...]]] = {
    "silent-producers-are-forgotten": Knob(ProducerState, "expire", _all),
    "producers-are-not-replayed": Knob(loading, "replay_producers", _none),
    "producers-outlive-a-cut": Knob(truncation, "_reload_producers", _nothing),
    "epochs-outlive-a-cut": Knob(EpochHistory, "truncate_from_end", _not_at_all),
    "each-epoch-ends-at-the-end": Knob(EpochHistory, "end_offset_for", _up_to_the_end),
    "the-newest-of-a-key-goes": Knob(KeyMap, "is_newest", _not_newer),
    "retention-looks-at-the-log-itself": Knob(log_maintenance, "LogView", _itself),
    "readers-look-at-the-log-itself": Knob(local_logs, "LogView", _itself),
    "a-move-looks-at-the-log-itself": Knob(moves, "LogView", _itself),
    "times-are-looked-for-in-the-log-itself": Knob(list_offsets, "LogView", _itself),
    "jobs-lend-nothing": Knob(local_logs, "off_loop", _lending_nothing),
    "a-move-lends-nothing": Knob(dir_moves, "off_loop", _lending_nothing),
    "starts-move-on-the-disks-thread": Knob(log_maintenance, "DeleteJob", _ByTheThread),
    "checkpoints-gather-on-the-disks-thread": Knob(Note, "write", _as_it_is_then),
    "published-on-the-disks-thread": Knob(WriteJob, "run", _and_publish),
    "cut-without-lending": Knob(LocalLogs, "_alone_with", _with_others),
    "a-follower-takes-what-comes": Knob(PartitionLog, "append_replica", _as_they_come),
}
"""By name."""
