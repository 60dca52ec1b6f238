"""Rolling restarts, and who else does something meanwhile."""

import asyncio
from collections.abc import Sequence

import pytest

from odradek.cli.brokers.restart_order import order_of
from odradek.cli.brokers.rolling import Roll, registrations
from odradek.cli.words.failing import Failed
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.scenarios.operator import Operator

PATIENCE_SECONDS = 60


class Rolling:
    """A roll of all brokers, and what its command was called for."""

    def __init__(self, t: ClusterScenario, operator: Operator) -> None:
        self.restarted: list[int] = []
        self.wanted: list[int] = []
        self.by_hand: dict[int, Sequence[int]] = {}
        self._t = t
        self._operator = operator
        self.order = operator.does(order_of(operator.cluster))

    def begin(self, since: int | None = None) -> "asyncio.Task[list[int]]":
        """Under way; its command only asks, as `ssh HOST systemctl restart` would."""
        operator = self._operator
        epochs = operator.does(registrations(operator.cluster))
        began = max(epochs.values()) if since is None else since
        roll = Roll(operator.cluster, self._restart, began, "odradek again", PATIENCE_SECONDS)
        return operator.begins(roll.run(self.order))

    async def _restart(self, broker: int, host: str) -> int:
        assert host
        self.wanted.append(broker)
        return 0

    def go_on(self, begun: "asyncio.Task[list[int]]") -> list[int]:
        """What is asked for is done, until it ends; by hand more is, before."""
        while not begun.done():
            while self.wanted:
                broker = self.wanted.pop(0)
                for other in (*self.by_hand.pop(broker, ()), broker):
                    self.restart(other)
                self.restarted.append(broker)
            self._t.run(seconds=0.1)
        done: list[int] = self._operator.ends(begun)
        return done

    def restart(self, broker: int) -> None:
        """In good order."""
        self._t.broker(broker).stop()
        self._t.broker(broker).start()


@pytest.fixture
def rolling(t: ClusterScenario) -> Rolling:
    """With a topic, all in sync."""
    t.client("shop").make("orders", 3)
    return Rolling(t, t.operator())


def test_who_was_restarted_by_hand_meanwhile_is_left_out(
    rolling: Rolling, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once is enough; a line says so."""
    first, by_hand, last = rolling.order
    rolling.by_hand[first] = [by_hand]
    assert rolling.go_on(rolling.begin()) == [first, last]
    assert rolling.restarted == [first, last]
    told = f"broker {by_hand} (2 of 3): left out, somebody else has restarted it meanwhile\n"
    assert told in capsys.readouterr().err


def test_since_leaves_out_who_was_restarted_by_hand_while_it_goes_on(
    t: ClusterScenario, rolling: Rolling
) -> None:
    """Its number is of the first roll's start, so who the first has restarted is left out, too."""
    operator = t.operator()
    began = max(operator.does(registrations(operator.cluster)).values())
    first, by_hand, last = rolling.order
    rolling.restart(first)
    begun = rolling.begin(began)
    rolling.restart(by_hand)
    assert rolling.go_on(begun) == [last]
    assert rolling.restarted == [last]


def test_who_dies_before_its_turn_ends_the_roll(t: ClusterScenario, rolling: Rolling) -> None:
    """One less at a time; the line says whom to start, and how to go on."""
    first, dies, _ = rolling.order
    begun = rolling.begin()
    t.wait_until(lambda: rolling.wanted, "it begins")
    t.broker(dies).kill()
    with pytest.raises(Failed, match=f"after 60 s there is still: broker {dies} is not registered"):
        rolling.go_on(begun)
    assert rolling.restarted == [first]


@staged(brokers=4)
def test_one_without_replicas_that_is_gone_is_named(t: ClusterScenario) -> None:
    """Nothing is out of sync by it; it cannot be restarted all the same."""
    operator = t.operator()
    operator.places("orders", [1, 2, 3])
    rolling = Rolling(t, operator)
    begun = rolling.begin()
    t.wait_until(lambda: rolling.wanted, "it begins")
    t.broker(4).kill()
    with pytest.raises(Failed, match="broker 4 is not registered any more") as told:
        rolling.go_on(begun)
    assert told.value.next_step == "once that is mended: odradek again"


@staged(brokers=4, settings={"min.insync.replicas": "1"})
def test_a_move_and_a_deletion_that_begin_meanwhile_go_on(t: ClusterScenario) -> None:
    """Neither holds up a restart, and no restart loses them."""
    operator = t.operator()
    operator.places("orders", [1, 2])
    operator.places("other", [2, 3])
    operator.does(operator.producing("orders", "a", "b"))
    rolling = Rolling(t, operator)
    begun = rolling.begin()
    t.wait_until(lambda: rolling.wanted, "it begins")
    operator.moves("orders", 3, 4)
    operator.delete("other")
    assert rolling.go_on(begun) == rolling.order
    t.wait_until(lambda: not operator.ongoing(), "it has moved")
    t.await_isr("orders", 3, 4)
    t.wait_until(lambda: not t.has_topic("other"), "it is deleted")
    assert operator.read("orders") == ["a", "b"]


def test_a_disk_that_fails_meanwhile_ends_the_roll(t: ClusterScenario, rolling: Rolling) -> None:
    """Nothing more is restarted while a replica is missing."""
    first, has_disk, _ = rolling.order
    begun = rolling.begin()
    t.wait_until(lambda: rolling.wanted, "it begins")
    broker = t.broker(has_disk)
    broker.fail_disk(broker.disk_of("orders"))
    t.client("shop").produce("orders", "a")
    with pytest.raises(Failed, match=f"still: the replica on broker {has_disk} is offline"):
        rolling.go_on(begun)
    assert rolling.restarted == [first]


def test_of_two_rolls_from_two_machines_the_second_is_told_whom_the_first_has_restarted(
    t: ClusterScenario, rolling: Rolling, capsys: pytest.CaptureFixture[str]
) -> None:
    """It waits while a broker is away, and restarts none that is back; on one it is refused."""
    first, *others = rolling.order
    second = Rolling(t, t.operator())
    begun = rolling.begin()
    t.wait_until(lambda: rolling.wanted, "the first begins")
    t.broker(first).stop()
    also = second.begin()
    t.run(seconds=3)
    assert not second.wanted
    t.broker(first).start()
    rolling.wanted.clear()
    begun.cancel()
    told = f"broker {first} (1 of 3): left out, somebody else has restarted it meanwhile\n"
    assert second.go_on(also) == others
    assert told in capsys.readouterr().err
