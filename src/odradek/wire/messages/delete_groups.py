"""DeleteGroups (key 42), versions 0 to 2, flexible from 2.

Generated from `codegen/messages/delete_groups.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, STRING, Array, Field, Request, Response, Struct


class DeleteGroupsRequest(Request):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("groups_names",)

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 42

    FIELDS = (Field("groups_names", Array(STRING)),)

    def __init__(
        self,
        groups_names: Sequence[str] = (),
    ) -> None:
        self.groups_names = groups_names


class DeletableGroupResult(Struct):
    """Of `DeleteGroupsResponse.results`."""

    __slots__ = ("group_id", "error_code")

    FIELDS = (
        Field("group_id", STRING),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        group_id: str = "",
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code


class DeleteGroupsResponse(Response):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("throttle_time_ms", "results")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 42

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("results", Array(DeletableGroupResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: Sequence[DeletableGroupResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = results
