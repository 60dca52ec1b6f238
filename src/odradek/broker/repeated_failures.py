"""What is tried again and again and fails for the same reason is told once a minute.

A line for each subject and reason at once, the next after a minute, with how many were left out
between. What succeeds is forgotten: its next failure is told at once. `network.line_limit` is for
what clients cause, whose subjects are without number.
"""

from dataclasses import dataclass
from typing import Final

from odradek.model.units import MINUTE, Millis

PAUSE: Final = MINUTE


@dataclass(slots=True)
class _Told:
    at: Millis
    left_out: int = 0


class RepeatedFailures:
    """Of one kind of event."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, _Told]] = {}  # by subject, then by reason

    def due(self, subject: str, reason: str, now: Millis) -> dict[str, int] | None:
        """Fields for the line that is to be written; None: it was told lately."""
        told = self._told.setdefault(subject, {})
        before = told.get(reason)
        if before is not None and now - before.at < PAUSE:
            before.left_out += 1
            return None
        told[reason] = _Told(now)
        return {"left_out": before.left_out} if before is not None and before.left_out else {}

    def forget(self, subject: str) -> None:
        """It has succeeded, or is not tried any more."""
        self._told.pop(subject, None)
