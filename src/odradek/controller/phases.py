"""The life of a partition and of a replica at the controller, as tables.

A phase is what the controller has brought about or found out, in its memory only; what must
survive it is in the tree. A step that is not in the table is an error of ours or old news: the
caller skips that one and goes on with the others of its batch.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class PartitionPhase(Enum):
    """Where a partition stands."""

    NON_EXISTENT = "never made, or deleted"
    NEW = "assigned, but it has never had a leader"
    ONLINE = "led"
    OFFLINE = "its leader is gone"


class ReplicaPhase(Enum):
    """Where one replica stands."""

    NON_EXISTENT = "never made, or deleted"
    NEW = "made by an assignment; it can only follow"
    ONLINE = "alive, as a leader or a follower"
    OFFLINE = "its broker or its log dir is gone"
    DELETION_STARTED = "told to delete its log"
    DELETION_SUCCESSFUL = "its log is deleted"
    DELETION_INELIGIBLE = "its deletion has failed, or it could not be told"


_P = PartitionPhase
_R = ReplicaPhase

PARTITION_PREDECESSORS: Final[Mapping[PartitionPhase, frozenset[PartitionPhase]]] = {
    _P.NEW: frozenset({_P.NON_EXISTENT}),
    _P.ONLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
    _P.OFFLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
    _P.NON_EXISTENT: frozenset({_P.OFFLINE}),
}

REPLICA_PREDECESSORS: Final[Mapping[ReplicaPhase, frozenset[ReplicaPhase]]] = {
    _R.NEW: frozenset({_R.NON_EXISTENT}),
    _R.ONLINE: frozenset({_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE}),
    _R.OFFLINE: frozenset({_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE}),
    _R.DELETION_STARTED: frozenset({_R.OFFLINE}),
    _R.DELETION_SUCCESSFUL: frozenset({_R.DELETION_STARTED}),
    _R.DELETION_INELIGIBLE: frozenset({_R.OFFLINE, _R.DELETION_STARTED}),
    _R.NON_EXISTENT: frozenset({_R.DELETION_SUCCESSFUL}),
}
