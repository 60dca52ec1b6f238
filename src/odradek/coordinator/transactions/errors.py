"""What transactions refuse, and why. The codes are those of Kafka 3.9."""

from odradek.model.errors import BrokerError, ErrorCode


class InvalidTransactionalId(BrokerError):
    """An empty name."""

    code = ErrorCode.INVALID_REQUEST


def check_id(transactional_id: str) -> None:
    """It may not be empty."""
    if not transactional_id:
        raise InvalidTransactionalId("the transactional id is empty")


class InvalidTransactionTimeout(BrokerError):
    """The producer wants more time than the broker gives, or none."""

    code = ErrorCode.INVALID_TRANSACTION_TIMEOUT


class UnknownProducer(BrokerError):
    """The transactional id has another producer id, or is not known."""

    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING


class ProducerFenced(BrokerError):
    """Another process has the transactional id, or its time was up."""

    code = ErrorCode.PRODUCER_FENCED


class InvalidTransactionState(BrokerError):
    """There is nothing to end, or the other outcome was decided."""

    code = ErrorCode.INVALID_TXN_STATE


class ConcurrentTransactions(BrokerError):
    """The transaction before is still being ended."""

    code = ErrorCode.CONCURRENT_TRANSACTIONS


class TransactionalIdNotFound(BrokerError):
    """No producer has come with it, or not for long."""

    code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


class NoProducerId(BrokerError):
    """None is left of the last block; the producer asks again."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
