"""A producer that begins anew when it is told of a gap: it is told of none that a refusal made."""

from collections import Counter

import pytest

from odradek.sim.doors.chance import SeededRandom
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.simulation import turning
from odradek.sim.worlds.broker.clients import Topic, durably
from odradek.sim.worlds.cluster.clients.renumbering import BEGUN_ANEW, RenumberingProducer
from odradek.sim.worlds.cluster.mistakes.known import knobs_of

ORDERS = Topic("orders", 1, {}, durably)
ROUNDS = 4


def told(control: str) -> tuple[int, Counter[str]]:
    """How often it began anew, and how often each of its records is there."""
    with turning(knobs_of(control)), ClusterScenario(settings={"min.insync.replicas": "2"}) as t:
        shop = t.client("shop")
        shop.make("orders")
        producer = RenumberingProducer(
            t.world.history.note, SeededRandom(1, "shop"), ORDERS, losses=lambda: 0
        )
        producing = shop.begins(producer.produce(shop.cluster))
        for _ in range(ROUNDS):
            t.run(seconds=2)
            gone = t.leader("orders"), t.followers("orders")[0]
            for number in gone:
                t.broker(number).kill()
            t.run(seconds=12)
            for number in gone:
                t.broker(number).start()
            t.await_isr("orders", 1, 2, 3)
        producing.cancel()
        return t.world.history.counts[BEGUN_ANEW], Counter(shop.read("orders"))


@pytest.mark.parametrize("control", ["", "a-gap-that-a-refusal-made-is-told"])
def test_what_a_refusal_has_made_is_no_gap(control: str) -> None:
    """Too few replicas are there for the first batches, and enough for those behind them."""
    begun, found = told(control)
    assert bool(begun) == bool(control)
    assert found
    assert max(found.values()) == 1
