"""What a look into a simulated broker finds."""

import pytest

from odradek.sim.invariants import Violation
from odradek.sim.worlds.broker.insides import RequestsAreUnderstood
from tests.unit.broker.stage import Stage


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param("0000000e 000c 0000 00000007 ffff 7fffffff", id="a body that is none"),
        pytest.param("0000000a 7fff 0000 00000007 ffff", id="no such API"),
        pytest.param("7fffffff", id="no such frame"),
    ],
)
def test_a_request_that_cannot_be_read_is_a_finding(frame: str) -> None:
    """Our own clients are simulated: what they say must be right."""
    watcher = RequestsAreUnderstood()
    with Stage() as stage:
        stage.world.history.watch(watcher.guarded(stage.world.loop.fail), watcher.watches)
        stage.make("orders")
        client = stage.client()
        client.send_raw(bytes.fromhex(frame))
        with pytest.raises(Violation, match="RequestsAreUnderstood"):
            stage.run(1)
