"""Bits that turn on a broker's disk, and what its replica has by then."""

from collections.abc import Sequence

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


def a_follower_is_sent_what_is_spoilt(
    t: ClusterScenario, values: Sequence[str], offset: int, *, at: int = LAST_BYTE
) -> None:
    """It was in the leader's page cache, so it went out; who is sent it asks again."""
    shop = t.client("shop")
    shop.make("orders")
    leader, away = t.leader("orders"), t.followers("orders")[0]
    t.broker(away).kill()
    t.await_isr("orders", *{1, 2, 3} - {away})
    for value in values:
        shop.produce("orders", value)
    spoil(t, leader, offset, at=at)
    t.broker(away).start()
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=1)
    assert t.leader("orders") != leader
    assert shop.read("orders") == [*values]
    assert bytes_of(t, leader) == bytes_of(t, away)
