"""What the embedded server may be told, and its bounds: ZooKeeper's names and defaults in mind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from odradek.model.units import KIB, MIB, MINUTE, SECOND, Bytes, Millis
from odradek.zookeeper.protocol.jute import PACKET_BYTES_MAX
from odradek.zookeeper.server.writes import TreeLimits

GREETING_BYTES_MAX: Final = Bytes(KIB)  # a connect request has 45 bytes, and a password
PACKET_BYTES_HIGH: Final = Bytes(32 * MIB)  # jute.maxbuffer can be no more than this

assert GREETING_BYTES_MAX < PACKET_BYTES_MAX, "who says nothing yet is trusted with less"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How one server behaves."""

    tick_time: Millis = Millis(2 * SECOND)  # tickTime: a session lasts 2 to 20 of them
    session_timeout_min: Millis | None = None
    session_timeout_max: Millis | None = None
    packet_bytes_max: Bytes = Bytes(PACKET_BYTES_MAX)  # jute.maxbuffer
    connections_max: int = 4_000  # maxCnxns
    connections_per_host_max: int = 60  # maxClientCnxns; 0 is no bound
    sessions_max: int = 100_000
    watches_max: int = 5_000_000  # of all connections
    watches_per_connection_max: int = 1_000_000  # no session can take them from all the others
    identities_max: int = 64  # of one connection
    requests_waiting_max: int = 1_000  # of one connection, before its requests are left unread
    waiting_bytes_max: Bytes = Bytes(4 * MIB)  # likewise: they are held until they are durable
    unsent_bytes_max: Bytes = Bytes(MIB)  # likewise: what it has not read of its answers
    unsent_bytes_fatal: Bytes = Bytes(64 * MIB)  # events that a client never reads end it here
    multi_read_bytes_max: Bytes = Bytes(4 * MIB)  # a small one may name a large node many times
    greeting_timeout: Millis = Millis(10 * SECOND)  # who has not asked for a session by then goes
    container_interval: Millis = MINUTE  # how often empty containers are looked for
    snapshot_entries: int = 50_000  # of the journal behind one: replaying them takes half a second
    snapshot_bytes: Bytes = Bytes(16 * MIB)  # likewise; a multi is one entry and may be large
    four_letter_words: frozenset[str] = frozenset({"srvr"})  # 4lw.commands.whitelist; "*" is all
    super_digest: str | None = None
    users: Mapping[str, str] | None = field(default=None, repr=False)  # of SASL: their passwords
    requires_names: bool = False  # whether a client must have proven one to ask for anything
    tree: TreeLimits = field(default_factory=TreeLimits)

    def negotiated(self, wanted: int) -> Millis:
        """The time-out that a session gets."""
        low = 2 * self.tick_time if self.session_timeout_min is None else self.session_timeout_min
        high = 20 * self.tick_time if self.session_timeout_max is None else self.session_timeout_max
        return Millis(min(max(wanted, low), high))

    def __post_init__(self) -> None:
        """Bounds know each other."""
        largest = max(self.packet_bytes_max, self.unsent_bytes_max)
        assert largest < self.unsent_bytes_fatal, (
            "one answer more than is waited for ends no connection"
        )
