"""When a run looks for records again: never (once), after a pause, or at once."""

from dataclasses import dataclass
from typing import Final

from odradek.model.units import SECOND, Millis
from odradek.pipelines.errors import InvalidOption

IDLE_MS: Final = Millis(SECOND // 5)
"""How long a continuous run waits where nothing was to be read."""


@dataclass(frozen=True, slots=True)
class Once:
    """Reads what is there when the run begins, in as many batches as limits make of it; ends."""


@dataclass(frozen=True, slots=True)
class Every:
    """Begins a batch so often, or as soon as the last one is committed if that took longer."""

    millis: Millis

    def __post_init__(self) -> None:
        """Without a pause a run would do nothing but ask, where there is nothing to be read."""
        if self.millis <= 0:
            raise InvalidOption(
                "every: a batch begins at most once a millisecond, such as every 30s; a run that "
                "is told nothing begins the next one as soon as there are records"
            )


@dataclass(frozen=True, slots=True)
class Continuous:
    """Begins the next batch at once."""


Trigger = Once | Every | Continuous


def pause_ms(trigger: Trigger, began_ms: int, now_ms: int, *, idle: bool) -> int:
    """How long to wait until the next look, after one that began at this time."""
    match trigger:
        case Every(millis=millis):
            return max(0, began_ms + millis - now_ms)
        case _:
            return IDLE_MS if idle else 0
