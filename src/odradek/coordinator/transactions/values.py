"""What the records of `__transaction_state` say: the nouns of hard state."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from odradek.coordinator.transactions.states import State
from odradek.model.ids import NO_PRODUCER, ProducerId, TopicPartition
from odradek.model.positions import NO_PRODUCER_EPOCH, ProducerEpoch
from odradek.model.units import Millis, Timestamp

EPOCH_MAX: Final = ProducerEpoch((1 << 15) - 1)
"""Never given to a producer, so that the last one can still be fenced."""
NEVER: Final = Timestamp(-1)


class Identity(NamedTuple):
    """Who a producer says it is."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch

    @property
    def is_used_up(self) -> bool:
        """Whether there is no higher epoch to give: another id has to follow."""
        return self.producer_epoch >= EPOCH_MAX - 1

    @property
    def only_fences(self) -> bool:
        """Whether no producer was ever given this epoch."""
        return self.producer_epoch == EPOCH_MAX

    def fenced(self) -> "Identity":
        """One that no producer has."""
        assert self.producer_epoch < EPOCH_MAX, self
        return Identity(self.producer_id, ProducerEpoch(self.producer_epoch + 1))


@dataclass(frozen=True, slots=True)
class TransactionKey:
    """A transactional id."""

    subject: str


class Transaction(NamedTuple):
    """A transactional id, and its transaction, as they were written last.

    A plain tuple, as a log has very many: a frozen dataclass takes eight times as long to make.
    """

    identity: Identity
    timeout: Millis
    state: State
    updated_at: Timestamp
    partitions: frozenset[TopicPartition] = frozenset()
    started_at: Timestamp = NEVER
    previous_producer_id: ProducerId = NO_PRODUCER  # before the epoch was used up
    next_producer_id: ProducerId = NO_PRODUCER  # once it is complete
    version: int = 0  # of transactions, as the producer spoke when it was decided
    # The epoch before this one, for a producer that has not heard of it (KIP-360). No record has
    # it: a coordinator that takes over does not know.
    last_epoch: ProducerEpoch = NO_PRODUCER_EPOCH

    @property
    def following(self) -> Identity:
        """Who the producer is once what is prepared is complete."""
        if self.next_producer_id == NO_PRODUCER:
            return self.identity
        return Identity(self.next_producer_id, ProducerEpoch(0))

    def is_awaited_by(self, identity: Identity) -> bool:
        """Whether this producer asks for its next transaction before this one is complete."""
        is_next = self.state.is_prepared and identity == self.following
        return is_next and not identity.only_fences

    @property
    def deadline(self) -> Timestamp:
        """When it is aborted, if it is still ongoing."""
        return Timestamp(self.started_at + self.timeout)


class Ending(NamedTuple):
    """The markers of a decided transaction: to be sent until each leader has its own."""

    transactional_id: str
    identity: Identity  # as the markers have it
    is_committed: bool
    version: int
    partitions: frozenset[TopicPartition]
