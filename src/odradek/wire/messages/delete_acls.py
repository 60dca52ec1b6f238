"""DeleteAcls (key 31), versions 0 to 3, flexible from 2.

Generated from `codegen/messages/delete_acls.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT8, INT16, INT32, STRING, Array, Field, Request, Response, Struct


class DeleteAclsFilter(Struct):
    """Of `DeleteAclsRequest.filters`."""

    __slots__ = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )

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


class DeleteAclsRequest(Request):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("filters",)

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 31

    FIELDS = (Field("filters", Array(DeleteAclsFilter)),)

    def __init__(
        self,
        filters: Sequence[DeleteAclsFilter] = (),
    ) -> None:
        self.filters = filters


class DeleteAclsMatchingAcl(Struct):
    """Of `DeleteAclsFilterResult.matching_acls`."""

    __slots__ = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("resource_type", INT8),
        Field("resource_name", STRING),
        Field("pattern_type", INT8, since=1, default=3),
        Field("principal", STRING),
        Field("host", STRING),
        Field("operation", INT8),
        Field("permission_type", INT8),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class DeleteAclsFilterResult(Struct):
    """Of `DeleteAclsResponse.filter_results`."""

    __slots__ = ("error_code", "error_message", "matching_acls")

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("matching_acls", Array(DeleteAclsMatchingAcl)),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: Sequence[DeleteAclsMatchingAcl] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls = matching_acls


class DeleteAclsResponse(Response):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("throttle_time_ms", "filter_results")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 31

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("filter_results", Array(DeleteAclsFilterResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: Sequence[DeleteAclsFilterResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = filter_results
