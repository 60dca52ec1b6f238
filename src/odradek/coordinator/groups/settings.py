"""What operators decide about groups, and the bounds that are ours."""

from dataclasses import dataclass
from typing import Final, Self

from odradek.config.broker import BrokerConfig
from odradek.config.rows import groups as rows
from odradek.model.units import MIB, MINUTE, SECOND, Bytes, Millis

NEW_MEMBER_TIMEOUT_MS: Final = Millis(5 * MINUTE)
"""How long a new member may wait in JoinGroup: it has no id yet to send heartbeats with."""
NOBODY_JOINED_WAIT_MS: Final = Millis(SECOND)
"""Minimum wait when a rebalance ends while only absent static members are left."""
PENDING_MEMBERS_MAX: Final = 1 << 12
"""Members of one group that were given an id and have not come back with it."""
LIVE_GROUPS_MAX: Final = 1 << 17
"""Groups of one partition that have members, or members to come."""
GROUP_BYTES_MAX: Final = Bytes(32 * MIB)
"""What the members of one group may have us keep: far above what a record can hold."""
CLIENT_ID_KEPT_CHARS: Final = 255
"""How much of a client's name goes into member ids: they must fit a string of the wire."""
SWEEP_GROUPS: Final = 256
"""How many groups are searched for expired offsets in one turn."""
SWEEP_PAUSE_MS: Final = Millis(20)
"""How long others have their turns in between."""


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The rows of the settings table that groups read, with their defaults."""

    session_timeout_min: Millis = rows.GROUP_MIN_SESSION_TIMEOUT_MS.default
    session_timeout_max: Millis = rows.GROUP_MAX_SESSION_TIMEOUT_MS.default
    initial_rebalance_delay: Millis = rows.GROUP_INITIAL_REBALANCE_DELAY_MS.default
    members_max: int = rows.GROUP_MAX_SIZE.default
    metadata_chars_max: int = rows.OFFSET_METADATA_MAX_BYTES.default
    retention: Millis = rows.OFFSETS_RETENTION_MINUTES.default
    retention_check_interval: Millis = rows.OFFSETS_RETENTION_CHECK_INTERVAL_MS.default
    commit_timeout: Millis = rows.OFFSETS_COMMIT_TIMEOUT_MS.default

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """What this broker was told."""
        return cls(
            session_timeout_min=config[rows.GROUP_MIN_SESSION_TIMEOUT_MS],
            session_timeout_max=config[rows.GROUP_MAX_SESSION_TIMEOUT_MS],
            initial_rebalance_delay=config[rows.GROUP_INITIAL_REBALANCE_DELAY_MS],
            members_max=config[rows.GROUP_MAX_SIZE],
            metadata_chars_max=config[rows.OFFSET_METADATA_MAX_BYTES],
            retention=config[rows.OFFSETS_RETENTION_MINUTES],
            retention_check_interval=config[rows.OFFSETS_RETENTION_CHECK_INTERVAL_MS],
            commit_timeout=config[rows.OFFSETS_COMMIT_TIMEOUT_MS],
        )
