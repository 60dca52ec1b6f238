"""The driver's questions: where partitions begin and end, and whether positions still hold.

Open it, ask, close it: it holds connections. `latest` and `earliest` never make a topic.
"""

from types import TracebackType
from typing import Self

from odradek.pipelines.positions import Positions
from odradek.pipelines.source.options import SourceOptions


class SourceOffsets:
    """The partitions that the options choose, as the cluster has them now."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""

    def starting(self) -> Positions:
        """Where the options say that a reader begins."""
        raise NotImplementedError

    def ending(self) -> Positions:
        """Where the options say that a batch ends."""
        raise NotImplementedError

    def earliest(self) -> Positions:
        """The first offset of each partition."""
        raise NotImplementedError

    def latest(self) -> Positions:
        """The end of each partition."""
        raise NotImplementedError

    def confirmed(self, positions: Positions) -> Positions:
        """The same positions, if reading can go on from them.

        DataLoss names the cluster or topic that is another one, the partition that was truncated
        below the position, or whose records before it are gone. With `fail_on_data_loss` false the
        answer is the next position from which it can go on.
        """
        raise NotImplementedError
