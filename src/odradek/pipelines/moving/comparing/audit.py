"""Replicas held against each other: below what is committed they must be equal, byte for byte.

A follower stores the batches of its leader as they are, so batches are compared by offset, size,
checksum and leader epoch. Left out is what compaction has cleaned: each copy does that by itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from odradek.model.ids import TopicPartition
from odradek.pipelines.connections import client_of, sentences
from odradek.pipelines.errors import NothingCompared, PipelineError
from odradek.pipelines.moving.comparing.replicas import (
    NO_BATCH,
    UNREADABLE,
    AtBroker,
    Away,
    InDirectory,
    Replica,
    Seen,
)
from odradek.pipelines.moving.jobs import run_tasks
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions

MISSING: Final = "is missing"
CORRUPT: Final = "is corrupt"
DIFFERENT: Final = "differs from the other replicas"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one copy; batches behind each other with one fault are one."""

    kind: str
    topic: str
    partition: int
    first: int
    last: int
    replica: str
    place: str = ""
    detail: str = ""

    def __str__(self) -> str:
        place = f", {self.place}" if self.place else ""
        detail = f" ({self.detail})" if self.detail else ""
        return (
            f"{self.topic}-{self.partition} offsets {self.first} to {self.last}: the copy of "
            f"{self.replica}{place} {self.kind}{detail}"
        )


@dataclass(frozen=True, slots=True)
class Audited:
    """What was compared, and what was found."""

    partitions: int
    batches: int
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """One partition, its copies, and between which offsets they must be equal."""

    of: TopicPartition
    replicas: tuple[Replica, ...]
    start: int
    end: int


def audit_brokers(spark: Any, source: SourceOptions) -> Audited:
    """Asks every broker for its copies of the topics that the source selects."""
    offsets = SourceOffsets(source)
    earliest, latest = offsets.earliest(), offsets.latest()
    with sentences(source.client):
        metadata = client_of(source.client).cluster(sorted(latest.topics))
    pieces = []
    for of in latest:
        known = metadata.partition(of)
        copies = [
            AtBroker(str(it), *metadata.brokers[it].address, latest.topics[of.topic].topic_id)
            if it in metadata.brokers
            else Away(str(it))
            for it in (known.replicas if known is not None else ())
        ]
        start, end = earliest.offset(of) or 0, latest.offset(of) or 0
        pieces.append(Piece(of, tuple(copies), start, end))
    return _audited(spark, pieces)


def audit_directories(spark: Any, log_dirs: Mapping[str, Sequence[Path]]) -> Audited:
    """Reads log dirs by broker; the partitions that several brokers have."""
    copies: dict[TopicPartition, list[InDirectory]] = {}
    for broker, folders in log_dirs.items():
        for folder in folders:
            if not folder.is_dir():
                raise PipelineError(f"{folder} is no directory")
            replica = InDirectory(broker, folder)
            for of in replica.partitions():
                copies.setdefault(of, []).append(replica)
    pieces = []
    for of, those in sorted(copies.items()):
        if len(those) > 1:
            start = max(max(it.start(of), it.cleaned(of)) for it in those)
            end = min(it.committed(of) for it in those)
            pieces.append(Piece(of, tuple(those), start, end))
    if not pieces:
        raise PipelineError("no partition is in the directories of two brokers")
    return _audited(spark, pieces)


def _audited(spark: Any, pieces: Sequence[Piece]) -> Audited:
    done = run_tasks(spark, pieces, compare)
    faults = tuple(fault for it in done for fault in it.faults)
    batches = sum(it.batches for it in done)
    if not batches and not faults:
        raise NothingCompared("nothing was compared: there is no batch below what is committed")
    return Audited(len(pieces), batches, faults)


def compare(piece: Piece) -> Audited:
    """The work of one task."""
    copies = [
        {seen.base: seen for seen in it.batches(piece.of, piece.start, piece.end)}
        for it in piece.replicas
    ]
    bases = sorted({base for copy in copies for base, seen in copy.items() if not seen.fault})
    faults: list[Fault] = []
    for replica, copy in zip(piece.replicas, copies, strict=True):
        faults += _corrupt(piece, replica, copy)
    for base in bases:
        faults += _unequal(piece, base, copies)
    return Audited(1, len(bases), tuple(_placed(piece, _together(faults))))


def _placed(piece: Piece, faults: Iterable[Fault]) -> Iterator[Fault]:
    """With the folder of a broker's copy, where nothing more exact is known."""
    folders: dict[str, str] = {}
    replicas = {str(it): it for it in piece.replicas}
    for it in faults:
        if not it.place and it.replica not in folders:
            folders[it.replica] = replicas[it.replica].folder(piece.of)
        yield it if it.place else replace(it, place=folders[it.replica])


def _corrupt(piece: Piece, replica: Replica, copy: Mapping[int, Seen]) -> Iterator[Fault]:
    for seen in copy.values():
        if seen.fault.startswith(UNREADABLE):
            detail = seen.fault.removeprefix(f"{UNREADABLE}: ")
            yield _fault(UNREADABLE, piece, replica, seen, detail=detail)
        elif seen.fault:
            yield _fault(CORRUPT, piece, replica, seen, detail=seen.fault)


def _unequal(piece: Piece, base: int, copies: Sequence[Mapping[int, Seen]]) -> Iterator[Fault]:
    """The copies that are not what most of them are; all, where there is no majority."""
    ours = [copy.get(base) for copy in copies]
    whole = [_content(it) for it in ours if it is not None and not it.fault]
    usual = max(set(whole), key=lambda it: (whole.count(it), it))
    is_majority = whole.count(usual) * 2 > len(whole) or len(set(whole)) == 1
    example = next(it for it in ours if it is not None and _content(it) == usual)
    for replica, copy, seen in zip(piece.replicas, copies, ours, strict=True):
        if seen is None:
            if not _is_hidden(copy, base):
                yield _fault(MISSING, piece, replica, example._replace(place=""))
        elif not seen.fault and (_content(seen) != usual or not is_majority):
            yield _fault(DIFFERENT, piece, replica, seen)


def _is_hidden(copy: Mapping[int, Seen], base: int) -> bool:
    """Whether this offset is where the copy cannot be read: that is the fault then."""
    return any(
        it.fault.startswith((NO_BATCH, UNREADABLE)) and it.base <= base <= it.last
        for it in copy.values()
    )


def _content(seen: Seen) -> tuple[int, int, int, int]:
    return seen.last, seen.leader_epoch, seen.size, seen.crc


def _fault(kind: str, piece: Piece, replica: Replica, seen: Seen, *, detail: str = "") -> Fault:
    topic, partition = piece.of
    return Fault(kind, topic, partition, seen.base, seen.last, str(replica), seen.place, detail)


def _together(faults: Sequence[Fault]) -> Iterator[Fault]:
    """Missing batches that follow each other are one fault."""
    before: Fault | None = None
    for it in sorted(faults, key=lambda it: (it.replica, it.kind, it.first)):
        if (
            before is not None
            and it.kind == before.kind == MISSING
            and it.replica == before.replica
            and it.first == before.last + 1
        ):
            before = Fault(MISSING, it.topic, it.partition, before.first, it.last, it.replica)
            continue
        if before is not None:
            yield before
        before = it
    if before is not None:
        yield before
