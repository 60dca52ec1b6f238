"""LeaderAndIsr (key 4), versions 0 to 7, flexible from 4.

Generated from `codegen/messages/leader_and_isr.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    INT64,
    NO_UUID,
    STRING,
    UUID,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class MemberIncarnation(Struct):
    """Of `LeaderAndIsrPartitionState.incarnations`."""

    __slots__ = ("broker_id", "incarnation")

    FIELDS = (
        Field("broker_id", INT32),
        Field("incarnation", INT64),
    )

    def __init__(
        self,
        broker_id: int = 0,
        incarnation: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.incarnation = incarnation


class LeaderAndIsrPartitionState(Struct):
    """Of `LeaderAndIsrRequest.ungrouped_partition_states` and `LeaderAndIsrTopicState.partition_states`."""

    __slots__ = (
        "topic_name",
        "partition_index",
        "controller_epoch",
        "leader",
        "leader_epoch",
        "isr",
        "partition_epoch",
        "replicas",
        "adding_replicas",
        "removing_replicas",
        "is_new",
        "leader_recovery_state",
        "must_be_whole",
        "eligible_min_isr",
        "incarnations",
        "eligible",
    )

    FIELDS = (
        Field("topic_name", STRING, until=1, ignorable=True),
        Field("partition_index", INT32),
        Field("controller_epoch", INT32),
        Field("leader", INT32),
        Field("leader_epoch", INT32),
        Field("isr", Array(INT32)),
        Field("partition_epoch", INT32),
        Field("replicas", Array(INT32)),
        Field("adding_replicas", Array(INT32), since=3, ignorable=True),
        Field("removing_replicas", Array(INT32), since=3, ignorable=True),
        Field("is_new", BOOL, since=1, ignorable=True),
        Field("leader_recovery_state", INT8, since=6),
        Field("must_be_whole", BOOL, since=6, tag=10000, ignorable=True),
        Field("eligible_min_isr", INT32, since=6, tag=10001, ignorable=True),
        Field("incarnations", Array(MemberIncarnation), since=6, tag=10002, ignorable=True),
        Field("eligible", Array(INT32), since=6, tag=10003, ignorable=True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        controller_epoch: int = 0,
        leader: int = 0,
        leader_epoch: int = 0,
        isr: Sequence[int] = (),
        partition_epoch: int = 0,
        replicas: Sequence[int] = (),
        adding_replicas: Sequence[int] = (),
        removing_replicas: Sequence[int] = (),
        is_new: bool = False,
        leader_recovery_state: int = 0,
        must_be_whole: bool = False,
        eligible_min_isr: int = 0,
        incarnations: Sequence[MemberIncarnation] = (),
        eligible: Sequence[int] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr = isr
        self.partition_epoch = partition_epoch
        self.replicas = replicas
        self.adding_replicas = adding_replicas
        self.removing_replicas = removing_replicas
        self.is_new = is_new
        self.leader_recovery_state = leader_recovery_state
        self.must_be_whole = must_be_whole
        self.eligible_min_isr = eligible_min_isr
        self.incarnations = incarnations
        self.eligible = eligible


class LeaderAndIsrTopicState(Struct):
    """Of `LeaderAndIsrRequest.topic_states`."""

    __slots__ = ("topic_name", "topic_id", "partition_states")

    FIELDS = (
        Field("topic_name", STRING),
        Field("topic_id", UUID, since=5, ignorable=True),
        Field("partition_states", Array(LeaderAndIsrPartitionState)),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = NO_UUID,
        partition_states: Sequence[LeaderAndIsrPartitionState] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partition_states = partition_states


class LeaderAndIsrLiveLeader(Struct):
    """Of `LeaderAndIsrRequest.live_leaders`."""

    __slots__ = ("broker_id", "host_name", "port")

    FIELDS = (
        Field("broker_id", INT32),
        Field("host_name", STRING),
        Field("port", INT32),
    )

    def __init__(
        self,
        broker_id: int = 0,
        host_name: str = "",
        port: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.host_name = host_name
        self.port = port


class LeaderAndIsrRequest(Request):
    """Versions 0 to 7, flexible from 4."""

    __slots__ = (
        "controller_id",
        "is_kraft_controller",
        "controller_epoch",
        "broker_epoch",
        "type",
        "ungrouped_partition_states",
        "topic_states",
        "live_leaders",
    )

    VERSIONS = range(0, 8)
    FLEXIBLE_FROM = 4
    KEY = 4

    FIELDS = (
        Field("controller_id", INT32),
        Field("is_kraft_controller", BOOL, since=7),
        Field("controller_epoch", INT32),
        Field("broker_epoch", INT64, since=2, default=-1, ignorable=True),
        Field("type", INT8, since=5),
        Field("ungrouped_partition_states", Array(LeaderAndIsrPartitionState), until=1),
        Field("topic_states", Array(LeaderAndIsrTopicState), since=2),
        Field("live_leaders", Array(LeaderAndIsrLiveLeader)),
    )

    def __init__(
        self,
        controller_id: int = 0,
        is_kraft_controller: bool = False,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        type: int = 0,
        ungrouped_partition_states: Sequence[LeaderAndIsrPartitionState] = (),
        topic_states: Sequence[LeaderAndIsrTopicState] = (),
        live_leaders: Sequence[LeaderAndIsrLiveLeader] = (),
    ) -> None:
        self.controller_id = controller_id
        self.is_kraft_controller = is_kraft_controller
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.type = type
        self.ungrouped_partition_states = ungrouped_partition_states
        self.topic_states = topic_states
        self.live_leaders = live_leaders


class LeaderAndIsrPartitionError(Struct):
    """Of `LeaderAndIsrResponse.partition_errors` and `LeaderAndIsrTopicError.partition_errors`."""

    __slots__ = (
        "topic_name",
        "partition_index",
        "error_code",
        "is_unclean",
        "incarnation",
        "is_leading",
    )

    FIELDS = (
        Field("topic_name", STRING, until=4, ignorable=True),
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("is_unclean", BOOL, since=6, tag=10000, ignorable=True),
        Field("incarnation", INT64, since=6, tag=10001, ignorable=True),
        Field("is_leading", BOOL, since=6, tag=10002, ignorable=True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        error_code: int = 0,
        is_unclean: bool = False,
        incarnation: int = 0,
        is_leading: bool = False,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.error_code = error_code
        self.is_unclean = is_unclean
        self.incarnation = incarnation
        self.is_leading = is_leading


class LeaderAndIsrTopicError(Struct):
    """Of `LeaderAndIsrResponse.topics`."""

    __slots__ = ("topic_id", "partition_errors")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partition_errors", Array(LeaderAndIsrPartitionError)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partition_errors: Sequence[LeaderAndIsrPartitionError] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partition_errors = partition_errors


class LeaderAndIsrResponse(Response):
    """Versions 0 to 7, flexible from 4."""

    __slots__ = ("error_code", "partition_errors", "topics")

    VERSIONS = range(0, 8)
    FLEXIBLE_FROM = 4
    KEY = 4

    FIELDS = (
        Field("error_code", INT16),
        Field("partition_errors", Array(LeaderAndIsrPartitionError), until=4),
        Field("topics", Array(LeaderAndIsrTopicError), since=5),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_errors: Sequence[LeaderAndIsrPartitionError] = (),
        topics: Sequence[LeaderAndIsrTopicError] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_errors = partition_errors
        self.topics = topics
