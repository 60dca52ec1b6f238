"""When to try again: after errors that this can mend, with growing pauses, up to a bound."""

from typing import Final

from odradek.client.errors import DataLost, UnreadableLog
from odradek.model.errors import BrokerError
from odradek.model.units import SECOND, Millis

PATIENCE: Final = Millis(30 * SECOND)
PAUSE_MIN: Final = Millis(20)
PAUSE_MAX: Final = Millis(500)
assert PAUSE_MIN <= PAUSE_MAX <= PATIENCE, "somebody who is patient tries more than once"


class Retries:
    """One attempt after the other, until `patience` has passed since the last progress."""

    __slots__ = ("_give_up", "_patience", "_pause")

    def __init__(self, now: Millis, patience: Millis = PATIENCE) -> None:
        self._patience = patience
        self._give_up = Millis(now + patience)
        self._pause = PAUSE_MIN

    def progress(self, now: Millis) -> None:
        """Something was achieved: patience begins anew."""
        self._give_up = Millis(now + self._patience)
        self._pause = PAUSE_MIN

    def is_over(self, now: Millis) -> bool:
        """Whether patience has ended."""
        return now >= self._give_up

    def pause_after(self, error: BrokerError, now: Millis) -> Millis:
        """How long to wait before the next attempt; raises the error if there is to be none."""
        final = isinstance(error, DataLost | UnreadableLog) or not error.code.retriable
        if final or self.is_over(now):
            raise error
        pause = self._pause
        self._pause = min(Millis(2 * pause), PAUSE_MAX)
        return pause
