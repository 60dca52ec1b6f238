"""All that may strike.

Two of them strike at a time; two that each destroy a copy do not, nor one of these while a single
copy may acknowledge: that would lose what was promised to two.
"""

from typing import Final

from tests.live.pairs import changes, faults
from tests.live.pairs.faults import Fault

DISKS: Final = (faults.DiskHangs, faults.DiskFails, faults.DiskIsReplaced)
TO_SERVERS: Final[tuple[type[Fault], ...]] = (
    faults.Dies,
    faults.Stops,
    faults.Hangs,
    faults.IsCutOff,
    faults.IsAlone,
    faults.HearsNoBroker,
    faults.IsNotHeard,
    faults.LosesZookeeper,
    faults.TwoDoNotMeet,
    faults.Rots,
    faults.ZookeeperIsAway,
    faults.ZookeeperIsCutOff,
)
FAULTS: Final[tuple[type[Fault], ...]] = (
    *TO_SERVERS,
    changes.MinIsrIsRaised,
    changes.MinIsrIsLowered,
    changes.SegmentsAreSmall,
    changes.Moves,
    changes.IsCancelled,
    changes.Grows,
    changes.Shrinks,
    changes.RecordsAreDeleted,
    *DISKS,
)
