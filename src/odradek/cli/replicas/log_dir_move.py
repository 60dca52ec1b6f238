"""Replicas that move to another log dir of their broker: what is asked for, and how far it is."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from odradek.cli.showing.cells import Size
from odradek.cli.showing.progress import Pace, progress
from odradek.cli.words.failing import Failed
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsResult

COLUMNS: Final = ("partition", "from", "to", "size", "state")
GOOD: Final = frozenset({"planned", "moving", "moved", "is there"})
POLL_SECONDS: Final = 0.2
Rows = list[tuple[object, ...]]
Look = Callable[[Sequence[TopicPartition]], Awaitable[Sequence[DescribeLogDirsResult]]]
"""What lies of these partitions in the log dirs of the broker now."""


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


class Moves:
    """What is asked of one broker: `begin`, then `wait`; `rows` say what came of it."""

    def __init__(
        self, broker: BrokerId, target: str, partitions: Sequence[TopicPartition], look: Look
    ) -> None:
        self.broker = broker
        self.target = target
        self._partitions = partitions
        self._look = look
        self._before: Mapping[TopicPartition, Replica] = {}
        self._states: dict[TopicPartition, str] = {}  # of those that the broker has

    async def begin(self, cluster: Cluster, *, dry_run: bool) -> None:
        """Asks for what is not in the target dir; `Failed` if that cannot take replicas."""
        dirs = await self._look(self._partitions)
        check_target(self.broker, self.target, dirs)
        self._before = standing(dirs).current
        for it in self._partitions:
            if it in self._before:
                is_there = self._before[it].log_dir == self.target
                self._states[it] = "is there" if is_there else "planned"
        going = self._in_state("planned")
        if going and not dry_run:
            codes = await admin.move_replicas(cluster, self.broker, self.target, going)
            self._states |= {it: _begun(codes[it]) for it in going}

    async def wait(self) -> None:
        """Until no copy is being filled; on a terminal with a bar and the time that is left."""
        before, going = self._before, self._in_state("moving")
        if not going:
            return
        total, left, pace = sum(before[it].size for it in going), going, Pace(POLL_SECONDS)
        with progress("copying", Size(total)) as bar:
            while left:
                now = standing(await self._look(left))
                left = [it for it in left if it in now.future]
                short = (before[it].size - now.future[it].size for it in left)
                bar.reach(total - sum(max(it, 0) for it in short))
                if left:
                    await pace.rest()
        now = standing(await self._look(going))
        for it in going:
            found = now.current.get(it)
            is_there = found is not None and found.log_dir == self.target
            self._states[it] = "moved" if is_there else "given up: see the log of the broker"

    def rows(self) -> Rows:
        """One for each replica that the broker has."""
        return [
            (str(it), self._before[it].log_dir, self.target, Size(self._before[it].size), state)
            for it, state in self._states.items()
        ]

    @property
    def failed(self) -> bool:
        """Whether one could not be moved."""
        return any(it not in GOOD for it in self._states.values())

    def _in_state(self, state: str) -> list[TopicPartition]:
        return [it for it, found in self._states.items() if found == state]


def check_target(broker: BrokerId, target: str, dirs: Sequence[DescribeLogDirsResult]) -> None:
    """Refuses a dir that cannot take replicas, before anything is begun."""
    codes = {it.log_dir: ErrorCode(it.error_code) for it in dirs}
    if target not in codes:
        known = ", ".join(codes)
        raise Failed(f"{target} is no log dir of broker {broker}; it has {known}")
    if codes[target] is not ErrorCode.NONE:
        raise Failed(f"{target} of broker {broker} is offline")


def _begun(code: ErrorCode) -> str:
    if code is ErrorCode.NONE:
        return "moving"
    if code is ErrorCode.INVALID_REPLICA_ASSIGNMENT:
        return "refused: the log dir is cordoned"
    return f"refused: {code.sentence}"
