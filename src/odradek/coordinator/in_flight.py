"""Which keys have records that are decided but not yet committed."""

from collections.abc import Iterable

from odradek.coordinator.decision import Entry, Key


class InFlight:
    """Counts records by key, and keys by their group or transactional id."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, dict[Key, int]] = {}  # every count is above 0, no dict is empty

    def add(self, records: Iterable[Entry]) -> None:
        """They are on their way."""
        for entry in records:
            counts = self._counts.setdefault(entry.key.subject, {})
            counts[entry.key] = counts.get(entry.key, 0) + 1

    def remove(self, records: Iterable[Entry]) -> None:
        """They have arrived, or never will."""
        for entry in records:
            counts = self._counts[entry.key.subject]
            counts[entry.key] -= 1
            if not counts[entry.key]:
                del counts[entry.key]
                if not counts:
                    del self._counts[entry.key.subject]

    def __contains__(self, key: Key) -> bool:
        return key in self._counts.get(key.subject, ())

    def keys(self, subject: str) -> tuple[Key, ...]:
        """Those of one group or transactional id, in the order in which they set out."""
        return tuple(self._counts.get(subject, ()))

    def subjects(self) -> tuple[str, ...]:
        """Whose records are on their way."""
        return tuple(self._counts)
