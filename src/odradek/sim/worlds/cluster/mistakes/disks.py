"""Wrong rules of log dirs: what they know of their logs, checkpoints, and moves between them."""

from collections.abc import Generator, Iterable, Mapping
from typing import Any, Final

from odradek.broker.partitions import roles
from odradek.broker.partitions.full_disks import FullDisks
from odradek.broker.partitions.logs.local_logs import LocalLogs
from odradek.broker.partitions.logs.log_starts import LogStarts
from odradek.broker.partitions.replicas.hosted import LeaderAndIsrState
from odradek.model.ids import TopicPartition
from odradek.model.positions import FIRST_INCARNATION, Incarnation, Offset
from odradek.model.units import Timestamp
from odradek.sim.simulation import Knob
from odradek.storage.dirs import dir_checkpoints
from odradek.storage.dirs.dir_checkpoints import DirCheckpoints
from odradek.storage.dirs.dir_unclean_logs import DirUncleanLogs, Known
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.dirs.moves import Move, Step

Offsets = Mapping[TopicPartition, Offset]


def _same(
    log_dir: DirUncleanLogs, partitions: Iterable[TopicPartition], _now: Timestamp
) -> dict[TopicPartition, Incarnation]:
    """A log that has lost something is the log that it was."""
    known = log_dir._unclean.incarnations  # noqa: SLF001 - the wrong rule
    return {it: known[it] for it in partitions if it in known}


def _as_new(move: Move, now: Timestamp, *, is_durable: bool) -> Generator[Step, None, None]:
    """What lies elsewhere now has not lost anything, whatever is known of it."""
    yield from _take_name(move, now, is_durable=is_durable)
    move.future.unclean, move.future.incarnation = None, FIRST_INCARNATION


def _ends_alone(move: Move) -> bool:
    """Two logs with the same end are the same."""
    return move.future.log_end_offset == move.current.log_end_offset


def _long_ago(_move: Move) -> bool:
    """What is copied during a move is the log; what came meanwhile is fetched again."""
    return True


def _nothing(*_: object, **__: object) -> None:
    """What a mistake does instead."""


def _no_step(*_: object) -> Generator[Step, None, None]:
    """Likewise, of a move."""
    yield from ()


async def _nothing_to_wait_for(*_: object) -> None:
    """Likewise, where it is awaited."""


def _no_loss(*_: object) -> bool:
    """What a broker is elected for, it leads: the controller knows which logs lack records."""
    return False


def _no_room_needed(*_: object) -> bool:
    """Who gave way for want of room follows like all others."""
    return False


def _no_other(*_: object) -> bool:
    """A leader without room refuses, and leads on."""
    return False


def _no_doubt(*_: object) -> Known:
    """Which dirs were away does not matter."""
    return {}


def _starts_that_are(log_dir: DirCheckpoints) -> dict[TopicPartition, Offset]:
    """Where logs begin now; those that are about to begin elsewhere come the next time."""
    return dict(dir_checkpoints._log_starts(log_dir._named()))  # noqa: SLF001


def _anywhere(logs: LocalLogs, wanted: LeaderAndIsrState, *, is_lost: bool) -> str | None:
    """A log that is not found is made, whichever dir is offline."""
    del is_lost
    return logs.dirs.choose(wanted.partition)


def _any(_dirs: LogDirs, _partition: TopicPartition, holders: list[LogDir]) -> list[LogDir]:
    """Of two logs of one partition none is newer."""
    return holders


def _of_the_same_topic(logs: Any, state: LeaderAndIsrState) -> Any:
    """What lies under a topic's name is its log."""

    async def is_missing() -> bool:
        return logs.dirs.get(state.partition) is None

    return is_missing()


_take_name = Move._take_name  # noqa: SLF001 - a mistake goes on with it
_new_log = LocalLogs._new_log  # noqa: SLF001 - likewise

DISK_MISTAKES: Final[Mapping[str, Knob]] = {
    "an-incarnation-outlives-a-cut": Knob(DirUncleanLogs, "begun_anew", _same),
    "a-moved-log-is-whole": Knob(Move, "_take_name", _as_new),
    "a-moved-log-is-not-noted-as-unclean": Knob(DirUncleanLogs, "note_unclean", _nothing),
    "equal-ends-are-equal-logs": Knob(Move, "is_caught_up", property(_ends_alone)),
    "moved-before-it-has-caught-up": Knob(Move, "is_caught_up", property(_long_ago)),
    "a-failed-rename-leaves-no-note": Knob(Move, "stay", _nothing),
    "a-move-leaves-no-note": Knob(Move, "_note", _nothing),
    "a-swap-does-not-cut-first": Knob(Move, "_cut", _no_step),
    "names-of-moved-logs-are-not-synced": Knob(LogDir, "sync_names", _nothing),
    "the-controller-knows-what-is-lost": Knob(roles, "_lost_records", _no_loss),
    "no-log-is-doubted": Knob(DirUncleanLogs, "doubt", _no_doubt),
    "a-start-is-told-before-it-is-durable": Knob(LogStarts, "note", _nothing_to_wait_for),
    "checkpoints-skip-what-is-about-to-begin": Knob(DirCheckpoints, "log_starts", _starts_that_are),
    "made-while-a-dir-is-offline": Knob(LocalLogs, "_choose", _anywhere),
    "what-is-deleted-keeps-its-name": Knob(LogDirs, "discard", _nothing),
    "of-two-logs-none-is-newer": Knob(LogDirs, "_newest", _any),
    "a-full-disk-is-fetched-for": Knob(FullDisks, "waits", _no_room_needed),
    "a-full-disk-leads-on": Knob(FullDisks, "_others_can_lead", _no_other),
    "a-name-is-a-topic": Knob(LocalLogs, "_is_missing", _of_the_same_topic),
}
"""By name."""
