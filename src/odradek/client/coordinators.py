"""Coordinators: how they are found, and how they say that they are not the one."""

from typing import Any, Final

from odradek.client.errors import Refused, check
from odradek.model.errors import ErrorCode
from odradek.ports import Address
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

COORDINATOR_VERSION: Final = 3  # one at a time
GROUP: Final = 0
TRANSACTION: Final = 1
NOT_SERVED: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def find_coordinator(key: str, kind: int = GROUP) -> FindCoordinatorRequest:
    """Of a group, or of a transactional id; any broker answers it, at COORDINATOR_VERSION."""
    return FindCoordinatorRequest(key=key, key_type=kind)


def read_coordinator(answer: FindCoordinatorResponse) -> Address:
    """Where the coordinator is."""
    check(answer.error_code, answer.error_message)
    return answer.host, answer.port


def check_coordinator(answer: Any) -> None:
    """Raises what trying again can mend, perhaps with another coordinator.

    Some answers say it for the whole, others in each group, result or partition: all say the same.
    """
    code = getattr(answer, "error_code", 0)
    if code and ErrorCode(code).retriable:
        raise Refused(code)
    row = answer
    for name in ("groups", "results", "transaction_states", "topics", "partitions"):
        rows = getattr(row, name, None)
        if rows:
            row = rows[0]
            code = getattr(row, "error_code", 0)
            if code in NOT_SERVED:
                raise Refused(code)
