"""Which logs of a dir may lack records that they held: durable, until the broker clears them.

A log is *whole* unless it was made anew in the place of one that is gone, was cut in recovery, ends
below what was durable, or was written when its machine went down: then what was not flushed may be
gone without a trace. Nor is one whole that may have been away while another dir took its place. An
unclean one is not elected over a whole one, and as a leader it gives no offset again that it may
have given before. It is in another incarnation since, and stays so when it is whole again: whoever
has seen it catch up has seen this one. All of a dir's are in one small file, which Kafka ignores,
so that ten thousand cost one write.

Recovery notes that it has begun to cut before it cuts. A start that finds this note, or a file
that cannot be read, cannot tell which logs are whole: then none is.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from odradek.model.ids import TopicPartition
from odradek.model.positions import Incarnation, Offset
from odradek.storage.errors import CorruptFile
from odradek.storage.files.checkpoints import checkpoint_entries, checkpoint_number, encode_lines

UNCLEAN_LOGS: Final = "unclean-logs"
SERVED_WITHOUT: Final = "served-without"
"""Which other dirs were offline while this one served."""
BOOT: Final = "boot"
"""Which run of the operating system opened the logs last."""
RECOVERING: Final = b"recovering"
INCARNATION: Final = b"incarnation"


class Reason(StrEnum):
    """Why records may be missing."""

    MADE_ANEW = "made-anew"
    CUT = "cut"
    SHORT = "short"
    MACHINE_WENT_DOWN = "machine-went-down"
    MAYBE_OLDER = "maybe-older"
    UNKNOWN = "unknown"

    @property
    def sentence(self) -> str:
        """For the operator."""
        return _SENTENCES[self]


_SENTENCES: Final[Mapping[Reason, str]] = {
    Reason.MADE_ANEW: "the log was missing and was made anew",
    Reason.CUT: "recovery after an unclean stop cut records off",
    Reason.SHORT: "the log ends below its recovery point",
    Reason.MACHINE_WENT_DOWN: "the machine went down: what was not flushed may be gone",
    Reason.MAYBE_OLDER: "another log dir is offline, and may have a newer log of the replica",
    Reason.UNKNOWN: "a recovery was interrupted, a file of the dir is corrupt, or another is gone",
}


class Unclean(NamedTuple):
    """What is known of a log that is not whole."""

    reason: Reason
    given_upto: Offset = Offset(0)  # exclusive: offsets below may have been given before

    @property
    def is_doubt(self) -> bool:
        """Nothing need be missing: only if a dir that is offline has a newer log."""
        return self.reason is Reason.MAYBE_OLDER


class UncleanLogs(NamedTuple):
    """The file of one dir."""

    logs: Mapping[TopicPartition, Unclean]
    recovering: bool = False
    incarnations: Mapping[TopicPartition, Incarnation] = MappingProxyType({})  # also of whole logs

    def encode(self) -> bytes:
        """`topic partition given_upto reason` lines behind a version and a count.

        Those with an incarnation name it in the place of the offset.
        """
        lines = [
            f"{topic} {partition} {given_upto} {reason}"
            for (topic, partition), (reason, given_upto) in self.logs.items()
        ]
        lines += [
            f"{topic} {partition} {number} {INCARNATION.decode()}"
            for (topic, partition), number in self.incarnations.items()
        ]
        return encode_lines([RECOVERING.decode() + " - - -", *lines] if self.recovering else lines)


def decode_unclean_logs(data: bytes, path: str) -> UncleanLogs:
    """The inverse of `encode`; CorruptFile for anything else."""
    logs: dict[TopicPartition, Unclean] = {}
    incarnations: dict[TopicPartition, Incarnation] = {}
    recovering = False
    for position, fields in checkpoint_entries(data, path, width=4):
        if fields[0] == RECOVERING and fields[1] == b"-":
            recovering = True
            continue
        number = checkpoint_number(fields[1], path, position)
        given = checkpoint_number(fields[2], path, position)
        partition = TopicPartition(fields[0].decode("utf-8", "replace"), number)
        if fields[3] == INCARNATION:
            incarnations[partition] = Incarnation(given)
            continue
        try:
            reason = Reason(fields[3].decode("utf-8", "replace"))
        except ValueError as error:
            raise CorruptFile(path, position, str(error)) from None
        logs[partition] = Unclean(reason, Offset(given))
    return UncleanLogs(logs, recovering, incarnations)


def all_unknown(partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Unclean]:
    """Of none of these logs it is known whether it is whole."""
    return dict.fromkeys(partitions, Unclean(Reason.UNKNOWN))
