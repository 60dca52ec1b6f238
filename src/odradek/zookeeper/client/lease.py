"""Until when a session cannot have ended for any other process, by this process's own clock.

A server ends a session that it has not heard of for the time-out, so what it has answered proves
the session for that time from the moment of the *request*: the answer may have waited long for a
process that stood still. While no server can be reached there are no answers; then the tries to
reach one show that this process is awake, and the lease goes on from one to the next (an ensemble
that is away ends no session). Once it has run out only an answer brings it back.

A broker that is cut off from ZooKeeper alone cannot tell that from a ZooKeeper that is away.
"""

from odradek.model.units import Millis


class Lease:
    """Of one session."""

    __slots__ = ("_asked_at", "_missing", "_until")

    def __init__(self) -> None:
        self._until: Millis | None = None  # None: there is no session, or it is over
        self._asked_at: Millis | None = None  # the request whose answer is waited for; None: none
        self._missing = 0  # answers until that request has its own

    def holds(self, now: Millis) -> bool:
        """Whether the session lives for all who could ask."""
        return self._until is not None and now < self._until

    def asked(self, unanswered: int, now: Millis) -> None:
        """Something was sent, and so many requests have no answer, this one among them."""
        if self._asked_at is None:
            self._asked_at, self._missing = now, unanswered

    def answered(self, timeout: Millis) -> None:
        """The server has answered one of those requests."""
        if self._asked_at is None:
            return
        self._missing -= 1
        if self._missing <= 0:
            self.begin(self._asked_at, timeout)

    def begin(self, asked_at: Millis, timeout: Millis) -> None:
        """The server has answered what was sent at this moment."""
        until = Millis(asked_at + timeout)
        self._until = until if self._until is None else max(self._until, until)
        self._asked_at = None

    def disconnected(self) -> None:
        """What has no answer will get none."""
        self._asked_at = None

    def awake(self, now: Millis, until: Millis) -> None:
        """No server is there, and this process looks for one: it looks again at `until`."""
        if self.holds(now) and self._until is not None:
            self._until = max(self._until, until)

    def end(self) -> None:
        """The session is over."""
        self._until = self._asked_at = None
