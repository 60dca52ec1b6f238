"""Consumers that share out partitions among themselves, and what must hold whatever happens.

The consumers are honest: they do what real clients do with every answer, only at any pace. The
checks look at the log, at the answers, and at the coordinator's soft state.
"""

from dataclasses import dataclass, field
from typing import Final

from odradek.coordinator.batches import load_batches
from odradek.coordinator.decision import Ticket
from odradek.coordinator.groups.codec import decode
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.groups import Groups, Ring, Timer
from odradek.coordinator.groups.machine import GroupMachine
from odradek.coordinator.groups.states import CompletingRebalance, PreparingRebalance, Stable
from odradek.coordinator.shard import Shard
from odradek.model.errors import ErrorCode
from odradek.records.batch import headers
from odradek.records.record import read_records
from odradek.wire.messages.join_group import JoinGroupResponse
from odradek.wire.messages.leave_group import MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupResponse
from tests.unit.coordinator.shard_talk import SECOND
from tests.unit.coordinator.talk import GROUP, Talk, subscribed

PARTITIONS: Final = 5
TIMEOUTS: Final = {"session_timeout_ms": 10 * SECOND, "rebalance_timeout_ms": 15 * SECOND}


@dataclass
class Consumer:
    """One process: it knows what it was told, and asks one thing at a time."""

    t: Talk
    instance: str | None
    member: str = ""
    generation: int = -1
    owns: frozenset[int] | None = None  # None: it has no assignment
    asked: Ticket | None = None  # JoinGroup or SyncGroup
    wishes: int = 0  # changes with every new subscription

    def act(self) -> None:
        """The next step of what it is about; if it is about nothing, a heartbeat."""
        if self.asked is not None:
            if not self.t.waits(self.asked):
                self._hear()
        elif self.owns is None:
            self._join()
        else:
            self._react(self.t.beat(self.member, self.generation, group_instance_id=self.instance))

    def resubscribe(self) -> None:
        """It wants something else, and joins again for it."""
        self.wishes += 1
        if self.asked is None:
            self.owns = None

    def commit(self, number: int, partition: int) -> Ticket | None:
        """A position in a partition that it owns; the note says under which authority."""
        if self.owns is None or partition not in self.owns or self.asked is not None:
            return None
        return self.t.commit(
            number,
            self.member,
            self.generation,
            partition=partition,
            metadata=f"{self.generation}/{self.member}",
            group_instance_id=self.instance,
        )

    def leave(self) -> None:
        """It says goodbye, and forgets who it was."""
        if self.member:
            self.t.leave(MemberIdentity(self.member, self.instance))
        self.restart()

    def restart(self) -> None:
        """Another process comes in its place, which knows nothing."""
        self.member, self.generation, self.owns, self.asked = "", -1, None, None

    def _join(self) -> None:
        topics = ["orders", *(["bills"] if self.wishes % 2 else [])]
        self.asked = self.t.join(
            self.member,
            instance=self.instance,
            protocols=(("range", subscribed(*topics)),),
            **TIMEOUTS,
        )

    def _hear(self) -> None:
        assert self.asked is not None
        answer, self.asked = self.t.said(self.asked), None
        if answer.error_code:
            self.owns = None
            if isinstance(answer, JoinGroupResponse) and (
                answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
            ):
                self.member = answer.member_id
            else:
                self._react(ErrorCode(answer.error_code))
        elif isinstance(answer, JoinGroupResponse):
            self.member, self.generation = answer.member_id, answer.generation_id
            self._sync(answer)
        else:
            assert isinstance(answer, SyncGroupResponse)
            self.owns = frozenset(bytes(answer.assignment))

    def _sync(self, answer: JoinGroupResponse) -> None:
        shares: dict[str, bytes] = {}
        if answer.leader == self.member and not answer.skip_assignment:
            names = sorted(member.member_id for member in answer.members)
            for index, name in enumerate(names):
                shares[name] = bytes(range(index, PARTITIONS, len(names)))
        self.asked = self.t.sync(self.member, shares, generation_id=self.generation)

    def _react(self, code: ErrorCode) -> None:
        match code:
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.FENCED_INSTANCE_ID:
                self.restart()
            case ErrorCode.REBALANCE_IN_PROGRESS | ErrorCode.ILLEGAL_GENERATION:
                self.owns = None
            case _:
                pass  # a coordinator that is slow or new: it asks again


@dataclass
class Witness:
    """What has been promised so far."""

    t: Talk
    asked: dict[Ticket, tuple[int, int]] = field(default_factory=dict)  # commits without answer
    acknowledged: int = 0
    promised: dict[int, int] = field(default_factory=dict)  # by partition: the last acknowledged
    read: dict[int, int] = field(default_factory=dict)  # by partition: the last that was shown
    shares: dict[int, dict[str, frozenset[int]]] = field(default_factory=dict)  # by generation

    def check(self, consumers: list[Consumer]) -> None:
        """All that must hold at every moment."""
        self._commits()
        self._generations(consumers)
        check_log(self.t)
        check_soft(self.t)

    def _commits(self) -> None:
        for ticket in [ticket for ticket in self.asked if not self.t.waits(ticket)]:
            partition, number = self.asked.pop(ticket)
            if self.t.committed(ticket) is ErrorCode.NONE:
                self.acknowledged += 1
                self.promised[partition] = max(self.promised.get(partition, 0), number)
        offsets = self.t.machine.groups.ledger.offsets.get(GROUP, {})
        for about, recorded in offsets.items():
            shown = recorded.committed.offset
            assert shown >= self.read.get(about.partition, 0), "a position went back"
            self.read[about.partition] = shown
        for partition, number in self.promised.items():
            assert self.read.get(partition, 0) >= number, "an acknowledged commit is lost"

    def _generations(self, consumers: list[Consumer]) -> None:
        for consumer in consumers:
            if consumer.owns is None:
                continue
            known = self.shares.setdefault(consumer.generation, {})
            name = consumer.instance or consumer.member
            assert known.get(name, consumer.owns) == consumer.owns, "a share has changed"
            known[name] = consumer.owns
            others = [share for other, share in known.items() if other != name]
            assert not any(share & consumer.owns for share in others), "two own one partition"


def check_log(t: Talk) -> None:
    """Hard state is what the committed log says, and the log says what is allowed."""
    machine = GroupMachine(t.settings, t.random)
    committed = bytearray()
    for position, header in headers(bytes(t.log)):
        if header.next_offset <= t.high_watermark:
            committed += t.log[position : position + header.size]
    assert not load_batches(Shard(machine, t.settings.commit_timeout), bytes(committed), decode)
    assert t.machine.groups.ledger == machine.groups.ledger
    generation, members, stable = 0, frozenset[str](), 0
    for position, header in headers(bytes(t.log)):
        for record in read_records(bytes(t.log), header, position):
            entry = decode(record.key, record.value)
            assert entry is not None
            if entry.value is None:
                continue
            if hasattr(entry.value, "members"):
                generation = entry.value.generation
                members = frozenset(member.id for member in entry.value.members)
                assert generation >= stable, "a generation went back"
                stable = generation if members else stable
            else:
                said, member = entry.value.metadata.split("/", 1)
                assert int(said) == generation, "a commit of another generation"
                assert member in members, "a commit of somebody who is no member"


def check_soft(t: Talk) -> None:
    """What is kept of living groups fits together, and nothing in it waits for ever."""
    groups = t.machine.groups
    for group in groups.live.values():
        _check_members(groups, group)
        join, sync = (Timer(ring, group.id) in groups.timers for ring in (Ring.JOIN, Ring.SYNC))
        assert join == isinstance(group.state, PreparingRebalance), "who ends the wait?"
        assert sync == bool(group.unsynced), "who ends the wait for assignments?"
        if sync:
            assert isinstance(group.state, CompletingRebalance | Stable), group.state
    for name, stored in groups.ledger.groups.items():
        assert not stored.members or name in groups.live, "members without sessions"


def _check_members(groups: Groups, group: Group) -> None:
    members = group.members.values()
    assert group.joined == sum(member.joining is not None for member in members)
    assert set(group.static) == {member.instance_id for member in members} - {None}
    assert group.leader in group.members if members else group.leader is None
    assert set(group.unsynced) <= set(group.members)
    assert not set(group.pending) & set(group.members)
    for member in members:
        assert member.joining is None or member.syncing is None
        waits = member.joining is not None or member.syncing is not None
        timed = Timer(Ring.SESSION, group.id, member.id) in groups.timers
        assert timed or (waits and not member.unheard), "a member that cannot be missed"
    for member_id in group.pending:
        assert Timer(Ring.SESSION, group.id, member_id) in groups.timers
