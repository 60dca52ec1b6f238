"""The follower's side of an incremental fetch session (KIP-227): its id and its epoch.

A full request (epoch 0) asks for a session that holds what it names. In a session a request names
only what has changed since the last one, and the epochs of its requests rise by one.
"""

from typing import Final, NamedTuple

from odradek.model.errors import ErrorCode

NO_SESSION: Final = 0
FULL: Final = 0
"""The session epoch of a request that begins anew; with an id it closes that session."""
EPOCH_MAX: Final = 0x7FFF_FFFF


class SessionTurn(NamedTuple):
    """What a request says of its session."""

    session_id: int
    epoch: int


class FollowerSession:
    """One session with one leader. At most one full request is on its way, and then no other."""

    __slots__ = ("_epoch", "_id", "has_room", "is_open")

    def __init__(self) -> None:
        self.has_room = True  # the leader opened a session when it was last asked for one
        self.is_open = False  # a request may name only what has changed: the epoch is not FULL
        self._id = NO_SESSION
        self._epoch = FULL

    def next_turn(self) -> SessionTurn:
        """For the next request."""
        turn = SessionTurn(self._id, self._epoch)
        if self._epoch != FULL:
            self._epoch = 1 if self._epoch == EPOCH_MAX else self._epoch + 1
        return turn

    def belongs(self, turn: SessionTurn) -> bool:
        """Whether the answer to that request is still about this session."""
        return turn.epoch == FULL or (self.is_open and turn.session_id == self._id)

    def on_answer(self, turn: SessionTurn, session_id: int) -> None:
        """A request was answered without an error; a leader without room opens no session."""
        if turn.epoch == FULL:
            self._id = session_id
            self.has_room = self.is_open = session_id != NO_SESSION
            self._epoch = 1 if self.is_open else FULL

    def on_error(self, error: ErrorCode) -> None:
        """The leader refused a request: the next one is a full one."""
        if error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self._id = NO_SESSION
        self.close()

    def close(self) -> None:
        """What the leader holds of it is not known any more: the next request begins another."""
        self._epoch = FULL
        self.is_open = False
