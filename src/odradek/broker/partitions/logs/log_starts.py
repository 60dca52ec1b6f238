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


class Wish:
    """One who wants a log to begin there; several may at a time, and each may fail alone."""

    __slots__ = ("log", "log_dir", "start")

    def __init__(self, log_dir: LogDir, found: PartitionLog, start: Offset) -> None:
        self.log_dir = log_dir
        self.log = found
        self.start = start


class LogStarts:
    """Those of all dirs that are about to move.

    The highest wish of a log stands in `starts_to_be` of its dir until all have ended, or a cut has
    replaced it.
    """

    def __init__(self) -> None:
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._unwritten: defaultdict[str, list[Wish]] = defaultdict(list)
        self._wishes: defaultdict[PartitionLog, list[Wish]] = defaultdict(list)

    async def note(
        self, log_dir: LogDir, worker: Worker, found: PartitionLog, start: Offset
    ) -> Wish:
        """Returns once it is durable that this log begins there; the wish is to be ended."""
        wish = Wish(log_dir, found, start)
        unwritten = self._unwritten[log_dir.name]
        unwritten.append(wish)
        self._wishes[found].append(wish)
        to_be = log_dir.starts_to_be
        to_be[found.partition] = max(start, to_be.get(found.partition, start))
        try:
            async with self._turns[log_dir.name]:
                if wish in unwritten:
                    written = list(unwritten)
                    await off_loop(worker, partial(log_dir.note_log_starts, log_dir.log_starts()))
                    unwritten[:] = [it for it in unwritten if it not in written]
        except BaseException:
            if wish in unwritten:
                unwritten.remove(wish)
            self.end(wish, has_moved=False)
            raise
        return wish

    def end(self, wish: Wish, *, has_moved: bool) -> None:
        """The log begins there now, or does not; those who wish for more go on."""
        to_be, partition = wish.log_dir.starts_to_be, wish.log.partition
        wishes = self._wishes.pop(wish.log, [])
        top = max((it.start for it in wishes), default=wish.start)
        rest = [it for it in wishes if it is not wish]
        if has_moved:
            rest = [it for it in rest if it.start > wish.start]
        said = to_be.get(partition)
        if said != top:  # a cut has replaced it: no wish is true of what is left
            rest.clear()
        if said in {top, wish.start}:
            del to_be[partition]
        if rest:
            self._wishes[wish.log] = rest
            to_be[partition] = max(it.start for it in rest)
