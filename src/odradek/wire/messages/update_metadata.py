"""UpdateMetadata (key 6), versions 0 to 8, flexible from 6.

Generated from `codegen/messages/update_metadata.txt` by `python -m codegen`.
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


class IncarnationOfMember(Struct):
    """Of `UpdateMetadataPartitionState.incarnations`."""

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


class UpdateMetadataPartitionState(Struct):
    """Of `UpdateMetadataRequest.ungrouped_partition_states` and `UpdateMetadataTopicState.partition_states`."""

    __slots__ = (
        "topic_name",
        "partition_index",
        "controller_epoch",
        "leader",
        "leader_epoch",
        "isr",
        "zk_version",
        "replicas",
        "offline_replicas",
        "incarnations",
    )

    FIELDS = (
        Field("topic_name", STRING, until=4, ignorable=True),
        Field("partition_index", INT32),
        Field("controller_epoch", INT32),
        Field("leader", INT32),
        Field("leader_epoch", INT32),
        Field("isr", Array(INT32)),
        Field("zk_version", INT32),
        Field("replicas", Array(INT32)),
        Field("offline_replicas", Array(INT32), since=4, ignorable=True),
        Field("incarnations", Array(IncarnationOfMember), since=6, tag=10000, ignorable=True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        controller_epoch: int = 0,
        leader: int = 0,
        leader_epoch: int = 0,
        isr: Sequence[int] = (),
        zk_version: int = 0,
        replicas: Sequence[int] = (),
        offline_replicas: Sequence[int] = (),
        incarnations: Sequence[IncarnationOfMember] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr = isr
        self.zk_version = zk_version
        self.replicas = replicas
        self.offline_replicas = offline_replicas
        self.incarnations = incarnations


class UpdateMetadataTopicState(Struct):
    """Of `UpdateMetadataRequest.topic_states`."""

    __slots__ = ("topic_name", "topic_id", "partition_states")

    FIELDS = (
        Field("topic_name", STRING),
        Field("topic_id", UUID, since=7, ignorable=True),
        Field("partition_states", Array(UpdateMetadataPartitionState)),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = NO_UUID,
        partition_states: Sequence[UpdateMetadataPartitionState] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partition_states = partition_states


class UpdateMetadataEndpoint(Struct):
    """Of `UpdateMetadataBroker.endpoints`."""

    __slots__ = ("port", "host", "listener", "security_protocol")

    FIELDS = (
        Field("port", INT32),
        Field("host", STRING),
        Field("listener", STRING, since=3, ignorable=True),
        Field("security_protocol", INT16),
    )

    def __init__(
        self,
        port: int = 0,
        host: str = "",
        listener: str = "",
        security_protocol: int = 0,
    ) -> None:
        self.port = port
        self.host = host
        self.listener = listener
        self.security_protocol = security_protocol


class UpdateMetadataBroker(Struct):
    """Of `UpdateMetadataRequest.live_brokers`."""

    __slots__ = ("id", "v0_host", "v0_port", "endpoints", "rack")

    FIELDS = (
        Field("id", INT32),
        Field("v0_host", STRING, until=0, ignorable=True),
        Field("v0_port", INT32, until=0, ignorable=True),
        Field("endpoints", Array(UpdateMetadataEndpoint), since=1, ignorable=True),
        Field("rack", STRING, since=2, null=(2, 32767), ignorable=True),
    )

    def __init__(
        self,
        id: int = 0,
        v0_host: str = "",
        v0_port: int = 0,
        endpoints: Sequence[UpdateMetadataEndpoint] = (),
        rack: str | None = "",
    ) -> None:
        self.id = id
        self.v0_host = v0_host
        self.v0_port = v0_port
        self.endpoints = endpoints
        self.rack = rack


class UpdateMetadataRequest(Request):
    """Versions 0 to 8, flexible from 6."""

    __slots__ = (
        "controller_id",
        "is_kraft_controller",
        "type",
        "controller_epoch",
        "broker_epoch",
        "ungrouped_partition_states",
        "topic_states",
        "live_brokers",
    )

    VERSIONS = range(0, 9)
    FLEXIBLE_FROM = 6
    KEY = 6

    FIELDS = (
        Field("controller_id", INT32),
        Field("is_kraft_controller", BOOL, since=8),
        Field("type", INT8, since=8, tag=0),
        Field("controller_epoch", INT32),
        Field("broker_epoch", INT64, since=5, default=-1, ignorable=True),
        Field("ungrouped_partition_states", Array(UpdateMetadataPartitionState), until=4),
        Field("topic_states", Array(UpdateMetadataTopicState), since=5),
        Field("live_brokers", Array(UpdateMetadataBroker)),
    )

    def __init__(
        self,
        controller_id: int = 0,
        is_kraft_controller: bool = False,
        type: int = 0,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        ungrouped_partition_states: Sequence[UpdateMetadataPartitionState] = (),
        topic_states: Sequence[UpdateMetadataTopicState] = (),
        live_brokers: Sequence[UpdateMetadataBroker] = (),
    ) -> None:
        self.controller_id = controller_id
        self.is_kraft_controller = is_kraft_controller
        self.type = type
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.ungrouped_partition_states = ungrouped_partition_states
        self.topic_states = topic_states
        self.live_brokers = live_brokers


class UpdateMetadataResponse(Response):
    """Versions 0 to 8, flexible from 6."""

    __slots__ = ("error_code",)

    VERSIONS = range(0, 9)
    FLEXIBLE_FROM = 6
    KEY = 6

    FIELDS = (Field("error_code", INT16),)

    def __init__(
        self,
        error_code: int = 0,
    ) -> None:
        self.error_code = error_code
