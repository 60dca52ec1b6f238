"""ControllerRegistration (key 70), version 0, flexible from 0.

Generated from `codegen/messages/controller_registration.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT16,
    INT32,
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
    """Of `ControllerRegistrationRequest.listeners`."""

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
    """Of `ControllerRegistrationRequest.features`."""

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


class ControllerRegistrationRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("controller_id", "incarnation_id", "zk_migration_ready", "listeners", "features")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 70

    FIELDS = (
        Field("controller_id", INT32),
        Field("incarnation_id", UUID),
        Field("zk_migration_ready", BOOL),
        Field("listeners", Array(Listener)),
        Field("features", Array(Feature)),
    )

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = NO_UUID,
        zk_migration_ready: bool = False,
        listeners: Sequence[Listener] = (),
        features: Sequence[Feature] = (),
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners = listeners
        self.features = features


class ControllerRegistrationResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 70

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
