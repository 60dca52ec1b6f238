"""The in-sync replicas, as what is known of them: each state is a type.

Only the controller changes the ISR, by version; the leader proposes (KIP-497). While the answer is
out, either ISR may turn out to be the true one, so everything that must be safe under both counts
the *maximal* set. One change at a time.

    Committed ──propose──▶ ChangeInFlight ──accepted, or surely not done──▶ Committed
                                │ refused, but perhaps done before
                                ▼
                           ChangeInDoubt ──only a newer leadership decides──▶ Committed
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import (
    FIRST_INCARNATION,
    BrokerEpoch,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
)

Members = frozenset[BrokerId]


class IsrMember(NamedTuple):
    """A replica and the life of its broker in which it was seen; -1 where none was (KIP-903)."""

    broker: BrokerId
    broker_epoch: BrokerEpoch
    incarnation: Incarnation = FIRST_INCARNATION  # of its log


class IsrProposal(NamedTuple):
    """What the leader asks the controller for: this ISR in the place of that version's."""

    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: tuple[IsrMember, ...]  # in the order of the assignment


class IsrAccepted(NamedTuple):
    """The controller's answer: what the ISR is now, who is eligible, and under which number."""

    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: tuple[BrokerId, ...]
    eligible_min_isr: int = 0
    eligible: tuple[BrokerId, ...] = ()


@dataclass(frozen=True, slots=True)
class Committed:
    """The controller's word, and no change under way."""

    committed: Members
    maximal: Members = field(init=False, repr=False, compare=False)
    """The high watermark waits for all of these."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "maximal", self.committed)


@dataclass(frozen=True, slots=True)
class ChangeInFlight:
    """Proposed, not answered: either ISR may turn out to be the true one."""

    committed: Members
    proposal: IsrProposal

    @property
    def maximal(self) -> Members:
        """The high watermark waits for all of these."""
        return self.committed | {member.broker for member in self.proposal.isr}


@dataclass(frozen=True, slots=True)
class ChangeInDoubt:
    """Refused in a way that does not rule out that it was done; nothing more is proposed."""

    committed: Members
    maximal: Members


Isr = Committed | ChangeInFlight | ChangeInDoubt

NOT_DONE = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})
"""Errors that prove both that our version is the current one and that the change was not made.

Nor will it be, if no earlier copy of the request can still arrive: a leader that sends a proposal
again first closes the connection that the copy before went by, and the controller drops what it has
not begun of a connection that is closed.
"""

OVERTAKEN = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
"""Errors after which only the controller's next word can help: asking again cannot."""

NOT_KNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
"""Of a partition that is deleted, and its leadership over soon; or that a person damaged in the
tree, and may mend at any time. So it is asked again, but seldom."""
