"""IncrementalAlterConfigs (key 44), versions 0 to 1, flexible from 1.

Generated from `codegen/messages/incremental_alter_configs.txt` by `python -m codegen`.
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


class AlterableConfig(Struct):
    """Of `AlterConfigsResource.configs`."""

    __slots__ = ("name", "config_operation", "value")

    FIELDS = (
        Field("name", STRING),
        Field("config_operation", INT8),
        Field("value", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        name: str = "",
        config_operation: int = 0,
        value: str | None = "",
    ) -> None:
        self.name = name
        self.config_operation = config_operation
        self.value = value


class AlterConfigsResource(Struct):
    """Of `IncrementalAlterConfigsRequest.resources`."""

    __slots__ = ("resource_type", "resource_name", "configs")

    FIELDS = (
        Field("resource_type", INT8),
        Field("resource_name", STRING),
        Field("configs", Array(AlterableConfig)),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: Sequence[AlterableConfig] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = configs


class IncrementalAlterConfigsRequest(Request):
    """Versions 0 to 1, flexible from 1."""

    __slots__ = ("resources", "validate_only")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1
    KEY = 44

    FIELDS = (
        Field("resources", Array(AlterConfigsResource)),
        Field("validate_only", BOOL),
    )

    def __init__(
        self,
        resources: Sequence[AlterConfigsResource] = (),
        validate_only: bool = False,
    ) -> None:
        self.resources = resources
        self.validate_only = validate_only


class AlterConfigsResourceResponse(Struct):
    """Of `IncrementalAlterConfigsResponse.responses`."""

    __slots__ = ("error_code", "error_message", "resource_type", "resource_name")

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("resource_type", INT8),
        Field("resource_name", STRING),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name


class IncrementalAlterConfigsResponse(Response):
    """Versions 0 to 1, flexible from 1."""

    __slots__ = ("throttle_time_ms", "responses")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1
    KEY = 44

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("responses", Array(AlterConfigsResourceResponse)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: Sequence[AlterConfigsResourceResponse] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = responses
