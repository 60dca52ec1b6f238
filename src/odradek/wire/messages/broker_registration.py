"""BrokerRegistration (key 62), versions 0 to 4, flexible from 0.

Generated from `codegen/messages/broker_registration.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT16,
    INT32,
    INT64,
    NO_UUID,
    STRING,
    UINT16,
    UUID,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class Listener(Struct):
    """Of `BrokerRegistrationRequest.listeners`."""

    __slots__ = ("name", "host", "port", "security_protocol")

    FIELDS = (
        Field("name", STRING),
        Field("host", STRING),
        Field("port", UINT16),
        Field("security_protocol", INT16),
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol


class Feature(Struct):
    """Of `BrokerRegistrationRequest.features`."""

    __slots__ = ("name", "min_supported_version", "max_supported_version")

    FIELDS = (
        Field("name", STRING),
        Field("min_supported_version", INT16),
        Field("max_supported_version", INT16),
    )

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class BrokerRegistrationRequest(Request):
    """Versions 0 to 4, flexible from 0."""

    __slots__ = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
    )

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 0
    KEY = 62

    FIELDS = (
        Field("broker_id", INT32),
        Field("cluster_id", STRING),
        Field("incarnation_id", UUID),
        Field("listeners", Array(Listener)),
        Field("features", Array(Feature)),
        Field("rack", STRING, null=(0, 32767)),
        Field("is_migrating_zk_broker", BOOL, since=1),
        Field("log_dirs", Array(UUID), since=2, ignorable=True),
        Field("previous_broker_epoch", INT64, since=3, default=-1, ignorable=True),
    )

    def __init__(
        self,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: bytes = NO_UUID,
        listeners: Sequence[Listener] = (),
        features: Sequence[Feature] = (),
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: Sequence[bytes] = (),
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = listeners
        self.features = features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = log_dirs
        self.previous_broker_epoch = previous_broker_epoch


class BrokerRegistrationResponse(Response):
    """Versions 0 to 4, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "broker_epoch")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 0
    KEY = 62

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("broker_epoch", INT64, default=-1),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch
