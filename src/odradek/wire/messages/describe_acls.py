"""DescribeAcls (key 29), versions 0 to 3, flexible from 2.

Generated from `codegen/messages/describe_acls.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT8, INT16, INT32, STRING, Array, Field, Request, Response, Struct


class DescribeAclsRequest(Request):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 29

    FIELDS = (
        Field("resource_type_filter", INT8),
        Field("resource_name_filter", STRING, null=(0, 32767)),
        Field("pattern_type_filter", INT8, since=1, default=3),
        Field("principal_filter", STRING, null=(0, 32767)),
        Field("host_filter", STRING, null=(0, 32767)),
        Field("operation", INT8),
        Field("permission_type", INT8),
    )

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type


class AclDescription(Struct):
    """Of `DescribeAclsResource.acls`."""

    __slots__ = ("principal", "host", "operation", "permission_type")

    FIELDS = (
        Field("principal", STRING),
        Field("host", STRING),
        Field("operation", INT8),
        Field("permission_type", INT8),
    )

    def __init__(
        self,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class DescribeAclsResource(Struct):
    """Of `DescribeAclsResponse.resources`."""

    __slots__ = ("resource_type", "resource_name", "pattern_type", "acls")

    FIELDS = (
        Field("resource_type", INT8),
        Field("resource_name", STRING),
        Field("pattern_type", INT8, since=1, default=3),
        Field("acls", Array(AclDescription)),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: Sequence[AclDescription] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls = acls


class DescribeAclsResponse(Response):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "resources")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 29

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("resources", Array(DescribeAclsResource)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: Sequence[DescribeAclsResource] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = resources
