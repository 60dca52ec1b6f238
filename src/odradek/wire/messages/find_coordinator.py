"""FindCoordinator (key 10), versions 0 to 6, flexible from 3.

Generated from `codegen/messages/find_coordinator.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT8, INT16, INT32, STRING, Array, Field, Request, Response, Struct


class FindCoordinatorRequest(Request):
    """Versions 0 to 6, flexible from 3."""

    __slots__ = ("key", "key_type", "coordinator_keys")

    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 3
    KEY = 10

    FIELDS = (
        Field("key", STRING, until=3),
        Field("key_type", INT8, since=1),
        Field("coordinator_keys", Array(STRING), since=4),
    )

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: Sequence[str] = (),
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = coordinator_keys


class Coordinator(Struct):
    """Of `FindCoordinatorResponse.coordinators`."""

    __slots__ = ("key", "node_id", "host", "port", "error_code", "error_message")

    FIELDS = (
        Field("key", STRING),
        Field("node_id", INT32),
        Field("host", STRING),
        Field("port", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767), ignorable=True),
    )

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message


class FindCoordinatorResponse(Response):
    """Versions 0 to 6, flexible from 3."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "node_id",
        "host",
        "port",
        "coordinators",
    )

    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 3
    KEY = 10

    FIELDS = (
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("error_code", INT16, until=3),
        Field("error_message", STRING, since=1, until=3, null=(1, 3), ignorable=True),
        Field("node_id", INT32, until=3),
        Field("host", STRING, until=3),
        Field("port", INT32, until=3),
        Field("coordinators", Array(Coordinator), since=4),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: Sequence[Coordinator] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = coordinators
