"""How much room a disk has, without waiting for one that hangs."""

import asyncio
from functools import partial
from typing import Final

from odradek.broker.jobs import off_loop
from odradek.broker.partitions.logs.local_logs import LocalLogs
from odradek.model.units import SECOND, Millis
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.room import Room, measure
from odradek.storage.errors import StorageError

PATIENCE: Final = 2.0
"""Seconds that a disk has to say it."""
HANGS_AFTER: Final = Millis(5 * SECOND)
"""What has not ended for so long is told as a disk that hangs; less happens on a busy machine."""


async def room_of(logs: LocalLogs, log_dir: LogDir) -> Room | None:
    """None: the disk has no answer, now or at all."""
    if log_dir.name in logs.stuck:
        return None
    try:
        async with asyncio.timeout(PATIENCE):
            return await off_loop(logs.workers[log_dir.name], partial(measure, log_dir))
    except (OSError, StorageError, TimeoutError):
        return None


def hangs(logs: LocalLogs, log_dir: LogDir) -> bool:
    """Whether a call on the disk has not returned for long."""
    return logs.stuck.get(log_dir.name, 0) >= HANGS_AFTER


def is_in_reach(logs: LocalLogs, log_dir: LogDir) -> bool:
    """Whether it neither hangs nor has failed."""
    return not (hangs(logs, log_dir) or log_dir.is_offline)
