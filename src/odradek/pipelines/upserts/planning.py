"""Which task merges which keys: clusters of files, and bounds between them.

Files whose keys may lie between each other's are one cluster, which one task merges. Keys that lie
behind a cluster belong to it up to where the next begins. Pieces are as large as gives each slot
some of them, and bounded: a task that is lost is done again from its beginning.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.keys import bounds_of
from odradek.pipelines.upserts.merging import Cluster, Piece
from odradek.pipelines.upserts.runs import Part

PIECE_BYTES_MAX: Final = 256 << 20
PIECE_BYTES_MIN: Final = 4 << 20
PIECES_OF_SLOT: Final = 2
OF_NEW_KEYS: Final = 4
"""About as much smaller are changes once they are written."""


def clusters_of(files: Sequence[DataFile]) -> list[Cluster]:
    """All files, in the order of their keys. One whose bounds are unknown may hold any."""
    known = [(bounds_of(it) or (b"", None), it) for it in files]
    clusters: list[Cluster] = []
    together: list[DataFile] = []
    low, high = b"", b""
    is_open = False
    for bounds, file in sorted(known, key=lambda pair: pair[0][0]):
        if together and not is_open and bounds[0] > high:
            clusters.append(Cluster(low, tuple(together)))
            together = []
        if not together:
            low, high = bounds[0], b""
        is_open = is_open or bounds[1] is None
        high = max(high, bounds[1] or b"")
        together.append(file)
    if together:
        clusters.append(Cluster(low, tuple(together)))
    return clusters


def pieces_of(
    files: Sequence[DataFile], parts: Sequence[Part], slots: int, *, is_all: bool = False
) -> list[Piece]:
    """Pieces that hold all keys of these parts of runs, and the files that may hold them.

    Where `is_all`, they hold all files.
    """
    clusters = [*_divided(clusters_of(files), parts)]
    weights = [_weight(it, end, parts, is_all=is_all) for it, end in _with_ends(clusters)]
    least, most = PIECE_BYTES_MIN, PIECE_BYTES_MAX
    size = max(least, min(most, sum(weights) // (PIECES_OF_SLOT * max(1, slots))))
    pieces: list[Piece] = []
    some: list[Cluster] = []
    total = 0
    for (cluster, end), weight in zip(_with_ends(clusters), weights, strict=True):
        some.append(cluster)
        total += weight
        if total >= size or end is None:
            if total:
                pieces.append(Piece(tuple(some), end))
            some, total = [], 0
    return pieces


def _divided(clusters: Sequence[Cluster], parts: Sequence[Part]) -> Iterator[Cluster]:
    """With bounds where many new keys are: before the first file, behind the last, between two."""
    first = Cluster(None, clusters[0].files if clusters else ())
    for cluster, end in _with_ends([first, *clusters[1:]]):
        yield cluster
        bounds = [bounds_of(it) for it in cluster.files]
        if any(it is None for it in bounds):
            continue
        behind = max((it[1] for it in bounds if it is not None), default=b"")
        yield from (Cluster(low, ()) for low in _steps(parts, behind, end))


def _steps(parts: Sequence[Part], behind: bytes, end: bytes | None) -> Iterator[bytes]:
    """Bounds between two keys, such that there is about a piece's worth of changes in each."""
    inside = sorted(
        (it.low, it.bytes)
        for it in parts
        if it.low > behind and (end is None or it.low < end) and it.low > b""
    )
    size, least = 0, OF_NEW_KEYS * PIECE_BYTES_MIN
    for low, length in inside:
        if size >= least:
            yield low
            size = 0
        size += length


def _with_ends(clusters: Sequence[Cluster]) -> list[tuple[Cluster, bytes | None]]:
    ends = [*(it.low for it in clusters[1:]), None]
    return list(zip(clusters, ends, strict=True))


def _weight(cluster: Cluster, end: bytes | None, parts: Sequence[Part], *, is_all: bool) -> int:
    """Bytes that may be read; nothing where no change can be."""
    if is_all:
        return sum(it.bytes for it in cluster.files) + 1
    low = cluster.low
    inside = [
        it for it in parts if (low is None or it.high >= low) and (end is None or it.low < end)
    ]
    if not inside:
        return 0
    new = [it for it in inside if low is None or it.low >= low]
    return sum(it.bytes for it in cluster.files) + sum(it.bytes for it in new) // OF_NEW_KEYS + 1


def groups_to_merge(files: Sequence[DataFile], file_bytes: int) -> list[tuple[DataFile, ...]]:
    """Small files that follow each other in the order of keys."""
    groups: list[tuple[DataFile, ...]] = []
    run: list[DataFile] = []
    for cluster in [*clusters_of(files), None]:
        size = 0 if cluster is None else sum(it.bytes for it in cluster.files)
        small = cluster is not None and 2 * size <= file_bytes
        if not small or size + sum(it.bytes for it in run) > file_bytes:
            groups += [tuple(run)] if len(run) > 1 else []
            run = []
        if small and cluster is not None:
            run += cluster.files
    return groups
