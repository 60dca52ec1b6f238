"""What a client is told: a broker's refusals, and the three ways to lose the records at a position.

How connections end is `odradek.peers.errors`. A reader that goes on from a position kept elsewhere
(a checkpoint, a group) must know why the records there cannot be read: they are older than the log
keeps (expired), another leader's log went on without them (truncated), or the topic of that name is
another one now (recreated).
"""

from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicId, TopicPartition, topic_id_text


class Refused(BrokerError):
    """What a broker answered, if it was an error: its own sentence, or else the code's."""

    def __init__(self, code: int, text: str | None = None, *, about: str = "") -> None:
        self.code = ErrorCode(code)  # type: ignore[misc]  # each has its own
        said = text or self.code.sentence
        self.told = f"{about}: {said}" if about else said
        super().__init__(f"{self.told.rstrip('.')} ({self.code.name})")


class NoLeader(BrokerError):
    """A partition that has no leader now, or does not exist."""

    code = ErrorCode.LEADER_NOT_AVAILABLE


class CorruptRecords(Refused):
    """A batch fails its checksum at every broker that was asked for it."""

    def __init__(self, partition: TopicPartition, offset: int, broker: int) -> None:
        text = (
            f"the batch there fails its checksum at broker {broker}, "
            "and no other broker has led the partition instead"
        )
        about = f"{partition} at offset {offset}"
        super().__init__(ErrorCode.CORRUPT_MESSAGE, text, about=about)


class UnreadableLog(Refused):
    """A coordinator cannot read its log: a person has to mend that, not another attempt."""

    def __init__(self, broker: int, of: str) -> None:
        text = f"broker {broker} cannot read the log of some {of}"
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, text)


class DataLost(BrokerError):
    """The records at a position cannot be read any more."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(self, partition: TopicPartition, offset: int, text: str) -> None:
        self.partition = partition
        self.offset = offset
        super().__init__(f"{partition} at offset {offset}: {text}")


class OffsetExpired(DataLost):
    """The log begins later: retention or DeleteRecords removed what was there."""

    def __init__(self, partition: TopicPartition, offset: int, log_start_offset: int) -> None:
        self.log_start_offset = log_start_offset
        super().__init__(partition, offset, f"the log begins at offset {log_start_offset} now")


class LogTruncated(DataLost):
    """The log ends earlier, or has other records from `diverges_at` on than those already read."""

    def __init__(self, partition: TopicPartition, offset: int, diverges_at: int) -> None:
        self.diverges_at = diverges_at
        text = f"the log was truncated, its records differ from offset {diverges_at} on"
        super().__init__(partition, offset, text)


class TopicRecreated(DataLost):
    """The topic of this name has another id: it was deleted and created again."""

    code = ErrorCode.INCONSISTENT_TOPIC_ID

    def __init__(
        self, partition: TopicPartition, offset: int, expected: TopicId, found: TopicId
    ) -> None:
        self.expected, self.found = expected, found
        ids = f"its id was {topic_id_text(expected)} and is {topic_id_text(found)}"
        super().__init__(partition, offset, f"the topic was deleted and created again, {ids}")


def check(code: int, text: str | None = None, *, about: str = "") -> None:
    """Raises what an answer says, if it is an error."""
    if code:
        raise Refused(code, text, about=about)
