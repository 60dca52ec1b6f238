"""Errors of a coordinator, and how a failed append is reported to clients."""

from types import MappingProxyType
from typing import Final

from odradek.model.errors import BrokerError, ErrorCode


class NotCoordinator(BrokerError):
    """This broker does not lead the partition that the group or transactional id belongs to."""

    code = ErrorCode.NOT_COORDINATOR


class CoordinatorLoading(BrokerError):
    """The partition's log is still being read."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class CoordinatorUnreadable(BrokerError):
    """The partition's log cannot be read, here or on any other broker that could lead."""

    code = ErrorCode.KAFKA_STORAGE_ERROR


class CoordinatorBusy(BrokerError):
    """As many requests wait here as may; the code is the one that makes a client try again here."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


AFTER_FAILED_APPEND: Final = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""Clients know nothing of internal topics: they hear of the coordinator instead, as in Kafka."""


def after_failed_append(code: ErrorCode) -> ErrorCode:
    """What a client is told when the log refused the records behind its answer."""
    return AFTER_FAILED_APPEND.get(code, code)
