"""BrokerHeartbeat (key 63), versions 0 to 2, flexible from 0.

Generated from `codegen/messages/broker_heartbeat.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import BOOL, INT16, INT32, INT64, UUID, Array, Field, Request, Response


class BrokerHeartbeatRequest(Request):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
    )

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 63

    FIELDS = (
        Field("broker_id", INT32),
        Field("broker_epoch", INT64, default=-1),
        Field("current_metadata_offset", INT64),
        Field("want_fence", BOOL),
        Field("want_shut_down", BOOL),
        Field("offline_log_dirs", Array(UUID), since=1, tag=0),
        Field("cordoned_log_dirs", Array(UUID), since=2, default=None, null=(2, 32767), tag=1),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: Sequence[bytes] = (),
        cordoned_log_dirs: Sequence[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs


class BrokerHeartbeatResponse(Response):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "is_caught_up", "is_fenced", "should_shut_down")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 63

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("is_caught_up", BOOL),
        Field("is_fenced", BOOL, default=True),
        Field("should_shut_down", BOOL),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down
