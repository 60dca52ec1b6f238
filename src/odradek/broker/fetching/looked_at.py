"""What a fetch has found so far."""

from odradek.broker.fetching.checked_reads import ReadRange
from odradek.broker.fetching.fetch_sessions import Slot
from odradek.broker.fetching.partition_reading import Found
from odradek.broker.fetching.sought_reads import SoughtRead


class LookedAt:
    """What one look at the partitions of a fetch has brought."""

    __slots__ = ("_bytes_min", "cold", "is_urgent", "partial", "rows", "size", "sought")

    def __init__(self, bytes_min: int) -> None:
        self.size = 0
        self.is_urgent = False  # an error, for instance: it is told at once
        self.rows: list[Found] = []  # for the answer
        self.partial: list[Found] = []  # those with records
        self.cold: list[ReadRange] = []  # not in the page cache, or asked for again
        self.sought: dict[Slot, SoughtRead] = {}  # for which memory does not know the way
        self._bytes_min = bytes_min

    @property
    def is_enough(self) -> bool:
        """Whether to answer now."""
        return self.is_urgent or self.size >= self._bytes_min
