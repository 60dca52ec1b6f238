"""One partition that this broker leads: its log, the leader's decisions, and who waits for either.

The log decides where a batch goes, the leader's core how far it is committed; the core's effects
are carried out here, from top to bottom.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from odradek.broker.partitions.replicas.confirmations import Confirmation, Question, Questions, Told
from odradek.broker.partitions.replicas.produce_rules import ProduceRules
from odradek.broker.partitions.replicas.replica import (
    Expecting,
    Patience,
    Replica,
    Scheduler,
    Writer,
    unwritten_before,
)
from odradek.broker.partitions.replicas.traffic import Traffic
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import SECOND, Millis, Timestamp
from odradek.ports import Clock
from odradek.records.batch import BatchHeader, read_header
from odradek.records.control import TransactionEnd
from odradek.replication.errors import AwaitsEarlierBatch
from odradek.replication.isr import IsrProposal
from odradek.replication.leader import Leader
from odradek.replication.leadership import LeaderEffects
from odradek.replication.waiters import Waiter
from odradek.storage.errors import OutOfOrderSequence
from odradek.storage.logs.log import Appended, PartitionLog

REPEATED_FOR: Final = Millis(5 * SECOND)
"""Clients wait up to a second before they send a batch again."""


class Committer(Protocol):
    """Who waits for an append to be committed; the ticket at the leader's core."""

    def on_verdict(self, error: ErrorCode | None) -> None:
        """No error means: committed."""
        ...


class Sleeper(Protocol):
    """Waits until records are gone from every live replica; the ticket at the leader's core."""

    def wake(self) -> None:
        """They are, or the leadership is over."""
        ...


class Rules(NamedTuple):
    """What the topic says, and what is counted for it."""

    produce_rules: ProduceRules
    traffic: Traffic


class IsrChanges(Protocol):
    """Takes proposals of another ISR to the controller."""

    def propose(self, replica: "LeadingReplica", proposal: IsrProposal) -> None:
        """`replica.leader.on_isr_answer` brings the answer."""
        ...


class LeaderDeps(NamedTuple):
    """What a leader needs of its broker."""

    appends: Scheduler
    clock: Clock
    isr_changes: IsrChanges


class LeadingReplica(Replica):
    """A partition of which this broker is the leader, for as long as it is."""

    __slots__ = (
        "_begun_at",
        "_isr_changes",
        "confirming",
        "is_over",
        "leader",
        "produce_rules",
        "traffic",
        "watchers",
    )

    def __init__(self, log: PartitionLog, leader: Leader, rules: Rules, deps: LeaderDeps) -> None:
        super().__init__(log, deps.appends, deps.clock)
        self.leader = leader
        self.watchers: list[Callable[[Offset], None]] = []  # of the high watermark
        self.is_over = False  # the leadership has ended
        self.confirming: dict[Question, Confirmation] = {}  # what coordinators are asked
        self.produce_rules = rules.produce_rules
        self.traffic = rules.traffic
        self._isr_changes = deps.isr_changes
        self._begun_at = deps.clock.monotonic()

    @property
    def leader_epoch(self) -> LeaderEpoch:
        """Which leadership this is."""
        return self.leader.leader_epoch

    def check_leader_epoch(self, leader_epoch: LeaderEpoch) -> None:
        """Refuses a request of another leader epoch."""
        if leader_epoch != self.leader.leader_epoch:
            self.leader.check_leader_epoch(leader_epoch)

    def eligible_apart(self, offset: Offset) -> frozenset[BrokerId]:
        """Those who have the record at this offset and do not fetch from here."""
        return self.leader.eligible_apart(offset, self._clock.monotonic())

    # Appending

    def append(
        self,
        batch: bytearray | memoryview,
        header: BatchHeader,
        writer: Writer,
        place: int,
        *,
        now: Timestamp,
    ) -> Appended:
        """Gives a checked batch its place; raises what the log has against it.

        A duplicate has its place already, but perhaps not yet in the file.
        """
        try:
            appended = self.log.append(batch, header, self.leader.leader_epoch, now)
        except OutOfOrderSequence as error:
            if error.is_ahead and not header.is_transactional and self._has_just_begun:
                raise AwaitsEarlierBatch(str(error)) from None
            raise
        self.expecting.append((writer, place, Offset(appended.last_offset + 1)))
        if not self.is_scheduled:
            self._appends.schedule(self)
        return appended

    @property
    def _has_just_begun(self) -> bool:
        """Whether clients may still repeat what they sent to the leader of before.

        Told of a gap meanwhile, librdkafka begins an epoch for all its partitions, and sends again
        under it what it had no answer for: a record that a leader has stands twice then.
        """
        return self._clock.monotonic() < self._begun_at + REPEATED_FOR

    def append_own(self, batch: bytearray, done: Callable[[Offset | BrokerError], None]) -> None:
        """A coordinator's batch: its base offset once it is in the file.

        `done` is called in a later turn than this, in the order of the calls.
        """
        own, now, epoch = _Own(done), self._clock.wall(), self.leader.leader_epoch
        appended = self.log.append_own(batch, read_header(batch), epoch, now)
        own.base_offset = appended.base_offset
        self.expect(own, 0, Offset(appended.last_offset + 1))

    def append_end(self, end: TransactionEnd, writer: Writer, place: int) -> Offset:
        """The end of a producer's transaction; where the log ends behind it.

        Raises what the log has against it, and that too few replicas are in sync.
        """
        self.leader.check_enough_replicas()
        appended = self.log.append_end(end, self.leader.leader_epoch, self._clock.wall())
        for question, confirmation in self.confirming.items():
            if question.producer_id == end.producer_id:
                confirmation.is_void = True
        end_offset = Offset(appended.last_offset + 1)
        self.expect(writer, place, end_offset)
        return end_offset

    def end_own(self, end: TransactionEnd, done: Callable[[Offset | BrokerError], None]) -> None:
        """Likewise in a coordinator's own partition: its offset, as with `append_own`."""
        own = _Own(done)
        own.base_offset = Offset(self.append_end(end, own, 0) - 1)

    def confirm(self, question: Question, told: Told, questions: Questions) -> Callable[[], None]:
        """Asks whether the transaction has this partition; how to give up waiting for the answer.

        Those who ask the same at a time are told in their order, in one turn.
        """
        found = self.confirming.get(question)
        if found is None:
            found = Confirmation(
                questions, self.partition, lambda: self.confirming.pop(question, None)
            )
            self.confirming[question] = found
            found.ask(question)
        return found.add(told)

    def confirm_batch(
        self, header: BatchHeader, question: Question, told: Told, questions: Questions
    ) -> Callable[[], None]:
        """Likewise, for a batch: none behind it is taken before it."""
        self.log.producers.expect(header, self._clock.wall())
        return self.confirm(question, told, questions)

    def begin_epoch(self, writer: Writer, place: int) -> None:
        """Notes this leader epoch in the log's history, and tells `writer` so: no disk is asked."""
        self.log.begin_epoch(self.leader.leader_epoch)
        writer.on_written(place, None)

    # What follows

    def written(self, expecting: list[Expecting]) -> None:
        """The turn's batches are in the file."""
        if not self.is_over:
            now = self._clock.monotonic()
            self.carry_out(self.leader.on_append(self.log.log_end_offset, now))
            if self.readers.at_end:
                self.readers.on_end()
        end = self.log.log_end_offset
        for writer, place, expected in expecting:
            writer.on_written(place, unwritten_before() if expected > end else None)

    def on_log_start(self) -> None:
        """The log starts elsewhere, by retention or DeleteRecords."""
        self.carry_out(self.leader.on_log_start(self.log.log_start_offset))
        self.readers.on_offsets()

    def await_low_watermark(self, offset: Offset, sleeper: Sleeper) -> Waiter | None:
        """Wakes it once all followers begin there, who are told at once; None: they do."""
        if self.is_over:
            return None
        waiter = self.leader.await_low_watermark(offset, sleeper)
        if waiter is not None:
            self.readers.on_awaited_start()
        return waiter

    def resign(self) -> None:
        """The leadership is over: who waits is told to look elsewhere."""
        self.is_over = True
        self.carry_out(self.leader.resign())
        for confirmation in [*self.confirming.values()]:
            confirmation.tell()
        self.readers.on_change()

    def carry_out(self, effects: LeaderEffects) -> None:
        """What the leader's mind wants, from top to bottom. `begin_epoch` is the caller's."""
        if effects.high_watermark is not None:
            self.log.on_high_watermark(effects.high_watermark)
        if effects.propose is not None:
            self._isr_changes.propose(self, effects.propose)
        for verdict in effects.verdicts:
            verdict.ticket.on_verdict(verdict.error)  # type: ignore[attr-defined]  # tickets are ours
        for sleeper in effects.wake:
            sleeper.wake()  # type: ignore[attr-defined]  # tickets are ours
        if effects.high_watermark is not None:
            if self.readers.told or self.readers.at_high_watermark:
                self.readers.on_high_watermark()
            for watcher in self.watchers:
                watcher(effects.high_watermark)

    def await_commit(self, end_offset: Offset, committer: Committer) -> Callable[[], None] | None:
        """Tells once all below is committed; how to give up, if that was not at once."""
        if self.is_over:
            committer.on_verdict(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return None
        if end_offset <= self.leader.high_watermark:
            committer.on_verdict(self.leader.verdict)
            return None
        waiter = self.leader.await_commit(end_offset, committer)
        assert isinstance(waiter, Waiter), waiter
        return waiter.give_up


class _Own:
    """A coordinator that waits for one of its batches."""

    __slots__ = ("_done", "base_offset")

    def __init__(self, done: Callable[[Offset | BrokerError], None]) -> None:
        self.base_offset = Offset(0)
        self._done = done

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """Says so."""
        del place
        self._done(self.base_offset if error is None else error)

    def on_stuck(self, place: int, patience: Patience) -> None:
        """It waits on: what follows in a coordinator rests on it."""
        del place, patience
