"""The wrong rules that worlds know stand in the place of functions that are there."""

from odradek.sim.worlds.cluster.mistakes.known import KNOWN, knobs_of
from odradek.sim.worlds.log.mistakes import MISTAKES


def test_every_wrong_rule_takes_the_place_of_something() -> None:
    """A function that was renamed, or moved to another module, is not turned any more."""
    turned = [(mistake, knob) for mistake in KNOWN for knob in knobs_of(mistake)]
    turned += MISTAKES.items()
    missing = [(mistake, it.name) for mistake, it in turned if it.name not in vars(it.module)]
    assert not missing
