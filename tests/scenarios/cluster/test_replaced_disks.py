"""What a broker does for a disk, it does for the one that takes its place while it runs."""

import pytest

from odradek.model.admin_operations import LOG_DIR_REPLACE
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.stage.clients import Client
from tests.scenarios.cluster.spoilt import bytes_of, spoil
from tests.scenarios.cluster.test_full_disks import fill

FRESH = 3
PATIENCE = {"log.dir.hang.timeout.ms": "2000"}
AT_REST = 15
"""Seconds: a log that is not written to for so long gives back its memory and its files."""


def fails(t: ClusterScenario, disk: str, *, hangs: bool) -> None:
    """Every call fails from now on; or none returns before it is pulled, and is given up."""
    if not hangs:
        t.broker(FRESH).fail_disk(disk)
        return
    t.broker(FRESH).hang_disk(disk)
    t.wait_until(lambda: FRESH not in t.state("orders").isr, "it is given up")
    t.broker(FRESH).release_disk(disk)


def leads_from_another_disk(t: ClusterScenario, *, hangs: bool) -> tuple[Client, NumberedBroker]:
    """The leader's disk failed and was replaced; it leads again, from the new one, at once."""
    operator, fresh = t.operator(), t.broker(FRESH)
    operator.places("orders", (FRESH, 1, 2), index_interval_bytes="0", flush_ms="1000")
    for value in ("a", "b"):
        operator.produce("orders", value)
    t.await_isr("orders", 1, 2, 3)
    disk = fresh.disk_of("orders")
    shop = t.client("shop")
    writing = shop.begins(shop.producing("orders", "c"))
    fails(t, disk, hangs=hangs)
    shop.ends(writing)
    t.await_isr("orders", 1, 2)
    fresh.exchange_disk(disk)
    operator.operate(LOG_DIR_REPLACE, FRESH, dir=fresh.path_of(disk))
    t.await_isr("orders", 1, 2, 3)
    operator.elects("orders")
    t.wait_until(lambda: t.leader("orders") == FRESH, "it leads again")
    shop.produce("orders", "d")
    t.run(seconds=AT_REST)
    assert fresh.disk_of("orders") == disk
    return shop, fresh


@pytest.mark.parametrize("it", ["fails", "hangs"])
@staged(settings=PATIENCE)
def test_a_batch_that_is_spoilt_there_is_found_and_mended(t: ClusterScenario, it: str) -> None:
    """As on the first disk: another leads, which has a whole copy."""
    shop, _ = leads_from_another_disk(t, hangs=it == "hangs")
    spoil(t, FRESH, 0)
    assert shop.read("orders") == ["a", "b", "c", "d"]
    leader = t.leader("orders")
    assert leader != FRESH
    t.await_isr("orders", 1, 2, 3)
    t.wait_until(lambda: bytes_of(t, FRESH) == bytes_of(t, leader), "it is mended")


@pytest.mark.parametrize("it", ["fails", "hangs"])
@staged(settings=PATIENCE)
def test_a_leader_gives_way_when_it_is_full(t: ClusterScenario, it: str) -> None:
    """As with the first disk: the producer goes on at another broker."""
    shop, fresh = leads_from_another_disk(t, hangs=it == "hangs")
    fill(fresh)
    shop.produce("orders", "e")
    assert t.leader("orders") != FRESH
    assert shop.read("orders") == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("it", ["fails", "hangs"])
@staged(settings=PATIENCE)
def test_what_is_written_there_at_once_is_flushed(t: ClusterScenario, it: str) -> None:
    """A round over the old disk is about to begin, and must not take the new log for its own."""
    _, fresh = leads_from_another_disk(t, hangs=it == "hangs")
    found = fresh.log("orders")
    assert found is not None
    assert found.recovery_point == found.log_end_offset == 4
