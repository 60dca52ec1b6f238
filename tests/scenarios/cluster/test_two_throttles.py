"""Two operators, each with a throttle, over the same brokers."""

from collections.abc import Mapping

import pytest

from odradek.cli.replicas import throttle
from odradek.client.admin.placement import Ongoing, reassign, reassignments
from odradek.client.cluster import Cluster
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from tests.scenarios.cluster.test_throttled_moves import FINE, filled

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("other", 0)
WHOLE = {ORDERS: (1, 2, 3), OTHER: (1, 2, 3)}
TO = {ORDERS: (1, 2, 4)}


@staged(brokers=4, settings=FINE)
def test_who_ends_gives_back_the_throttle_of_a_move_that_has_begun_meanwhile(
    t: ClusterScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other looked whether it still has it before the first took it."""
    operator = filled(t)
    operator.places("other", [1, 2, 3])
    has_looked = False

    async def looked(cluster: Cluster) -> Mapping[TopicPartition, Ongoing]:
        nonlocal has_looked
        found = await reassignments(cluster)
        if not has_looked:  # between the look and what is done by it
            has_looked = True
            await reassign(cluster, TO)
            await throttle.renew(cluster, WHOLE, TO, 1)
        return found

    monkeypatch.setattr(throttle, "reassignments", looked)
    operator.does(throttle.limit(operator.cluster, WHOLE, TO, 1))
    operator.does(throttle.lift(operator.cluster, [OTHER]))
    assert operator.ongoing()
    named = operator.does(throttle.named_replicas(operator.cluster))
    leader, follower = throttle.REPLICAS
    assert named == {"orders": {leader: "0:1,0:2,0:3", follower: "0:4"}}
    assert operator.does(throttle.rates(operator.cluster)).moves == {1: 1, 2: 1, 3: 1, 4: 1}


@staged(brokers=4, settings=FINE)
def test_who_sets_another_rate_is_told_whose_moves_it_bounds_too(
    t: ClusterScenario, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brokers have one rate: that of the first would be another, and nobody would have said so."""
    operator = filled(t)
    operator.places("other", [1, 2, 3])
    cluster = operator.cluster
    to = {OTHER: (1, 2, 4)}
    operator.does(throttle.tell_of_other_rate(cluster, {1, 4}, 5_000))
    operator.does(throttle.limit(cluster, WHOLE, TO, 1))
    operator.moves("orders", 1, 2, 4)
    operator.does(throttle.tell_of_other_rate(cluster, throttle.involved(WHOLE, to), 1))
    assert not capsys.readouterr().err
    operator.does(throttle.tell_of_other_rate(cluster, throttle.involved(WHOLE, to), 5_000))
    told = "a throttle of 1 B/s is set on brokers 1, 2, 3, 4 for moves that are under way: "
    assert f"odradek: {told}4.9 KiB/s takes its place\n" == capsys.readouterr().err
