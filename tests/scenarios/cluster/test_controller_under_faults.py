"""The controller is moved again and again, while chance kills, pauses and cuts off brokers.

Two controllers never act in one epoch; with the fall-back forbidden none but a preferred broker is
elected; and once the faults have stopped there is a controller soon, and it serves.
"""

from collections.abc import Iterator

import pytest

from odradek.sim.scenarios.cluster import ClusterScenario
from tests.scenarios.cluster.placed import is_tidy, wish

STEPS = 25
PREFERRED = (1, 2, 3)


@pytest.fixture(params=[11, 12, 13])
def many(request: pytest.FixtureRequest) -> Iterator[ClusterScenario]:
    """Four brokers, of which the last may not be the controller."""
    own = {number: {"preferred.controller": "true"} for number in PREFERRED}
    settings = {
        "allow.preferred.controller.fallback": "false",
        "preferred.controller.settle.ms": "2000",
    }
    with ClusterScenario(request.param, 4, settings, own) as scenario:
        yield scenario


def epochs(t: ClusterScenario) -> dict[int, int]:
    """Who believes to be the controller of which epoch; each at most once."""
    found: dict[int, int] = {}
    for number, broker in t.brokers.items():
        process = broker.process.broker
        if not broker.machine.running or process is None or process.services is None:
            continue
        controller = process.services.controller.controller
        if controller is not None:
            epoch = controller.context.lease.epoch
            assert epoch not in found, (epoch, number, found)
            assert number in PREFERRED, number
            found[epoch] = number
    return found


def strike(t: ClusterScenario, kind: int, number: int) -> None:
    """One fault; what was struck before is mended."""
    for broker in t.brokers.values():
        if not broker.machine.running:
            broker.begin()
        broker.machine.resume()
    t.heal()
    match kind:
        case 0:
            t.broker(number).kill()
        case 1:
            t.broker(number).machine.pause()
        case 2:
            t.cut("zookeeper", number)
        case 3:
            t.world.wires.break_connections(t.broker(number).machine.host)
        case 4:
            t.zookeeper.machine.kill()
            t.run(seconds=0.2)
            t.zookeeper.start()


def test_moves_and_faults_leave_one_controller(many: ClusterScenario) -> None:
    """However moves and faults come together, one controller acts and serves afterwards."""
    t, chance = many, many.world.machine("chance").random
    t.wait_until(t.acts, "there is a controller")
    for step in range(STEPS):
        if t.world.machine("zookeeper").running and t.acts():
            wish(t, 1 + chance.below(4), name=f"{step}")
        for _ in range(chance.below(8)):
            t.run(seconds=0.01)
            epochs(t)
        strike(t, chance.below(6), 1 + chance.below(4))
        for _ in range(20 + chance.below(60)):
            t.run(seconds=0.05)
            epochs(t)
    strike(t, 5, 1)
    t.wait_until(lambda: len(t.acts()) == 1 and is_tidy(t), "there is a controller")
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    assert shop.read("orders") == ["a"]
