"""Draws the pictures of the documents: `python -m codegen.pictures`, from the repository's root.

KIP-279's case as it is told in `tests/scenarios`, with the rule and without it.
"""

from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

from odradek.sim.history import Event
from odradek.sim.picture import STATE, picture
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.simulation import Knob
from odradek.sim.worlds.cluster.mistakes.replication import MISTAKES

TOLD: Final = Path("tests") / "scenarios" / "cluster" / "test_kips.py"
LONGER: Final = 3
"""So much longer than with the rule the other picture is: nothing comes of it, however long."""


def main() -> None:
    """Both of them."""
    docs = Path("docs")
    knob = MISTAKES["one-comparison-is-enough"]
    events, number = _told()
    about = f"orders-{number}"
    end = events[-1].moment
    (docs / "kip-279-with-the-rule.svg").write_text(_drawn(events, about, end))
    before = vars(knob.module)[knob.name]
    try:
        setattr(*knob)
        events, _ = _told()
    finally:
        setattr(*Knob(knob.module, knob.name, before))
    (docs / "kip-279-without-the-rule.svg").write_text(_drawn(events, about, end * LONGER))


def _told() -> tuple[list[Event], int | None]:
    """What happens in the story, and in which partition, if it comes to its end."""
    scenario = ClusterScenario(1, brokers=4)
    events: list[Event] = []
    scenario.world.history.timeline = events
    with scenario, suppress(AssertionError):
        number, _ = _conversation()(scenario)
        return events, number
    return events, None


def _drawn(events: list[Event], about: str, end: int) -> str:
    """One partition, and no longer than that."""
    return picture(
        [
            event
            for event in events
            if event.moment <= end and (event.what != STATE or event.details[0] == about)
        ]
    )


def _conversation() -> Any:
    spec = spec_from_file_location("kips", TOLD)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.logs_part_in_an_epoch


if __name__ == "__main__":
    main()
