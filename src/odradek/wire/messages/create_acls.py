"""CreateAcls (key 30), versions 0 to 3, flexible from 2.

Generated from `codegen/messages/create_acls.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT8, INT16, INT32, STRING, Array, Field, Request, Response, Struct


class AclCreation(Struct):
    """Of `CreateAclsRequest.creations`."""

    __slots__ = (
        "resource_type",
        "resource_name",
        "resource_pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    FIELDS = (
        Field("resource_type", INT8),
        Field("resource_name", STRING),
        Field("resource_pattern_type", INT8, since=1, default=3),
        Field("principal", STRING),
        Field("host", STRING),
        Field("operation", INT8),
        Field("permission_type", INT8),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class CreateAclsRequest(Request):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("creations",)

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 30

    FIELDS = (Field("creations", Array(AclCreation)),)

    def __init__(
        self,
        creations: Sequence[AclCreation] = (),
    ) -> None:
        self.creations = creations


class AclCreationResult(Struct):
    """Of `CreateAclsResponse.results`."""

    __slots__ = ("error_code", "error_message")

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message


class CreateAclsResponse(Response):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("throttle_time_ms", "results")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 30

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("results", Array(AclCreationResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: Sequence[AclCreationResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = results
