"""How Kafka names what lies in a log dir: segments, their companions, and the logs themselves.

A segment is named by its first offset, in twenty digits; a companion of it differs in the last
suffix only. A directory is `topic-partition`, with `.<32 hex>-delete`, `-future` or `-stray` behind
it when it is leaving, arriving, or unknown to the cluster.
"""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from odradek.model.ids import TopicPartition
from odradek.model.names import topic_name_fault
from odradek.model.positions import Offset

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TXN_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
SEGMENT_SUFFIXES: Final = (LOG, INDEX, TIME_INDEX, TXN_INDEX)

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"

EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
LOCK: Final = ".lock"

ROOM: Final = "room.tmp"
"""Ours: as large as what there shall be room for, for a moment."""

CORDONED: Final = "cordoned"
"""Ours: an operator wants no new log in this dir. It stands in the dir, and moves with the disk."""

MOVED_HERE: Final = "moved-here"
"""Ours, within a partition's directory: it has just taken the place of one in another log dir."""

KEPT_HERE: Final = "kept-here"
"""Ours, likewise: a move away from here did not succeed, and this log went on."""

MOVING_AWAY: Final = "moving-away"
"""Ours, likewise: one in another log dir is about to take the place of this one, or has done it."""

NEW_HERE: Final = "new-here"
"""Ours, likewise: it was made for a new replica while another log dir was offline."""

NAME_BYTES_MAX: Final = 255

_SEGMENT_FILE = re.compile(r"(\d{20})(\.[a-z]+)((?:\.[a-z]+)?)")
_DIRECTORY = re.compile(r"(.+)-(\d{1,10})(?:\.([0-9a-f]{32})-(delete|future|stray))?")


class Kind(StrEnum):
    """Why a directory carries the name that it has."""

    CURRENT = ""
    DELETE = "delete"
    FUTURE = "future"
    STRAY = "stray"


class SegmentFile(NamedTuple):
    """A file of a partition's directory, by the parts of its name."""

    base_offset: Offset
    suffix: str
    state: str  # "", or one of DELETED, CLEANED and SWAP


class LogName(NamedTuple):
    """A partition's directory, by the parts of its name."""

    partition: TopicPartition
    kind: Kind


def segment_stem(base_offset: int) -> str:
    """The name of a segment without its suffix: it sorts as the offsets do."""
    return f"{base_offset:020d}"


def parse_segment_file(name: str) -> SegmentFile | None:
    """The parts of a segment file's name; None for any other file."""
    match = _SEGMENT_FILE.fullmatch(name)
    if match is None:
        return None
    digits, suffix, state = match.groups()
    if suffix not in SEGMENT_SUFFIXES and suffix != SNAPSHOT:
        return None
    if state not in {"", DELETED, CLEANED, SWAP}:
        return None
    return SegmentFile(Offset(int(digits)), suffix, state)


def parse_log_name(name: str) -> LogName | None:
    """The parts of a log directory's name; None for a name that no log can have."""
    match = _DIRECTORY.fullmatch(name)
    if match is None:
        return None
    topic, partition, _unique, kind = match.groups()
    number = int(partition)
    shortened = kind in {"delete", "stray"}  # their topic may have been cut to fit
    if number > 0x7FFFFFFF or (topic_name_fault(topic) is not None and not shortened):
        return None
    return LogName(TopicPartition(topic, number), Kind(kind or ""))


def renamed(partition: TopicPartition, unique: str, kind: Kind) -> str:
    """The directory's name while it is leaving or arriving; `unique` is 32 hex digits.

    The name of a log that is to be deleted is cut to what a file system takes; a future log's is
    not, because its topic must be read back: the caller refuses the move where it does not fit.
    """
    assert kind is not Kind.CURRENT, partition
    assert len(unique) == 32, unique
    suffix = f"-{partition.partition}.{unique}-{kind}"
    room = NAME_BYTES_MAX - len(suffix)
    assert kind is not Kind.FUTURE or len(partition.topic) <= room, partition
    return partition.topic[:room] + suffix


def fits_future(partition: TopicPartition) -> bool:
    """Whether the name of this partition's future log would be legal."""
    return len(str(partition)) + len(f".{'0' * 32}-{Kind.FUTURE}") <= NAME_BYTES_MAX
