"""ListConfigResources (key 74), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/list_config_resources.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT8, INT16, INT32, STRING, Array, Field, Request, Response, Struct


class ListConfigResourcesRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("resource_types",)

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 74

    FIELDS = (Field("resource_types", Array(INT8), since=1),)

    def __init__(
        self,
        resource_types: Sequence[int] = (),
    ) -> None:
        self.resource_types = resource_types


class ConfigResource(Struct):
    """Of `ListConfigResourcesResponse.config_resources`."""

    __slots__ = ("resource_name", "resource_type")

    FIELDS = (
        Field("resource_name", STRING),
        Field("resource_type", INT8, since=1, default=16, ignorable=True),
    )

    def __init__(
        self,
        resource_name: str = "",
        resource_type: int = 16,
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type


class ListConfigResourcesResponse(Response):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "config_resources")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 74

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("config_resources", Array(ConfigResource)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: Sequence[ConfigResource] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = config_resources
