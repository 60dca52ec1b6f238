"""Which client floods: who asks a broker how much is counted for as long as somebody watches."""

from typing import Any

import pytest

from odradek.client.admin.operations import Wanted, operate
from odradek.client.errors import Refused
from odradek.model.admin_operations import CLIENTS_WATCH
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.clients import Client
from tests.scenarios.cluster.test_quotas import is_limited, limits


async def watch(operator: Client, broker: int, **arguments: Any) -> Any:
    """What a broker tells of its clients."""
    wanted = Wanted(CLIENTS_WATCH, arguments, resource=str(broker), broker=BrokerId(broker))
    return (await operate(operator.cluster, wanted))["clients"]


def test_clients_are_told_with_what_they_ask_for(t: ClusterScenario) -> None:
    """While they are watched, and no more; the busiest first, brokers that replicate, too."""
    shop, quiet, operator = t.client("shop"), t.client("quiet"), t.operator()
    shop.make("orders")
    leader = t.leader("orders")
    shop.produce("orders", "before")
    one, other = (operator.begins(watch(operator, leader, seconds=it)) for it in (4, 6))
    t.run(seconds=1)
    shop.produce("orders", "x" * 5_000)
    shop.produce("orders", "x" * 5_000)
    quiet.produce("orders", "a")
    t.run(seconds=7)
    clients = operator.ends(one)
    sizes = [it["bytes_in"] + it["bytes_out"] for it in clients]
    assert sizes == sorted(sizes, reverse=True)
    found = {it["client_id"]: it for it in clients}
    followers = {f"broker-{number}" for number in (1, 2, 3) if number != leader}
    assert {"shop", "quiet", *followers} <= found.keys()
    shop_asked = found["shop"]
    assert (shop_asked["connections"], shop_asked["requests"]) == (1, 2)
    assert 10_000 < shop_asked["bytes_in"] < 11_000
    assert shop_asked["bytes_out"] > 0
    assert shop_asked in operator.ends(other)


def test_a_client_that_is_throttled_is_told_while_it_pauses(t: ClusterScenario) -> None:
    """It asks for nothing meanwhile: its pause began before anything was watched."""
    operator, shop = t.operator(), t.client("shop")
    shop.make("orders")
    leader = t.leader("orders")
    limits(operator, leader, producer_byte_rate=100)
    t.wait_until(lambda: is_limited(t) == {True}, "every broker has heard of it")
    watching = operator.begins(watch(operator, leader, seconds=2))
    shop.produce("orders", "x" * 5_000)
    t.run(seconds=3)
    (told,) = [it for it in operator.ends(watching) if it["client_id"] == "shop"]
    assert told["throttle_ms"] > 20_000
    (paused,) = [
        it for it in operator.does(watch(operator, leader, seconds=1)) if it["throttle_ms"]
    ]
    assert (paused["client_id"], paused["requests"], paused["bytes_in"]) == ("shop", 0, 0)
    assert 10_000 < paused["throttle_ms"] < told["throttle_ms"]
    t.run(seconds=60)
    assert not any(it["throttle_ms"] for it in operator.does(watch(operator, leader, seconds=1)))


def test_a_look_has_an_end(t: ClusterScenario) -> None:
    """It is asked of the broker that it is meant for, and for a minute at most."""
    operator = t.operator()
    for number, seconds in ((1, 0), (1, 61), (2, 1)):
        wanted = Wanted(
            CLIENTS_WATCH, {"seconds": seconds}, resource=str(number), broker=BrokerId(1)
        )
        with pytest.raises(Refused):
            operator.does(operate(operator.cluster, wanted))
