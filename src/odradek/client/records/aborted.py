"""Which batches belong to aborted transactions, as the answer to a fetch lists them.

The list holds, for each producer, where its aborted transactions begin. Each ends with the control
batch that says so, which may lie in a later answer: that one then lists the transaction again. A
marker may end nothing, because it came twice: it leaves alone what begins behind it.
"""

from collections.abc import Iterable

from odradek.records.batch import BatchHeader
from odradek.records.control import end_marker_in


class AbortedTransactions:
    """The aborted transactions that reach into one answer; told every batch of it in order."""

    def __init__(self, rows: Iterable[tuple[int, int]] = ()) -> None:
        """Each row is a producer and the offset with which its transaction begins."""
        self._starts: dict[int, list[int]] = {}
        for producer_id, first_offset in sorted(rows, key=lambda row: row[1]):
            self._starts.setdefault(producer_id, []).append(first_offset)

    def hold(self, header: BatchHeader) -> bool:
        """Whether the records of this batch are to be left out."""
        starts = self._starts.get(header.producer_id) if header.is_transactional else None
        return bool(starts) and starts is not None and starts[0] <= header.base_offset

    def on_control(self, batch: memoryview, header: BatchHeader) -> None:
        """A control batch: if it ends an aborted transaction, that one is over."""
        starts = self._starts.get(header.producer_id)
        if starts and starts[0] <= header.base_offset:
            marker = end_marker_in(batch, header)
            if marker is not None and not marker.committed:
                starts.pop(0)
