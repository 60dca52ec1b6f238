"""What the promises of the simulated cluster allow."""

from odradek.metadata.nouns import PartitionState
from odradek.model.ids import BrokerId
from odradek.model.positions import ControllerEpoch, LeaderEpoch, PartitionEpoch
from odradek.sim.worlds.cluster.promises.bounds import Bounds
from odradek.sim.worlds.cluster.promises.insides import Copied


def test_bounds_fall_no_further_than_to_what_is_committed() -> None:
    """A log of which retention had deleted all follows one that lost the end, and starts there."""
    assert Bounds(8, 8).kept(8) == (8, 8)
    assert Bounds(3, 8).kept(5) == (3, 5)
    assert Bounds(8, 8).kept(4) == (4, 4)


def test_a_log_is_of_before_all_was_lost_until_it_has_records_of_a_later_leader() -> None:
    """Or while its broker has lost something: the end of a log may come back with its power."""
    away, lost_power = BrokerId(1), BrokerId(3)
    copied = Copied(since=1, since_epoch=6, lacking={lost_power})
    assert copied.may_be_of_before(away, 6)
    assert not copied.may_be_of_before(away, 7)
    assert copied.may_be_of_before(lost_power, 7)


def test_who_joins_without_a_leader_need_not_have_all() -> None:
    """The last of the ISR has lost its power: those that had left before stand there again."""
    lost_power = BrokerId(2)
    copied = Copied(lacking={lost_power})
    one = BrokerId(1)
    state = PartitionState(one, LeaderEpoch(4), (one,), PartitionEpoch(7), ControllerEpoch(1))
    copied.see(state, {lost_power})
    assert copied.outside == {lost_power}
    copied.see(state._replace(isr=(one, lost_power)), {lost_power})
    assert copied.outside == {lost_power}
    copied.see(state._replace(leader=None, isr=(lost_power,)), {lost_power})
    assert not copied.outside


def test_who_was_proposed_before_a_loss_may_join_behind_it() -> None:
    """The leader had said so of the life before, and the one that lost something is not ready."""
    lost_power, leader = BrokerId(2), BrokerId(1)
    copied = Copied(lacking={lost_power})
    epochs = LeaderEpoch(4), (leader,), PartitionEpoch(7), ControllerEpoch(1)
    copied.see(PartitionState(leader, *epochs), set())
    assert not copied.outside
