"""A change that has no answer: who gave up is not told that nothing has happened."""

import pytest

from odradek.cli.reaching.patience import PatientCluster, Waits
from odradek.peers.errors import TimedOut
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

SECONDS = 5.0


def test_who_gives_up_is_told_that_a_change_may_still_happen(t: ClusterScenario) -> None:
    """It was sent, and it is carried out although its answer is lost."""
    shop = t.client("shop")
    shop.make("orders")
    addresses = [it.address for it in shop.cluster.brokers.values()]
    patient = PatientCluster(shop.cluster.world, addresses, "operator")
    patient.waits, patient.seconds = Waits(SECONDS), SECONDS
    connection = shop.does(patient.controller())
    assert patient.doubt == ""
    controller = t.controller()
    assert controller is not None
    t.cut(controller, "shop")
    with pytest.raises(TimedOut):
        shop.does(connection.ask(CreateTopicsRequest([CreatableTopic("refunds", 1, 3)], 30_000)))
    assert patient.doubt == "; CreateTopics was sent, and may have been or may still be carried out"
    t.heal()
    t.await_isr("refunds", 1, 2, 3)
