"""How many bytes of certain replicas are copied in a second: a move leaves room for clients.

An operator names replicas by topic, and a rate by broker, one for what it sends as a leader and one
for what it fetches as a follower. Only a replica that has fallen behind counts and is held back:
one that is in sync goes on, or acks=all would wait for it. (Kafka counts those as well, so that a
move never ends while producers alone fill the rate.)

What was too much is waited for; what was not used in a second may be used in the next one, because
a fetch looks at most every `replica.fetch.wait.max.ms`.
"""

from collections.abc import Callable
from typing import Final

from odradek.model.ids import TopicPartition
from odradek.model.units import SECOND, Millis

LOOK_AGAIN: Final = Millis(SECOND)
"""The longest pause: a rate that was raised meanwhile counts from then on."""


class ReplicationThrottle:
    """One direction of one broker."""

    def __init__(self, names: Callable[[TopicPartition], bool]) -> None:
        self.rate: int | None = None  # bytes in a second; None: no bound
        self._names = names  # whether the operator has named this broker's replica
        self._owed = 0  # thousandths of a byte above the rate, as of `_as_of`; negative: unused
        self._as_of = Millis(0)

    def applies_to(self, partition: TopicPartition) -> bool:
        """Whether copying this partition is bounded."""
        return self.rate is not None and self._names(partition)

    def note(self, count: int, now: Millis) -> None:
        """So many bytes are copied."""
        self._settle(now)
        self._owed += count * SECOND

    def free_at(self, now: Millis) -> Millis | None:
        """When to look again; None: more may be copied now."""
        self._settle(now)
        if self.rate is None or self._owed <= 0:
            return None
        return Millis(now + min(-(-self._owed // max(self.rate, 1)), LOOK_AGAIN))

    def _settle(self, now: Millis) -> None:
        rate = self.rate or 0
        paid = rate * (now - self._as_of)
        self._owed, self._as_of = max(self._owed - paid, -rate * SECOND), now
