"""What a cluster has agreed upon, while ZooKeeper is hardly there."""

from odradek.client.cluster import Cluster
from odradek.metadata.znodes.cluster import FeatureZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


async def raise_level(cluster: Cluster, broker: int) -> ErrorCode:
    """To 2, by this broker."""
    update = FeatureUpdateKey("transaction.version", 2, upgrade_type=1)
    connection = await cluster.broker(BrokerId(broker))
    answer = await connection.ask(UpdateFeaturesRequest(feature_updates=[update]), 1)
    assert not answer.error_code, answer
    return ErrorCode(answer.results[0].error_code)


def test_a_level_whose_answer_was_lost_is_looked_at(t: ClusterScenario) -> None:
    """It was written, and nobody is told that it was not."""
    shop = t.client("shop")
    server, asked = t.world.machine(ZOOKEEPER).host, t.broker(2).machine.host
    before = t.data(FeatureZnode.PATH)
    answers = t.world.wires.link(server, asked)
    answers.delay = (50_000, 50_000)
    begun = shop.begins(raise_level(shop.cluster, 2))
    while t.data(FeatureZnode.PATH) == before:
        t.world.run(millis=5)
    assert not begun.done()
    t.break_connections(ZOOKEEPER)
    answers.quicken()
    t.wait_until(begun.done, "it is answered")
    assert begun.result() is ErrorCode.NONE
