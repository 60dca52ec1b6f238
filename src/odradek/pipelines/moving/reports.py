"""What a run tells while it runs: how many records became what, and where table and topics end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from odradek.model.ids import TopicPartition
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.positions import Positions


class Unaccounted(PipelineError):
    """Records were read that are neither written nor dropped nor dead. Nothing is committed."""


@dataclass(frozen=True, slots=True)
class Account:
    """What became of records. Every batch balances, or is not committed."""

    read: int = 0
    written: int = 0
    dropped: int = 0
    dead: int = 0
    bytes: int = 0
    """Of the files that were written."""
    skipped: int = 0
    """Offsets that were gone or damaged, where the run may go on without them."""
    changed: int = 0
    """Bytes of the changes that were merged into files, where each key has one row."""

    def __add__(self, other: "Account") -> "Account":
        return Account(
            self.read + other.read,
            self.written + other.written,
            self.dropped + other.dropped,
            self.dead + other.dead,
            self.bytes + other.bytes,
            self.skipped + other.skipped,
            self.changed + other.changed,
        )

    @property
    def rewritten(self) -> float | None:
        """Bytes written for each byte that changed; None: no row was ever written again."""
        return self.bytes / self.changed if self.changed else None

    def check(self) -> None:
        """`Unaccounted` unless read = written + dropped + dead."""
        if self.read != self.written + self.dropped + self.dead:
            raise Unaccounted(
                f"{self.read} records were read, but {self.written} written, {self.dropped} "
                f"dropped and {self.dead} dead: the batch is not committed"
            )


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One batch, after its commit."""

    number: int  # of this run, from 1 on
    version: int  # of the table
    account: Account
    files: int
    start: Positions
    end: Positions
    latest: Positions  # where the topics ended when the batch was planned
    newest_ms: Mapping[TopicPartition, int]  # timestamp of the newest record of each partition
    duration_ms: int


Listener = Callable[[BatchReport], None]
"""What a run calls after each commit. It must not raise."""


def unheard(report: BatchReport) -> None:
    """For a caller that does not listen."""
