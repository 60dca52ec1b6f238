"""The first start of a cluster, while what it rests on is made."""

import pytest

from odradek.sim.scenarios.scenario import Scenario


@pytest.mark.parametrize("moments", [range(1, 30), range(30, 60)])
def test_a_connection_to_zookeeper_breaks_during_the_first_start(moments: range) -> None:
    """At whichever moment: what may have been made is looked at again, and made if it was not."""
    for millis in moments:
        with Scenario(seed=millis) as t:
            host = t.machine("broker").host
            t.world.after(1_000 * millis, lambda: t.world.wires.break_connections(host))  # noqa: B023 - called within this turn
            assert t.broker.is_running
