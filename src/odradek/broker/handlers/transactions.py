"""What handlers share that have to do with transactions: questions to coordinators, and codes.

A client hears of it in codes that its version knows, and of a coordinator that is not there in one
for which every client sends the same again.
"""

from typing import Any, Final

from odradek.broker.partitions.replicas.confirmations import AGAIN, Question
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.services import Services
from odradek.config.rows.transactions import TRANSACTION_PARTITION_VERIFICATION_ENABLE
from odradek.coordinator.transactions.values import Identity
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import ProducerId
from odradek.model.positions import ProducerEpoch
from odradek.records.batch import BatchHeader
from odradek.storage.errors import OutOfOrderSequence


class NoTransactionalId(BrokerError):
    """A batch of a transaction, and not whose: no coordinator can be asked."""

    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class OutsideTransaction(BrokerError):
    """A transactional id, with a batch that belongs to no transaction."""

    code = ErrorCode.INVALID_TXN_STATE


class NotInTransaction(BrokerError):
    """The coordinator knows of no transaction of this producer that has this partition."""

    code = ErrorCode.INVALID_TXN_STATE


class TransactionAborted(BrokerError):
    """Likewise, told to a client that can abort the transaction and go on (KIP-890)."""

    code = ErrorCode.TRANSACTION_ABORTABLE


class ProducerFenced(BrokerError):
    """A newer producer has the transactional id."""

    code = ErrorCode.INVALID_PRODUCER_EPOCH


class NotConfirmed(BrokerError):
    """The coordinator could not be asked in time; every client tries again with this code."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS


class Refused(BrokerError):
    """Another reason, in the coordinator's own code."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(f"the transaction cannot go on: {code.sentence}")
        self.code = code  # type: ignore[misc]  # one type for what a coordinator may say


ABORTABLE: Final = frozenset({ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE})
FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})


def identity_of(request: Any) -> Identity:
    """Who the producer says that it is."""
    return Identity(ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch))


def known_code(code: int, version: int, fenced_since: int) -> int:
    """The code of an answer to a client that may be too old to know PRODUCER_FENCED."""
    is_old = code == ErrorCode.PRODUCER_FENCED and version < fenced_since
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_old else code


ABORTABLE_SINCE: Final = 11  # of Produce
ADDS_SINCE: Final = 12


def question_of(
    services: Services,
    led: LeadingReplica,
    transactional_id: str | None,
    header: BatchHeader,
    *,
    version: int,
) -> Question | None:
    """What the coordinator is asked before this batch is taken; None if it need not be."""
    if transactional_id is None:
        raise NoTransactionalId("a batch of a transaction in a request without its id")
    if not header.is_transactional or not header.has_producer:
        raise OutsideTransaction("a request of a transaction with a batch that is of none")
    question = Question(
        transactional_id, header.producer_id, header.producer_epoch, version >= ADDS_SINCE
    )
    is_known = led.log.may_take(header) or not is_asked(services, question)
    return None if is_known else question


def is_asked(services: Services, question: Question) -> bool:
    """Whether the coordinator is asked: always where the partition is to be added."""
    return question.adds or services.settings.broker[TRANSACTION_PARTITION_VERIFICATION_ENABLE]


def check_begins(led: LeadingReplica, header: BatchHeader, *, version: int) -> None:
    """Whether a batch that has been confirmed may open its transaction in the log.

    In version 2 each has an epoch of its own, whose first batch has sequence 0 (KAFKA-18202).
    """
    if version >= ADDS_SINCE and header.base_sequence and not led.log.may_take(header):
        raise OutOfOrderSequence(
            f"producer {header.producer_id} begins a transaction with sequence "
            f"{header.base_sequence} where 0 was to come"
        )


def refusal(code: ErrorCode, *, knows_abortable: bool) -> BrokerError:
    """What the client is told of this answer."""
    if code in AGAIN:
        return NotConfirmed(f"no coordinator has confirmed the transaction: {code.name}")
    if code in FENCED:
        return ProducerFenced("a newer producer has the transactional id")
    if code in ABORTABLE:
        text = "the partition is in no open transaction of this producer"
        return TransactionAborted(text) if knows_abortable else NotInTransaction(text)
    return Refused(code)
