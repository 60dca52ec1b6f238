"""AddRaftVoter (key 80), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/add_raft_voter.txt` by `python -m codegen`.
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
    """Of `AddRaftVoterRequest.listeners`."""

    __slots__ = ("name", "host", "port")

    FIELDS = (
        Field("name", STRING),
        Field("host", STRING),
        Field("port", UINT16),
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class AddRaftVoterRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = (
        "cluster_id",
        "timeout_ms",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "ack_when_committed",
    )

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 80

    FIELDS = (
        Field("cluster_id", STRING, null=(0, 32767)),
        Field("timeout_ms", INT32),
        Field("voter_id", INT32),
        Field("voter_directory_id", UUID),
        Field("listeners", Array(Listener)),
        Field("ack_when_committed", BOOL, since=1, default=True),
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = NO_UUID,
        listeners: Sequence[Listener] = (),
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = listeners
        self.ack_when_committed = ack_when_committed


class AddRaftVoterResponse(Response):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 80

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767), ignorable=True),
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
