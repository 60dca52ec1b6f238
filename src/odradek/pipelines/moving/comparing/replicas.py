"""One copy of a partition, batch by batch: from a log dir that is given, or from its broker.

A broker is asked with Fetch, follower or leader. In a directory the segments are read as they lie;
nothing is written, so it may be that of a running broker.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from odradek.client.blocking.connection import BlockingConnection
from odradek.client.errors import Refused
from odradek.model.errors import BrokerError, CorruptBatch, ErrorCode
from odradek.model.ids import NO_TOPIC_ID, TopicPartition, topic_id_from_text
from odradek.model.positions import NO_LEADER_EPOCH, Offset
from odradek.records.batch import MAGIC, MAGIC_AT, Buffer, check_crc, headers, read_header
from odradek.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
NO_BATCH: Final = "no batch"
UNREADABLE: Final = "cannot be read"
CLEANED: Final = "cleaner-offset-checkpoint"
FETCH_BYTES: Final = 8 << 20
FETCH_WAIT_MS: Final = 200
LAG_SECONDS_MAX: Final = 10
"""How long a follower may need to learn what is committed."""
BY_NAME: Final = 12  # the newest version of Fetch that names topics


class Seen(NamedTuple):
    """A batch, or why there is none at this place."""

    base: int
    last: int
    leader_epoch: int
    size: int
    crc: int
    place: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class InDirectory:
    """The copy in a log dir."""

    broker: str
    log_dir: Path

    def __str__(self) -> str:
        return f"broker {self.broker}, {self.log_dir}"

    def batches(self, of: TopicPartition, start: int, end: int) -> Iterator[Seen]:
        """From the batch that holds `start` on."""
        folder = self.log_dir / f"{of.topic}-{of.partition}"
        files = sorted(folder.glob("*.log"))
        for number, file in enumerate(files):
            behind = files[number + 1] if number + 1 < len(files) else None
            if int(file.stem) >= end or (behind is not None and int(behind.stem) <= start):
                continue
            name = str(file.relative_to(self.log_dir))
            until = end if behind is None else int(behind.stem)
            try:
                data = file.read_bytes()
            except OSError as error:
                yield unread(max(start, int(file.stem)), until, name, error)
                continue
            for seen in walked(data, int(file.stem), name, until):
                if seen.last >= start and seen.base < end:
                    yield seen

    def folder(self, of: TopicPartition) -> str:  # noqa: ARG002
        """Nothing more than what is said of each fault."""
        return ""

    def start(self, of: TopicPartition) -> int:
        """The first offset of the oldest segment."""
        files = sorted((self.log_dir / f"{of.topic}-{of.partition}").glob("*.log"))
        return max(
            int(files[0].stem) if files else 0, self._noted("log-start-offset-checkpoint", of)
        )

    def committed(self, of: TopicPartition) -> int:
        """Up to where this copy knows that all in-sync ones are equal."""
        return self._noted(HIGH_WATERMARKS, of)

    def cleaned(self, of: TopicPartition) -> int:
        """Below this offset compaction may have made the copy another one than the others."""
        return self._noted(CLEANED, of)

    def partitions(self) -> list[TopicPartition]:
        """What lies in the log dir."""
        found = []
        for folder in sorted(self.log_dir.iterdir()):
            topic, dash, number = folder.name.rpartition("-")
            if folder.is_dir() and dash and topic and number.isdigit():
                found.append(TopicPartition(topic, int(number)))
        return found

    def _noted(self, name: str, of: TopicPartition) -> int:
        return _checkpoint(self.log_dir / name).get(of, 0)


@dataclass(frozen=True, slots=True)
class AtBroker:
    """The copy that a broker serves."""

    broker: str
    host: str
    port: int
    topic_id: str = ""

    def __str__(self) -> str:
        return f"broker {self.broker}, {self.host}:{self.port}"

    def batches(self, of: TopicPartition, start: int, end: int) -> Iterator[Seen]:
        """As far as the broker gives them; it may have to learn first that they are committed."""
        at, deadline = start, monotonic() + LAG_SECONDS_MAX
        try:
            with closing(BlockingConnection((self.host, self.port), "odradek-audit")) as connection:
                while at < end and monotonic() < deadline:
                    data = self._fetch(connection, of, at)
                    for seen in walked(data, at, "", end, is_cut=True):
                        if seen.last < at:
                            continue
                        if seen.base < end:
                            yield seen
                        at = seen.last + 1
                        deadline = monotonic() + LAG_SECONDS_MAX
        except BrokerError as error:
            yield unread(at, end, "", error)

    def folder(self, of: TopicPartition) -> str:
        """Where the broker has the copy; nothing if it does not say it."""
        request = DescribeLogDirsRequest([DescribableLogDirTopic(of.topic, [of.partition])])
        try:
            with closing(BlockingConnection((self.host, self.port), "odradek-audit")) as connection:
                answer = connection.ask(request)
        except BrokerError:
            return ""
        name = f"{of.topic}-{of.partition}"
        return next((f"{it.log_dir}/{name}" for it in answer.results if it.topics), "")

    def _fetch(self, connection: BlockingConnection, of: TopicPartition, at: int) -> Buffer:
        topic_id = topic_id_from_text(self.topic_id) if self.topic_id else NO_TOPIC_ID
        row = FetchPartition(
            of.partition, NO_LEADER_EPOCH, Offset(at), partition_max_bytes=FETCH_BYTES
        )
        request = FetchRequest(
            max_wait_ms=FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            topics=[FetchTopic(of.topic, topic_id, [row])],
        )
        by_name = topic_id == NO_TOPIC_ID
        answer = connection.ask(request, BY_NAME if by_name else None)
        if not answer.responses:
            return b""
        found = answer.responses[0].partitions[0]
        code = ErrorCode(found.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            return b""
        if code:
            raise Refused(code, code.sentence)
        data: Buffer = found.records or b""
        return data


@dataclass(frozen=True, slots=True)
class Away:
    """The copy of a broker that is not in the cluster now."""

    broker: str

    def __str__(self) -> str:
        return f"broker {self.broker}"

    def batches(self, of: TopicPartition, start: int, end: int) -> Iterator[Seen]:  # noqa: ARG002
        """None can be read."""
        yield unread(start, end, "", "the broker is away")

    def folder(self, of: TopicPartition) -> str:  # noqa: ARG002
        """It cannot be asked."""
        return ""


Replica = InDirectory | AtBroker | Away


def unread(start: int, end: int, place: str, why: object) -> Seen:
    """In the place of batches that cannot be read, up to and without `end`."""
    return Seen(start, max(start, end - 1), -1, 0, 0, place, f"{UNREADABLE}: {why}")


def walked(
    data: Buffer, first: int, file: str, until: int, *, is_cut: bool = False
) -> Iterator[Seen]:
    """Every batch of a segment or of a response, which ends at the offset `until`.

    What is no batch is one fault, up to the next place that holds one.
    """
    at, base = 0, first
    while at < len(data):
        try:
            for position, header in headers(data, at, cut_tail=is_cut):
                at, base = position + header.size, header.next_offset
                fault = ""
                try:
                    check_crc(data, header, position)
                except CorruptBatch as error:
                    fault = str(error)
                yield Seen(
                    header.base_offset,
                    header.last_offset,
                    header.leader_epoch,
                    header.size,
                    header.crc,
                    _place(file, position),
                    fault,
                )
        except CorruptBatch as error:
            behind = _next_batch(data, at, base)
            end = until if behind is None else behind[1]
            fault = f"{NO_BATCH}: {error}"
            yield Seen(base, max(base, end - 1), -1, 0, 0, _place(file, at), fault)
            if behind is None:
                return
            at, base = behind
        else:
            return


def _place(file: str, position: int) -> str:
    return f"{file} byte {position}" if file else ""


def _next_batch(data: Buffer, at: int, base: int) -> tuple[int, int] | None:
    """Where the next batch of later offsets begins whose checksum is right, and its offset."""
    whole, found = bytes(data), at
    while (found := whole.find(MAGIC, found + MAGIC_AT + 1)) >= 0:
        found -= MAGIC_AT
        try:
            header = read_header(whole, found)
            check_crc(whole, header, found)
        except CorruptBatch:
            continue
        if header.base_offset >= base:
            return found, header.base_offset
    return None


def _checkpoint(path: Path) -> Mapping[TopicPartition, int]:
    """Offsets by partition, as log dirs keep them; nothing where there is no such file."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()[2:]
    except FileNotFoundError:
        return {}
    found = {}
    for line in lines:
        topic, number, offset = line.split()
        found[TopicPartition(topic, int(number))] = int(offset)
    return found
