"""Bits that turn on a broker's disk, and what its replica has by then."""

from odradek.sim.scenarios.cluster import ClusterScenario

MAGIC_AT = 16
"""In the header of a batch: with another value nothing tells where the batch ends."""
LAST_BYTE = -1


def spoil(
    t: ClusterScenario, number: int, offset: int, topic: str = "orders", *, at: int = LAST_BYTE
) -> tuple[str, int]:
    """One bit of the batch that begins at this offset, on one broker's disk; in which byte."""
    log = t.broker(number).log(topic)
    assert log is not None
    segment = log.segment_of(offset)
    found = segment.find(offset)
    assert found is not None
    position, header = found
    disk = t.broker(number).machine.disk(t.broker(number).disk_of(topic))
    where = segment.path(".log"), position + at % header.size
    disk.flip(*where, 0)
    return where


def bytes_of(t: ClusterScenario, number: int, topic: str = "orders") -> bytes:
    """All batches of its replica."""
    log = t.broker(number).log(topic)
    assert log is not None
    return b"".join(segment.file.read(segment.size, 0) for segment in log.segments)
