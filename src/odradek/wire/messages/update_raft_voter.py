"""UpdateRaftVoter (key 82), version 0, flexible from 0.

Generated from `codegen/messages/update_raft_voter.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    DEFAULT,
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
    """Of `UpdateRaftVoterRequest.listeners`."""

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


class KRaftVersionFeature(Struct):
    """Of `UpdateRaftVoterRequest.kraft_version_feature`."""

    __slots__ = ("min_supported_version", "max_supported_version")

    FIELDS = (
        Field("min_supported_version", INT16),
        Field("max_supported_version", INT16),
    )

    def __init__(
        self,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class UpdateRaftVoterRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "kraft_version_feature",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 82

    FIELDS = (
        Field("cluster_id", STRING, null=(0, 32767)),
        Field("current_leader_epoch", INT32),
        Field("voter_id", INT32),
        Field("voter_directory_id", UUID),
        Field("listeners", Array(Listener)),
        Field("kraft_version_feature", KRaftVersionFeature),
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = NO_UUID,
        listeners: Sequence[Listener] = (),
        kraft_version_feature: KRaftVersionFeature = DEFAULT,
    ) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = listeners
        self.kraft_version_feature = (
            KRaftVersionFeature() if kraft_version_feature is DEFAULT else kraft_version_feature
        )


class CurrentLeader(Struct):
    """Of `UpdateRaftVoterResponse.current_leader`."""

    __slots__ = ("leader_id", "leader_epoch", "host", "port")

    FIELDS = (
        Field("leader_id", INT32, default=-1),
        Field("leader_epoch", INT32, default=-1),
        Field("host", STRING),
        Field("port", INT32),
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.host = host
        self.port = port


class UpdateRaftVoterResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "current_leader")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 82

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("current_leader", CurrentLeader, tag=0),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader = current_leader
