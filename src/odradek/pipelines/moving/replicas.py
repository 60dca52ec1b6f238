"""One copy of a partition, batch by batch: from a log dir that is given, or from its broker.

A broker is asked with Fetch, follower or leader. In a directory the segments are read as they lie;
nothing is written, so it may be that of a running broker.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from odradek.client.blocking_connection import BlockingConnection
from odradek.model.errors import BrokerError, CorruptBatch, ErrorCode
from odradek.model.ids import NO_TOPIC_ID, TopicPartition, topic_id_from_text
from odradek.model.positions import NO_LEADER_EPOCH, Offset
from odradek.pipelines.errors import PipelineError
from odradek.records.batch import Buffer, check_crc, headers
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
NO_BATCH: Final = "no batch"
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
            for seen in walked(
                file.read_bytes(), int(file.stem), str(file.relative_to(self.log_dir))
            ):
                if seen.last >= start and seen.base < end:
                    yield seen

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
        connection = BlockingConnection((self.host, self.port), "odradek-audit")
        try:
            at, deadline = start, monotonic() + LAG_SECONDS_MAX
            while at < end and monotonic() < deadline:
                data = self._fetch(connection, of, at)
                for seen in walked(data, at, "", is_cut=True):
                    if seen.last < at:
                        continue
                    if seen.base < end:
                        yield seen
                    at = seen.last + 1
                    deadline = monotonic() + LAG_SECONDS_MAX
                    if seen.fault.startswith(NO_BATCH):
                        return
        finally:
            connection.close()

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
        try:
            answer = connection.ask(request, BY_NAME if by_name else None)
        except BrokerError as error:
            raise PipelineError(f"{self}: {error}") from error
        if not answer.responses:
            return b""
        found = answer.responses[0].partitions[0]
        code = ErrorCode(found.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            return b""
        if code:
            raise PipelineError(f"{self}: {of}: {code.sentence}")
        data: Buffer = found.records or b""
        return data


Replica = InDirectory | AtBroker


def walked(data: Buffer, first: int, file: str, *, is_cut: bool = False) -> Iterator[Seen]:
    """Every batch of a segment or of a response; the last one says what follows if it is none."""
    at, base = 0, first
    try:
        for position, header in headers(data, cut_tail=is_cut):
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
                f"{file} byte {position}" if file else "",
                fault,
            )
    except CorruptBatch as error:
        yield Seen(
            base, base, -1, 0, 0, f"{file} byte {at}" if file else "", f"{NO_BATCH}: {error}"
        )


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
