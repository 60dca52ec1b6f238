"""At each point of a hand-over somebody dies, is cut off for a moment, or ZooKeeper restarts.

The points are what ZooKeeper has just written; who wrote it may not have heard of it yet.
"""

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.cluster import ControllerZnode
from odradek.metadata.znodes.controller import (
    ControllerHistoryZnode,
    NextControllerZnode,
    ReadyToServeZnode,
)
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.worlds.cluster.view import ClusterView
from tests.scenarios.cluster.placed import is_tidy, other_than, wish

POINTS: Final = ("wished", "ready", "handed over", "replaced", "recorded")
AGAIN_SECONDS: Final = 0.5
LEASE_SECONDS: Final = 2.0  # for which others may abstain for one whom they do not watch yet


class HandOver:
    """From the controller to another broker; a third one looks on."""

    def __init__(self, scenario: ClusterScenario) -> None:
        self.t = scenario
        self.old = int(scenario.controller() or 0)
        self.new = other_than(scenario, self.old)
        self.third = other_than(scenario, self.old, self.new)
        machines = {number: it.process for number, it in scenario.brokers.items()}
        self._view = ClusterView(scenario.zookeeper, machines)

    def comes_to(self, point: str) -> None:
        """The move begins, and goes on until this has been written."""
        is_there: Callable[[], bool] = {
            "wished": lambda: self._data(NextControllerZnode.PATH) is not None,
            "ready": lambda: self._data(ReadyToServeZnode.PATH) is not None,
            "handed over": self._is_handed_over,
            "replaced": lambda: ControllerZnode.decode(self._data("/controller")) == self.new,
            "recorded": self._is_recorded,
        }[point]
        wish(self.t, self.new)
        for _ in range(10_000):
            if is_there():
                return
            self.t.run(seconds=0.0001)
        raise AssertionError(point)

    def _data(self, path: str) -> bytes | None:
        node = self._view.tree.nodes.get(path)
        return None if node is None else node.data

    def _is_handed_over(self) -> bool:
        data = self._data(NextControllerZnode.PATH)
        return data is None or NextControllerZnode.decode(data).is_handed_over

    def _is_recorded(self) -> bool:
        data = self._data(ControllerHistoryZnode.PATH)
        return data is not None and bool(ControllerHistoryZnode.decode(data).wishes)

    def decides(self) -> list[int]:
        """Who is the controller, and does not wait to be replaced."""
        found = []
        for number in self.t.acts():
            process = self.t.broker(number).process.broker
            assert process is not None
            controller = process.services_of_this_life.controller.controller
            assert controller is not None
            if not controller.context.handover.is_handing_over:
                found.append(number)
        return found

    def expire(self, number: int) -> None:
        """ZooKeeper ends its session."""
        registration = self._view.tree.nodes[BrokerZnode.path(BrokerId(number))]
        self.t.zookeeper.expire(registration.owner)

    def ends_well(self) -> None:
        """One controller, which serves; nothing is left of the move."""
        t = self.t
        t.wait_until(lambda: len(t.acts()) == 1 and is_tidy(t), "nothing is left of the move")
        for broker in t.brokers.values():
            if not broker.machine.running:
                broker.start()
        shop = t.client("shop")
        shop.make("orders")
        shop.produce("orders", "a")
        assert shop.read("orders") == ["a"]


@pytest.fixture(params=POINTS)
def handing(request: pytest.FixtureRequest) -> Iterator[HandOver]:
    """It has come to this point."""
    with ClusterScenario(4) as scenario:
        hand_over = HandOver(scenario)
        hand_over.comes_to(request.param)
        yield hand_over


def test_the_candidate_is_killed(handing: HandOver) -> None:
    """The controller goes on, or another is elected."""
    handing.t.broker(handing.new).kill()
    handing.t.run(seconds=AGAIN_SECONDS)
    assert handing.decides() in ([handing.old], [handing.third])
    handing.ends_well()


def test_the_controller_is_killed(handing: HandOver) -> None:
    """Whoever is ready takes its place, or whoever is first."""
    handing.t.broker(handing.old).kill()
    handing.t.run(seconds=AGAIN_SECONDS)
    assert handing.decides() in ([handing.new], [handing.third])
    handing.ends_well()


def test_both_are_killed(handing: HandOver) -> None:
    """The third does not wait for sessions, and for no longer than the lease."""
    handing.t.broker(handing.new).kill()
    handing.t.broker(handing.old).kill()
    handing.t.run(seconds=LEASE_SECONDS + AGAIN_SECONDS)
    assert handing.decides() == [handing.third]
    handing.ends_well()


@pytest.mark.parametrize("who", ["old", "new"])
def test_a_connection_to_zookeeper_breaks(handing: HandOver, who: str) -> None:
    """An answer may be lost with it: what was written is read back."""
    handing.t.break_connections(getattr(handing, who))
    handing.t.run(seconds=LEASE_SECONDS + AGAIN_SECONDS)
    assert len(handing.decides()) == 1
    handing.ends_well()


def test_the_session_of_the_candidate_ends(handing: HandOver) -> None:
    """Its process lives, so no connection tells; what it said it has said is gone."""
    handing.expire(handing.new)
    handing.t.run(seconds=AGAIN_SECONDS)
    assert len(handing.decides()) == 1
    handing.ends_well()


def test_the_session_of_the_controller_ends(handing: HandOver) -> None:
    """Its ephemeral goes at once, and it hears of that when it asks again."""
    handing.expire(handing.old)
    handing.t.run(seconds=LEASE_SECONDS)
    assert len(handing.decides()) == 1
    handing.ends_well()


def test_zookeeper_restarts(handing: HandOver) -> None:
    """Nothing is decided without it; nothing is lost by that."""
    handing.t.zookeeper.machine.kill()
    handing.t.run(seconds=0.5)
    handing.t.zookeeper.start()
    handing.ends_well()
