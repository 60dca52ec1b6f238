"""Two drains of one broker at once."""

from odradek.cli.brokers import broker_drain
from odradek.cli.replicas import cordon
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.scenarios.operator import Operator
from tests.scenarios.cluster.test_throttled_moves import FINE, filled

RATE = "follower.replication.throttled.rate"


def cordoned(operator: Operator) -> list[int]:
    """As the controller has it."""
    found: list[int] = operator.does(cordon.cordoned(operator.cluster, asks_controller=True))
    return found


@staged(brokers=4, settings=FINE)
def test_who_is_refused_leaves_the_mark_of_the_other_drain(t: ClusterScenario) -> None:
    """Both saw no mark before they set it; one has begun to move replicas since."""
    operator = filled(t)
    operator.sets_brokers({RATE: "1"})
    operator.sets("orders", follower_replication_throttled_replicas="*")
    operator.does(cordon.cordon(operator.cluster, 3))
    operator.moves("orders", 1, 2, 4)
    assert operator.ongoing()
    operator.does(broker_drain.uncordon_if_unused(operator.cluster, 3))
    assert cordoned(operator) == [3]
    operator.sets_brokers({}, delete=(RATE,))
    t.wait_until(lambda: not operator.ongoing(), "it has moved")
    operator.does(broker_drain.uncordon_if_unused(operator.cluster, 3))
    assert cordoned(operator) == []
