"""What a leader is told, and what it wants done."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import (
    FIRST_INCARNATION,
    Incarnation,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
)
from odradek.model.units import SECOND, Millis
from odradek.replication.errors import FencedLeaderEpoch, UnknownLeaderEpoch
from odradek.replication.isr import IsrProposal
from odradek.replication.waiters import Ticket


class Leadership(NamedTuple):
    """The controller's word on a partition that this broker leads."""

    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    eligible_min_isr: int = 0  # nothing is committed by a smaller ISR: others may lead then
    incarnations: tuple[tuple[BrokerId, Incarnation], ...] = ()  # of members' logs that lost some
    adding: tuple[BrokerId, ...] = ()
    eligible: tuple[BrokerId, ...] = ()  # they have everything, and may lead where no member can


class LeaderSettings(NamedTuple):
    """What the operator asks for."""

    lag_max: Millis = Millis(30 * SECOND)  # replica.lag.time.max.ms
    min_isr: int = 1  # min.insync.replicas


class LogEnds(NamedTuple):
    """Where the log stands when its replica becomes leader: high_watermark <= end_offset."""

    end_offset: Offset
    high_watermark: Offset
    start_offset: Offset = Offset(0)
    incarnation: Incarnation = FIRST_INCARNATION


class EpochStart(NamedTuple):
    """A leadership and the first offset that can be of it."""

    leader_epoch: LeaderEpoch
    offset: Offset


class Verdict(NamedTuple):
    """The answer to a producer that waited for acks=all; no error means: committed."""

    ticket: Ticket
    error: ErrorCode | None = None


@dataclass(frozen=True, slots=True)
class LeaderEffects:
    """What is to be done, from top to bottom: nothing is answered before it holds."""

    begin_epoch: EpochStart | None = None  # 1. into the history of epochs, durably
    high_watermark: Offset | None = None  # 2. to the log: up to here it may be read
    propose: IsrProposal | None = None  # 3. to the controller; `on_isr_answer` brings the answer
    verdicts: tuple[Verdict, ...] = ()  # 4. to producers
    wake: tuple[Ticket, ...] = ()  # 5. those who wait for the low watermark


NOTHING: Final = LeaderEffects()


def check_leader_epoch(asked: LeaderEpoch, known: LeaderEpoch) -> None:
    """Refuses a request that names another leader epoch than the one of this replica (KIP-320)."""
    if asked == known:
        return
    text = f"leader epoch {asked}; here it is {known}"
    if asked < known:
        raise FencedLeaderEpoch(text)
    raise UnknownLeaderEpoch(text)
