"""Wrong rules of logs that move between dirs, and of two logs of one name."""

from collections.abc import Generator, Mapping
from functools import partial
from typing import Any, Final

from odradek.broker.partitions.logs.dir_moves import SWAP_PATIENCE, DirMoves
from odradek.model.ids import TopicPartition
from odradek.sim.simulation import Knob
from odradek.storage.dirs import log_dirs
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.moves import Move, Step


def _nothing(*_: object, **__: object) -> None:
    """What a mistake does instead."""


def _no_step(*_: object) -> Generator[Step, None, None]:
    """Likewise, of a move."""
    yield from ()


def _never(_move: Move) -> bool:
    """What a move has begun with is there until it ends."""
    return False


def _together(holders: list[LogDir], _partition: TopicPartition) -> list[list[LogDir]]:
    """Two logs of one name are of one topic."""
    return [holders]


async def _while_others_write(moves: Any, move: Move) -> None:
    """A swap is short: appends need not be held for it."""
    steps = move.take_place(moves._clock.wall(), partial(moves._taken, move))  # noqa: SLF001
    await moves._carry_out(steps, SWAP_PATIENCE)  # noqa: SLF001


MOVE_MISTAKES: Final[Mapping[str, Knob]] = {
    "one-name-is-one-topic": Knob(log_dirs, "_by_topic", _together),
    "a-copy-is-not-synced": Knob(Move, "flush", _no_step),
    "a-move-that-failed-leaves-its-copy": Knob(Move, "cancel", _no_step),
    "a-move-never-loses-its-log": Knob(Move, "is_over", property(_never)),
    "moves-are-not-resumed": Knob(DirMoves, "resume", _nothing),
    "a-swap-holds-nobody": Knob(DirMoves, "_swap_held", _while_others_write),
    "a-swap-holds-for-ever": Knob(DirMoves, "_release", _nothing),
}
"""By name."""
