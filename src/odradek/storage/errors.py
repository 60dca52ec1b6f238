"""What a log refuses, and what a disk can do to it, each under Kafka's code.

A broken disk and a full one are two things: `LogDirOffline` takes its directory away for the rest
of this process's life, `DiskFull` refuses one write and leaves everything as it was.
"""

from typing import ClassVar

from odradek.model.errors import BrokerError, ErrorCode


class StorageError(BrokerError):
    """The disk could not do what was asked of it."""

    code: ClassVar[ErrorCode] = ErrorCode.KAFKA_STORAGE_ERROR


class AllDirsFailed(StorageError):
    """No log dir is left: the broker has nothing to serve from, and stops."""


class LogDirOffline(StorageError):
    """An I/O error was met in this log dir, now or earlier; nothing in it is served any more."""


class DiskFull(StorageError):
    """There was no room for a write; the log is as it was before."""


class OutOfDescriptors(StorageError):
    """The process may open no more files now; that says nothing of the disk."""


class CorruptFile(StorageError):
    """Bytes in a file that cannot be true, with the file and the position of the first of them."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(f"{path}: corrupt at byte {position}: {reason}")
        self.path = path
        self.position = position
        self.reason = reason


class LyingIndex(CorruptFile):
    """An index that names what is not there. The batches know better: it can be built anew."""


class OldFormat(StorageError):
    """Messages as they were before Kafka 0.11: whole, but not ours to read, and never cut away."""

    code = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path}: has messages of an old format (magic 0 or 1), which only Kafka reads"
        )


class OffsetOutOfRange(BrokerError):
    """An offset below the start of the log or beyond its end."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE


class OffsetsOutOfOrder(BrokerError):
    """A replicated batch whose offsets or epoch do not follow from what the log holds."""

    code = ErrorCode.CORRUPT_MESSAGE


class BatchLargerThanSegment(BrokerError):
    """A batch that no segment of this topic can hold."""

    code = ErrorCode.RECORD_LIST_TOO_LARGE


class OutOfOrderSequence(BrokerError):
    """A batch of a producer that does not follow the last one.

    `is_ahead`: others are missing before it, which may still come. Otherwise it is an old one.
    """

    code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def __init__(self, text: str, *, is_ahead: bool = False) -> None:
        super().__init__(text)
        self.is_ahead = is_ahead


class InvalidProducerEpoch(BrokerError):
    """A producer that a newer one with the same id has fenced off."""

    code = ErrorCode.INVALID_PRODUCER_EPOCH


class TransactionCoordinatorFenced(BrokerError):
    """A marker from a transaction coordinator that a newer one has replaced."""

    code = ErrorCode.TRANSACTION_COORDINATOR_FENCED


class InvalidTransactionState(BrokerError):
    """A batch outside a transaction from a producer that has one open."""

    code = ErrorCode.INVALID_TXN_STATE


class LogDirNotFound(BrokerError):
    """A directory that is not among those of this broker."""

    code = ErrorCode.LOG_DIR_NOT_FOUND


class LogDirCordoned(BrokerError):
    """A directory that takes no more logs, by an operator's word."""

    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT


class LogDirRefused(BrokerError):
    """What an operator wants of a directory cannot be done; the text says why."""

    code = ErrorCode.INVALID_REQUEST


class NameTooLongToMove(BrokerError):
    """A topic whose name leaves no room for what marks a future log."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class JobFailed(StorageError):
    """A job on a log met an error that no code foresees; the log is not served any more."""
