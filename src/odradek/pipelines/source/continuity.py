"""Whether a reader can go on from where it was: asked when it begins, and when leaders changed.

Then a topic may be another one with the same name, and a log may have been truncated below the
position. While leader epochs and topic ids stay the same, nothing of this can have happened.
"""

from odradek.pipelines.positions import Positions
from odradek.pipelines.source.offsets import SourceOffsets


class Continuity:
    """Confirms the positions of one reader when there is a reason to."""

    def __init__(self) -> None:
        self._confirmed = False

    def check(self, offsets: SourceOffsets, begin: Positions, latest: Positions) -> Positions:
        """Where reading goes on; DataLoss if it cannot and nothing may be skipped."""
        if self._confirmed and _unchanged(begin, latest):
            return begin
        found = offsets.confirmed(begin)
        self._confirmed = True
        return found


def _unchanged(begin: Positions, latest: Positions) -> bool:
    return all(
        begin.leader_epoch(it) == latest.leader_epoch(it)
        and (latest.offset(it) or 0) >= (begin.offset(it) or 0)
        for it in begin
    ) and all(
        latest.topics[name].topic_id == topic.topic_id
        for name, topic in begin.topics.items()
        if name in latest.topics
    )
