"""The small text files of a log dir, in Kafka's formats: values in, text out, and back.

A checkpoint has its version in the first line, the count of its entries in the second, and one
entry in each further line. A count that does not match is a file cut in half, and refused whole:
half a checkpoint of recovery points would say that the rest were flushed never, or always.

Kafka's formats have no checksum, and a bit that turns in an offset leaves an offset. So ours stand
where Kafka does not look: behind the last entry of a checkpoint, whose fields any white space
divides, thirty-two spaces and tabs are the bits of a CRC-32C of all that is before them; in a
`partition.metadata` it is a third line. A file without one, which Kafka or an earlier version has
written, is believed as before.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from crc32c import crc32c

from odradek.model.ids import (
    NO_TOPIC_ID,
    BrokerId,
    TopicId,
    TopicPartition,
    topic_id_from_text,
    topic_id_text,
)
from odradek.model.names import topic_name_fault
from odradek.model.positions import NO_BROKER_EPOCH, BrokerEpoch, LeaderEpoch, Offset
from odradek.storage.errors import CorruptFile

VERSION: Final = 0
_NUMBER: Final = re.compile(rb"\d{1,19}")
_NUMBER_MAX: Final = (1 << 63) - 1
_SUM: Final = re.compile(rb"[ \t]{32}\n?\Z")
_FROM_BITS: Final = bytes.maketrans(b"10", b"\t ")


class EpochStart(NamedTuple):
    """The offset at which a leader epoch began."""

    leader_epoch: LeaderEpoch
    start_offset: Offset


def encode_offsets(offsets: Mapping[TopicPartition, Offset]) -> bytes:
    """An offset checkpoint: `topic partition offset` lines."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    return encode_lines(lines)


def decode_offsets(data: bytes, path: str) -> dict[TopicPartition, Offset]:
    """The inverse of `encode_offsets`; CorruptFile for anything else."""
    offsets: dict[TopicPartition, Offset] = {}
    for position, fields in checkpoint_entries(data, path, width=3):
        name = fields[0].decode("utf-8", "replace")
        if topic_name_fault(name) is not None:
            raise CorruptFile(path, position, f"{name[:64]!r} is no topic")
        number = checkpoint_number(fields[1], path, position, high=0x7FFFFFFF)
        partition = TopicPartition(name, number)
        if partition in offsets:
            raise CorruptFile(path, position, f"{partition} stands twice")
        offsets[partition] = Offset(checkpoint_number(fields[2], path, position))
    return offsets


def encode_epochs(epochs: Iterable[EpochStart]) -> bytes:
    """A `leader-epoch-checkpoint`: `epoch start_offset` lines."""
    return encode_lines([f"{epoch} {start}" for epoch, start in epochs])


def decode_epochs(data: bytes, path: str) -> list[EpochStart]:
    """The inverse of `encode_epochs`; both columns rise, or the file is corrupt."""
    epochs: list[EpochStart] = []
    for position, fields in checkpoint_entries(data, path, width=2):
        entry = EpochStart(
            LeaderEpoch(checkpoint_number(fields[0], path, position, high=0x7FFFFFFF)),
            Offset(checkpoint_number(fields[1], path, position)),
        )
        if epochs and not (
            entry.leader_epoch > epochs[-1].leader_epoch
            and entry.start_offset > epochs[-1].start_offset
        ):
            raise CorruptFile(path, position, f"epoch {entry.leader_epoch} is out of order")
        epochs.append(entry)
    return epochs


def encode_partition_metadata(topic_id: TopicId) -> bytes:
    """A `partition.metadata`: of which topic, among all that ever had this name, the log is."""
    text = f"version: {VERSION}\ntopic_id: {topic_id_text(topic_id)}\n".encode()
    return text + b"crc32c: %08x" % crc32c(text)


def decode_partition_metadata(data: bytes, path: str) -> TopicId:
    """The inverse of `encode_partition_metadata`; an all-zero id is no id."""
    text, line, checksum = data.partition(b"crc32c: ")
    if line and checksum != b"%08x" % crc32c(text):
        raise CorruptFile(path, len(text), "its checksum does not match")
    values = dict(re.findall(r"^(\w+):\s+(\S+)\s*$", data.decode("utf-8", "replace"), re.MULTILINE))
    if values.get("version") != str(VERSION):
        raise CorruptFile(path, 0, f"version {values.get('version')} is not known")
    try:
        topic_id = topic_id_from_text(values.get("topic_id", ""))
    except ValueError as error:
        raise CorruptFile(path, 0, str(error)) from None
    if topic_id == NO_TOPIC_ID:
        raise CorruptFile(path, 0, "the topic id is all zeros")
    return topic_id


def is_named_surely(data: bytes) -> bool:
    """Whether a checksum covers the topic's id in a `partition.metadata` that could be read."""
    return b"crc32c: " in data


def encode_clean_shutdown(broker_epoch: BrokerEpoch) -> bytes:
    """A `.kafka_cleanshutdown`: its being there says that every log was closed in good order."""
    return json.dumps({"version": VERSION, "brokerEpoch": broker_epoch}).encode()


def decode_clean_shutdown(data: bytes) -> BrokerEpoch:
    """The epoch under which the broker stopped; older markers are empty and name none."""
    try:
        value = json.loads(data)
    except ValueError:
        return NO_BROKER_EPOCH
    epoch = value.get("brokerEpoch") if isinstance(value, dict) else None
    return BrokerEpoch(epoch) if isinstance(epoch, int) else NO_BROKER_EPOCH


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """A `meta.properties`: whose directory this is. What we do not know in it is kept."""

    broker_id: BrokerId | None = None
    cluster_id: str | None = None
    others: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """As Java's Properties would write it, without the comment that holds the time."""
        values = {"version": "0", **self.others}
        if self.broker_id is not None:
            values["broker.id"] = str(self.broker_id)
        if self.cluster_id is not None:
            values["cluster.id"] = self.cluster_id
        return "".join(f"{key}={value}\n" for key, value in sorted(values.items())).encode()

    @classmethod
    def decode(cls, data: bytes, path: str) -> "MetaProperties":
        """Reads version 0, as brokers with ZooKeeper write it; CorruptFile for another."""
        values: dict[str, str] = {}
        for line in data.decode("utf-8", "replace").splitlines():
            key, separator, value = line.strip().partition("=")
            if separator and not key.startswith(("#", "!")):
                values[key.strip()] = value.strip().replace("\\:", ":").replace("\\=", "=")
        if values.get("version") != "0":
            raise CorruptFile(path, 0, f"version {values.get('version')} is not known")
        broker_id = values.pop("broker.id", None)
        if broker_id is not None and not re.fullmatch(r"\d{1,9}", broker_id):
            raise CorruptFile(path, 0, f"{broker_id[:64]!r} is no broker id")
        return cls(
            broker_id=None if broker_id is None else BrokerId(int(broker_id)),
            cluster_id=values.pop("cluster.id", None),
            others=values,
        )


def encode_lines(lines: list[str]) -> bytes:
    """A file of this form: its version, the count of its entries, and the entries."""
    text = "\n".join([str(VERSION), str(len(lines)), *lines]).encode()
    return text + (_sum_of(text) if lines else b"") + b"\n"


def _sum_of(text: bytes) -> bytes:
    return f"{crc32c(text):032b}".encode().translate(_FROM_BITS)


def has_sum(data: bytes) -> bool:
    """Whether a checksum covers the entries of a checkpoint."""
    return _SUM.search(data) is not None


def _check_sum(data: bytes, path: str) -> None:
    """Behind the last entry is a checksum that matches, or nothing: then it is not ours."""
    found = _SUM.search(data)
    if found is not None and found.group()[:32] != _sum_of(data[: found.start()]):
        raise CorruptFile(path, found.start(), "its checksum does not match")
    if found is None and data.rstrip(b"\n")[-1:].isspace():
        raise CorruptFile(path, len(data), "its checksum is cut off")


def checkpoint_entries(data: bytes, path: str, *, width: int) -> Iterator[tuple[int, list[bytes]]]:
    """Each entry's position in the file and its fields, once the frame around them holds."""
    lines = data.split(b"\n")
    if lines[0] != b"%d" % VERSION:
        raise CorruptFile(path, 0, f"version {lines[0][:20]!r} is not known")
    position = len(lines[0]) + 1
    count = checkpoint_number(lines[1] if len(lines) > 1 else b"", path, position)
    entries = lines[2:-1] if len(lines) > 2 and not lines[-1] else lines[2:]
    if len(entries) != count:
        raise CorruptFile(path, position, f"{count} entries are promised, {len(entries)} are here")
    _check_sum(data, path)
    position += len(lines[1]) + 1
    for entry in entries:
        fields = entry.split()
        if len(fields) != width:
            raise CorruptFile(path, position, f"{width} fields are needed, {len(fields)} are here")
        yield position, fields
        position += len(entry) + 1


def checkpoint_number(text: bytes, path: str, position: int, *, high: int = _NUMBER_MAX) -> int:
    """A field of an entry that is a number; CorruptFile if it is none."""
    if _NUMBER.fullmatch(text) is None or int(text) > high:
        raise CorruptFile(path, position, f"{text[:20]!r} is not a number up to {high}")
    return int(text)
