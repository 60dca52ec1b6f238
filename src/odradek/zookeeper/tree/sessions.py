"""Sessions: who is alive, by when they were last heard.

A session outlives its connections and the server's restarts; after a restart every one has its
whole time-out anew, since no client could be heard meanwhile. It is told by its password, which is
random and known to its client alone.

A server that was itself stopped for a while (a suspended machine, a long stall) has heard no client
either: a look that comes late lets every session be heard once more before it is closed.
"""

from dataclasses import dataclass
from typing import Final

from odradek.model.units import Millis
from odradek.zookeeper.tree.buckets import Buckets
from odradek.zookeeper.tree.transactions import SessionOpened

BUCKET: Final = Millis(250)  # how late an expiry may be
STALL: Final = Millis(1_000)  # a look at the sessions that is later than this was stalled
GRACE: Final = Millis(2_000)  # and then they have so long: what they sent meanwhile is read first

ZERO: Final = Millis(0)
_FIRST_ID: Final = 1 << 56  # ids of sessions are positive, and no client takes 0 for one


def session_id_for(zxid: int) -> int:
    """A session is numbered after the transaction that opened it: never twice, in one history."""
    return _FIRST_ID | zxid


@dataclass(slots=True, eq=False)
class Session:
    """One client, for as long as it lets itself be heard."""

    id: int
    password: bytes
    timeout: Millis
    heard: Millis = ZERO
    excused: Millis | None = None  # when it was last heard before a stall
    closed: bool = False

    @property
    def due(self) -> int:
        """The moment at which it expires, unless it is heard before."""
        return self.heard + self.timeout


class Sessions:
    """All that are open."""

    def __init__(self) -> None:
        self.open: dict[int, Session] = {}
        self._buckets: Buckets[Session] = Buckets(BUCKET)

    def replay_opened(self, change: SessionOpened) -> Session:
        """A session came into being, now or in the journal. It expires once it was `watch`ed."""
        session = Session(change.session_id, change.password, Millis(change.timeout))
        self.open[session.id] = session
        return session

    def replay_closed(self, session_id: int) -> None:
        """A session ended."""
        session = self.open.pop(session_id, None)
        if session is not None:
            session.closed = True

    def watch(self, session: Session, now: Millis) -> None:
        """From now on it must be heard within its time-out."""
        session.heard = now
        self._buckets.put(session, session.due)

    def resume(self, session: Session, timeout: Millis, now: Millis) -> None:
        """Its client is back, and asks for another time-out maybe."""
        hurries = timeout < session.timeout
        session.timeout, session.heard = timeout, now
        if hurries:  # the bucket that it lies in would come up too late
            self.watch(session, now)

    def watch_all(self, now: Millis) -> None:
        """The server has started."""
        for session in self.open.values():
            self.watch(session, now)

    def expired(self, now: Millis) -> list[Session]:
        """Those that were not heard in time."""
        first = self._buckets.next()
        stalled = first is not None and now - first > STALL
        silent = []
        for session in dict.fromkeys(self._buckets.due(now)):
            if session.closed:
                continue
            if session.due > now:
                self._buckets.put(session, session.due)
            elif stalled and session.excused != session.heard:
                session.excused = session.heard
                self._buckets.put(session, now + GRACE)
            else:
                silent.append(session)
        return silent

    def next_look(self) -> int | None:
        """When `expired` has something to look at."""
        return self._buckets.next()
