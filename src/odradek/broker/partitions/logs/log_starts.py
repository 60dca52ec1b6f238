"""A log start is durable before anybody is told of it, by an answer or a fetch.

Else records that were deleted would be there again after a crash. What is asked for while the
checkpoint of a dir is being written goes into the next one: a hundred partitions that are purged at
once cost one or two syncs.
"""

import asyncio
from collections import defaultdict
from functools import partial

from odradek.broker.jobs import off_loop
from odradek.model.positions import Offset
from odradek.ports import Worker
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.logs.log import PartitionLog


class LogStarts:
    """Those of all dirs that are about to move."""

    def __init__(self) -> None:
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._unwritten: defaultdict[str, dict[PartitionLog, Offset]] = defaultdict(dict)

    async def note(
        self, log_dir: LogDir, worker: Worker, found: PartitionLog, start: Offset
    ) -> None:
        """Returns once it is durable that this log begins there.

        It stays in `starts_to_be` until the caller has moved the start of the log, or has not.
        """
        unwritten, to_be = self._unwritten[log_dir.name], log_dir.starts_to_be
        to_be[found.partition] = unwritten[found] = max(start, to_be.get(found.partition, start))
        try:
            async with self._turns[log_dir.name]:
                if found not in unwritten:
                    return
                written = dict(unwritten)
                await off_loop(worker, partial(log_dir.note_log_starts, log_dir.log_starts()))
                for each, its in written.items():
                    if unwritten.get(each) == its:
                        del unwritten[each]
        except BaseException:
            unwritten.pop(found, None)
            to_be.pop(found.partition, None)
            raise
