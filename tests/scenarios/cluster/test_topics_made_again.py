"""A topic that is deleted and made again at once has nothing of the one before."""

from odradek.sim.scenarios.cluster import ClusterScenario, staged
from tests.scenarios.cluster.test_elections import cast


def test_a_topic_that_is_made_again_has_its_own_settings_on_every_broker(
    t: ClusterScenario,
) -> None:
    """Else the brokers that are not the controller delete what the new one is to keep."""
    shop = t.client("shop")
    shop.make("orders", retention_ms="1", segment_bytes="2000")
    shop.delete("orders")
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    shop.make("orders", retention_ms="-1", segment_bytes="2000", min_insync_replicas="2")
    for _ in range(20):
        shop.produce("orders", "x" * 500)
    found = [broker.log("orders") for broker in t.brokers.values()]
    assert [log and log.config.retention_ms for log in found] == [None] * 3
    t.run(seconds=400)
    assert [log and log.log_start_offset for log in found] == [0] * 3
    assert len(shop.read("orders")) == 20


@staged(settings={"log.retention.check.interval.ms": "200"})
def test_a_topic_that_is_made_again_while_its_settings_cannot_be_read(t: ClusterScenario) -> None:
    """What a broker has read at its start may be of the topic before: it deletes nothing by it."""
    _, deaf, other = cast(t)
    shop, operator = t.client("shop"), t.operator()
    operator.places("orders", [other], retention_ms="1", segment_bytes="2000")
    t.broker(deaf).kill()
    t.broker(deaf).start()
    shop.delete("orders")
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    t.cut("zookeeper", deaf)
    operator.places("orders", [deaf], retention_ms="-1", segment_bytes="2000")
    for _ in range(20):
        shop.produce("orders", "x" * 500)
    t.run(seconds=2)
    found = t.broker(deaf).log("orders")
    assert found is not None
    assert found.log_start_offset == 0
    t.heal()
    t.wait_until(lambda: found.config.retention_ms is None, "it has read them")
