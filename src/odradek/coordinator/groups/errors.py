"""What groups refuse, and why."""

from odradek.model.errors import BrokerError, ErrorCode


class InvalidGroupId(BrokerError):
    """Membership needs a group with a name; only old clients commit under the empty one."""

    code = ErrorCode.INVALID_GROUP_ID


class UnknownMemberId(BrokerError):
    """No member of this id: it never was one, has left, or was silent for too long."""

    code = ErrorCode.UNKNOWN_MEMBER_ID


class FencedInstanceId(BrokerError):
    """Another process has taken over the group instance id."""

    code = ErrorCode.FENCED_INSTANCE_ID


class IllegalGeneration(BrokerError):
    """The member speaks of a generation that is not the current one."""

    code = ErrorCode.ILLEGAL_GENERATION


class RebalanceInProgress(BrokerError):
    """The member must join again."""

    code = ErrorCode.REBALANCE_IN_PROGRESS


class InconsistentGroupProtocol(BrokerError):
    """The member is of another kind, or knows no protocol that all the others know."""

    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class InvalidSessionTimeout(BrokerError):
    """The member wants to be silent for longer, or for less, than the broker allows."""

    code = ErrorCode.INVALID_SESSION_TIMEOUT


class GroupMaxSizeReached(BrokerError):
    """The group has as many members, or keeps as many bytes for them, as it may."""

    code = ErrorCode.GROUP_MAX_SIZE_REACHED


class GroupIdNotFound(BrokerError):
    """There is no such group."""

    code = ErrorCode.GROUP_ID_NOT_FOUND


class NonEmptyGroup(BrokerError):
    """The group has members."""

    code = ErrorCode.NON_EMPTY_GROUP


class NoProducer(BrokerError):
    """A commit within a transaction that does not say whose it is."""

    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING
