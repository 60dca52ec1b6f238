"""A member of a consumer group: joins, is assigned partitions, commits, and leaves.

One member at a time is the leader of its group and shares the partitions out: neighbours of each
topic together, as Kafka's range assignor does it, so that it can share a group with any client.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.client.records.group_offsets import (
    Committer,
    check_commit,
    commit_request,
    committed_request,
    read_committed,
)
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST, Position
from odradek.client.retries import PAUSE_MAX, PAUSE_MIN
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import SECOND, Millis
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from odradek.wire.messages.consumer_protocol import (
    TopicPartition as AssignedTopic,
)
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponseMember,
)
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.wire.prefixed import read_prefixed, write_prefixed

CONSUMER: Final = "consumer"
RANGE: Final = "range"
SESSION_TIMEOUT: Final = Millis(45 * SECOND)
REBALANCE_TIMEOUT: Final = Millis(60 * SECOND)
REJOIN: Final = frozenset(
    {
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.MEMBER_ID_REQUIRED,
    }
)

Positions = dict[TopicPartition, int]


class Member:
    """One member, through its generations.

    With an `instance_id` it is a static one: a process that takes its place within the session's
    time-out goes on in its generation, and the older one is fenced.
    """

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        topics: Iterable[str],
        *,
        session_timeout: Millis = SESSION_TIMEOUT,
        instance_id: str | None = None,
    ) -> None:
        self.group = group
        self.member_id = ""
        self.generation = -1
        self._session_timeout = session_timeout
        self._instance_id = instance_id
        self._cluster = cluster
        self._topics = sorted(topics)

    async def join(self) -> list[TopicPartition]:
        """Takes part in the next generation; what this member reads in it.

        A coordinator that cannot store a generation begins another at once: pauses grow.
        """
        clock, pause = self._cluster.world.clock, PAUSE_MIN
        while True:
            subscription = ConsumerProtocolSubscription(topics=self._topics)
            protocol = JoinGroupRequestProtocol(RANGE, write_prefixed(subscription, 0))
            joined = await self._cluster.ask_coordinator(
                self.group,
                JoinGroupRequest(
                    self.group,
                    self._session_timeout,
                    REBALANCE_TIMEOUT,
                    self.member_id,
                    self._instance_id,
                    protocol_type=CONSUMER,
                    protocols=[protocol],
                ),
            )
            if joined.error_code in REJOIN:
                unknown = joined.error_code == ErrorCode.UNKNOWN_MEMBER_ID
                self.member_id = "" if unknown else joined.member_id
                continue
            check(joined.error_code)
            self.member_id, self.generation = joined.member_id, joined.generation_id
            leads = joined.leader == self.member_id
            shares = await self._share_out(joined.members) if leads else {}
            assigned = await self._sync(shares)
            if assigned is not None:
                return assigned
            await clock.sleep_until(Millis(clock.monotonic() + pause))
            pause = min(Millis(2 * pause), PAUSE_MAX)

    async def _share_out(self, members: Iterable[JoinGroupResponseMember]) -> dict[str, bytes]:
        wanted = {
            member.member_id: set(
                read_prefixed(ConsumerProtocolSubscription, member.metadata).topics
            )
            for member in members
        }
        topics = sorted(set().union(*wanted.values()))
        counts = {name: len((await self._cluster.topic(name)).partitions) for name in topics}
        return {
            member: write_prefixed(
                ConsumerProtocolAssignment(
                    [AssignedTopic(name, numbers) for name, numbers in share.items()]
                ),
                0,
            )
            for member, share in ranges(wanted, counts).items()
        }

    async def _sync(self, shares: Mapping[str, bytes]) -> list[TopicPartition] | None:
        synced = await self._cluster.ask_coordinator(
            self.group,
            SyncGroupRequest(
                self.group,
                self.generation,
                self.member_id,
                self._instance_id,
                protocol_type=CONSUMER,
                protocol_name=RANGE,
                assignments=[SyncGroupRequestAssignment(it, share) for it, share in shares.items()],
            ),
        )
        if synced.error_code in REJOIN:
            return None
        check(synced.error_code)
        if not synced.assignment:
            return []
        assignment = read_prefixed(ConsumerProtocolAssignment, synced.assignment)
        return [
            TopicPartition(row.topic, number)
            for row in assignment.assigned_partitions
            for number in row.partitions
        ]

    async def still_belongs(self) -> bool:
        """Says that we live; whether the generation goes on."""
        answer = await self._cluster.ask_coordinator(
            self.group,
            HeartbeatRequest(self.group, self.generation, self.member_id, self._instance_id),
        )
        if answer.error_code in REJOIN:
            return False
        check(answer.error_code)
        return True

    async def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        """These are done with; raises if the generation is over."""
        who = Committer(self.generation, self.member_id, self._instance_id)
        await commit(self._cluster, self.group, positions, who)

    async def leave(self) -> None:
        """The others take over at once."""
        if self.member_id:
            identity = [MemberIdentity(self.member_id, self._instance_id)]
            await self._cluster.ask_coordinator(
                self.group, LeaveGroupRequest(self.group, members=identity)
            )


def ranges(
    wanted: Mapping[str, set[str]], counts: Mapping[str, int]
) -> dict[str, dict[str, list[int]]]:
    """Each topic's partitions in even runs over those who want it, in the order of their ids."""
    shares: dict[str, dict[str, list[int]]] = {member: {} for member in sorted(wanted)}
    for name, count in sorted(counts.items()):
        takers = [member for member in sorted(wanted) if name in wanted[member]]
        each, more = divmod(count, len(takers))
        start = 0
        for number, member in enumerate(takers):
            end = start + each + (number < more)
            if end > start:
                shares[member][name] = list(range(start, end))
            start = end
    return shares


async def committed(
    cluster: Cluster, group: str, partitions: Iterable[TopicPartition] | None = None
) -> Positions:
    """Where a group is; None: everywhere that it has committed."""
    request = committed_request(group, partitions)
    found = read_committed(await cluster.ask_coordinator(group, request))
    return {partition: position.offset for partition, position in found.items()}


async def commit(
    cluster: Cluster,
    group: str,
    positions: Mapping[TopicPartition, int],
    who: Committer = Committer(),  # noqa: B008 - it cannot be changed
) -> None:
    """Moves a group; without a generation and a member only if it has no members."""
    if positions:
        moved = {it: Position(Offset(offset)) for it, offset in positions.items()}
        check_commit(await cluster.ask_coordinator(group, commit_request(group, moved, who)))


async def starting_positions(
    cluster: Cluster, group: str, partitions: Iterable[TopicPartition], reset: int = EARLIEST
) -> Positions:
    """Where a group goes on; where it has never been, as `reset` says."""
    wanted = list(partitions)
    known = await committed(cluster, group, wanted) if wanted else {}
    new = [partition for partition in wanted if partition not in known]
    return {**known, **await offsets_at(cluster, new, reset)}
