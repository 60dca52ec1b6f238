"""Replicas that move to another log dir of their broker: what is asked for, and how far it is."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from odradek.cli.failing import Failed
from odradek.cli.printing import Size
from odradek.cli.progress import progress
from odradek.client import admin
from odradek.client.cluster import Cluster
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsResult

COLUMNS: Final = ("partition", "from", "to", "size", "state")
POLL_SECONDS: Final = 0.2
Rows = list[tuple[object, ...]]
Look = Callable[[], Awaitable[Sequence[DescribeLogDirsResult]]]
"""What lies in the log dirs of the broker now."""


class Replica(NamedTuple):
    """One, as DescribeLogDirs tells of it."""

    log_dir: str
    size: int


class Standing(NamedTuple):
    """Where the replicas of a broker are, and the copies that are being filled."""

    current: Mapping[TopicPartition, Replica]
    future: Mapping[TopicPartition, Replica]


def standing(dirs: Sequence[DescribeLogDirsResult]) -> Standing:
    """By partition."""
    found = Standing({}, {})
    for log_dir in dirs:
        for topic in log_dir.topics:
            for row in topic.partitions:
                where = found.future if row.is_future_key else found.current
                partition = TopicPartition(topic.name, row.partition_index)
                assert isinstance(where, dict)
                where[partition] = Replica(log_dir.log_dir, row.partition_size)
    return found


class Moves(NamedTuple):
    """What is asked of one broker."""

    broker: BrokerId
    target: str
    partitions: Sequence[TopicPartition]

    def check(self, dirs: Sequence[DescribeLogDirsResult]) -> None:
        """Refuses a dir that cannot take replicas, before anything is begun."""
        codes = {it.log_dir: ErrorCode(it.error_code) for it in dirs}
        if self.target not in codes:
            known = ", ".join(codes)
            raise Failed(f"{self.target} is no log dir of broker {self.broker}; it has {known}")
        if codes[self.target] is not ErrorCode.NONE:
            raise Failed(f"{self.target} of broker {self.broker} is offline")

    async def carry_out(
        self, cluster: Cluster, look: Look, *, dry_run: bool, wait: bool
    ) -> tuple[Rows, bool]:
        """A row for each replica, and whether one could not be moved."""
        dirs = await look()
        self.check(dirs)
        before = standing(dirs).current
        here = [it for it in self.partitions if it in before]
        if not here:
            raise Failed(f"broker {self.broker} has no replica of these partitions")
        states: dict[TopicPartition, str] = {}
        for it in here:
            states[it] = "is there" if before[it].log_dir == self.target else "planned"
        going = [it for it in here if states[it] == "planned"]
        failed = False
        if going and not dry_run:
            codes = await admin.move_replicas(cluster, self.broker, self.target, going)
            states |= {it: _begun(codes[it]) for it in going}
            going = [it for it in going if codes[it] is ErrorCode.NONE]
            if wait:
                await self._wait(look, going, before, states)
            failed = any(states[it] not in {"moving", "moved", "is there"} for it in here)
        rows: Rows = [
            (str(it), before[it].log_dir, self.target, Size(before[it].size), states[it])
            for it in here
        ]
        return rows, failed

    async def _wait(
        self,
        look: Look,
        going: Sequence[TopicPartition],
        before: Mapping[TopicPartition, Replica],
        states: dict[TopicPartition, str],
    ) -> None:
        """Until no copy is being filled; on a terminal with a bar and the time that is left."""
        with progress("copying", sum(before[it].size for it in going)) as bar:
            shown = 0
            while True:
                now = standing(await look())
                left = [it for it in going if it in now.future]
                done = sum(
                    min(now.future[it].size, before[it].size) if it in left else before[it].size
                    for it in going
                )
                bar.update(max(done - shown, 0))
                shown = max(done, shown)
                if not left:
                    break
                await asyncio.sleep(POLL_SECONDS)
        for it in going:
            found = now.current.get(it)
            is_there = found is not None and found.log_dir == self.target
            states[it] = "moved" if is_there else "given up: see the log of the broker"


def _begun(code: ErrorCode) -> str:
    if code is ErrorCode.NONE:
        return "moving"
    if code is ErrorCode.INVALID_REPLICA_ASSIGNMENT:
        return "refused: the log dir is cordoned"
    return f"refused: {code.sentence}"
