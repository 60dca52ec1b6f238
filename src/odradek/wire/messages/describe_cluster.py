"""DescribeCluster (key 60), versions 0 to 2, flexible from 0.

Generated from `codegen/messages/describe_cluster.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    STRING,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class DescribeClusterRequest(Request):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 60

    FIELDS = (
        Field("include_cluster_authorized_operations", BOOL),
        Field("endpoint_type", INT8, since=1, default=1),
        Field("include_fenced_brokers", BOOL, since=2),
    )

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers


class DescribeClusterBroker(Struct):
    """Of `DescribeClusterResponse.brokers`."""

    __slots__ = ("broker_id", "host", "port", "rack", "is_fenced")

    FIELDS = (
        Field("broker_id", INT32),
        Field("host", STRING),
        Field("port", INT32),
        Field("rack", STRING, default=None, null=(0, 32767)),
        Field("is_fenced", BOOL, since=2),
    )

    def __init__(
        self,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced


class DescribeClusterResponse(Response):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
    )

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 60

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("endpoint_type", INT8, since=1, default=1),
        Field("cluster_id", STRING),
        Field("controller_id", INT32, default=-1),
        Field("brokers", Array(DescribeClusterBroker)),
        Field("cluster_authorized_operations", INT32, default=-2147483648),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: Sequence[DescribeClusterBroker] = (),
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = brokers
        self.cluster_authorized_operations = cluster_authorized_operations
