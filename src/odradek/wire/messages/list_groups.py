"""ListGroups (key 16), versions 0 to 5, flexible from 3.

Generated from `codegen/messages/list_groups.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, STRING, Array, Field, Request, Response, Struct


class ListGroupsRequest(Request):
    """Versions 0 to 5, flexible from 3."""

    __slots__ = ("states_filter", "types_filter")

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3
    KEY = 16

    FIELDS = (
        Field("states_filter", Array(STRING), since=4),
        Field("types_filter", Array(STRING), since=5),
    )

    def __init__(
        self,
        states_filter: Sequence[str] = (),
        types_filter: Sequence[str] = (),
    ) -> None:
        self.states_filter = states_filter
        self.types_filter = types_filter


class ListedGroup(Struct):
    """Of `ListGroupsResponse.groups`."""

    __slots__ = ("group_id", "protocol_type", "group_state", "group_type")

    FIELDS = (
        Field("group_id", STRING),
        Field("protocol_type", STRING),
        Field("group_state", STRING, since=4, ignorable=True),
        Field("group_type", STRING, since=5, ignorable=True),
    )

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type


class ListGroupsResponse(Response):
    """Versions 0 to 5, flexible from 3."""

    __slots__ = ("throttle_time_ms", "error_code", "groups")

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3
    KEY = 16

    FIELDS = (
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("error_code", INT16),
        Field("groups", Array(ListedGroup)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: Sequence[ListedGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = groups
