"""RemoveRaftVoter (key 81), version 0, flexible from 0.

Generated from `codegen/messages/remove_raft_voter.txt` by `python -m codegen`.
"""

from odradek.wire.schema import INT16, INT32, NO_UUID, STRING, UUID, Field, Request, Response


class RemoveRaftVoterRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("cluster_id", "voter_id", "voter_directory_id")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 81

    FIELDS = (
        Field("cluster_id", STRING, null=(0, 32767)),
        Field("voter_id", INT32),
        Field("voter_directory_id", UUID),
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: bytes = NO_UUID,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id


class RemoveRaftVoterResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 81

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
