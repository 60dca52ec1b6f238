"""What a leader refuses, each under Kafka's code."""

from odradek.model.errors import BrokerError, ErrorCode


class NotLeaderOrFollower(BrokerError):
    """This broker does not lead the partition, or the fetching one holds no replica of it."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class NotAReplica(BrokerError):
    """The controller names a leader that is not among the replicas of the partition."""

    code = ErrorCode.INVALID_REQUEST


class FencedLeaderEpoch(BrokerError):
    """Somebody believes in an earlier leadership than this one (KIP-320)."""

    code = ErrorCode.FENCED_LEADER_EPOCH


class UnknownLeaderEpoch(BrokerError):
    """Somebody knows of a later leadership than this broker does; it shall try again."""

    code = ErrorCode.UNKNOWN_LEADER_EPOCH


class OffsetNotAvailable(BrokerError):
    """A new leader does not know yet how far its predecessor had committed (KIP-207)."""

    code = ErrorCode.OFFSET_NOT_AVAILABLE


class NotEnoughReplicas(BrokerError):
    """Fewer replicas are in sync than min.insync.replicas asks for; nothing was written."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS


class AwaitsEarlierBatch(BrokerError):
    """The batch before this one may be on its way still: it was sent to the leader of before."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS  # to be sent again, and no reason to ask who leads


class FollowerAhead(BrokerError):
    """A follower asks for what is beyond the leader's end: its log has gone another way."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE
