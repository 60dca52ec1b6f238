"""A replay in pieces: one for each partition, and the pace of a task that sends one."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Final

import pyarrow as pa

from odradek.pipelines.tables.files import DataFile

COLUMNS: Final = ("key", "value", "partition", "timestamp", "headers")


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many rows were sent, and how many the topic held already."""

    sent: int
    held: int


@dataclass(frozen=True, slots=True)
class Piece:
    """One partition: the files of its rows, and where the topic's partition ended before."""

    number: int
    files: tuple[DataFile, ...]
    start: int


class Pace:
    """Keeps to a rate: a tenth of a second's rows at a time."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._began = monotonic()
        self._rows = 0

    def parts(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The batch in parts, each when its time has come."""
        if self._rate is None:
            yield batch
            return
        size = max(1, int(self._rate / 10))
        for start in range(0, batch.num_rows, size):
            part = batch.slice(start, size)
            sleep(max(0.0, self._began + self._rows / self._rate - monotonic()))
            self._rows += part.num_rows
            yield part
