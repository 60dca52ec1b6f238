"""Who this client says it is: given once by the owner, told to every connection anew."""

from collections import deque
from collections.abc import Iterator

from odradek.zookeeper.client.pipeline import Submission
from odradek.zookeeper.protocol.codes import AUTH_XID, MalformedPacket
from odradek.zookeeper.protocol.jute_requests import Auth, framed_request


class Credentials:
    """The identities of a client, and who waits for the server to have accepted one."""

    def __init__(self) -> None:
        self._waiting: dict[Auth, list[Submission]] = {}
        self._presented: deque[Auth] = deque()  # on this connection, and not answered yet

    def add(self, auth: Auth, waiter: Submission) -> None:
        """One more identity. It is answered when a connection has it."""
        self._waiting.setdefault(auth, []).append(waiter)

    def present(self, auth: Auth) -> bytes:
        """Tells it to the connection."""
        self._presented.append(auth)
        return framed_request(AUTH_XID, auth)

    def present_all(self) -> bytes:
        """Tells all of them to a new connection."""
        return b"".join([self.present(auth) for auth in self._waiting])

    def accepted(self) -> list[Submission]:
        """The server took the oldest that it was told; those who waited for it."""
        return self._answered_by(self._next())

    def refused(self) -> list[Submission]:
        """The server did not take it: it is forgotten, so that the others can be tried again."""
        auth = self._next()
        waiters = self._answered_by(auth)
        self._waiting.pop(auth, None)
        return waiters

    def lost(self) -> None:
        """The connection is gone, and with it what it was told."""
        self._presented.clear()

    def waiters(self) -> Iterator[Submission]:
        """All who wait; they are to be told that the session is over."""
        for auth in self._waiting:
            yield from self._answered_by(auth)

    def _next(self) -> Auth:
        if not self._presented:
            raise MalformedPacket("an answer to credentials that were not sent")
        return self._presented.popleft()

    def _answered_by(self, auth: Auth) -> list[Submission]:
        waiters = self._waiting.get(auth, [])
        if waiters:
            self._waiting[auth] = []
        return waiters
