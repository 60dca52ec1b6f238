"""Progress of what takes more than a second: a bar on a terminal's stderr, elsewhere nothing.

Who watches rests between two looks, the longer the dearer a look is: brokers have other work.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from odradek.cli.showing.cells import cell

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

REST: Final = 100
"""So many times as long as a look has taken: it costs no broker more than a hundredth of a core."""
REST_SECONDS_MAX: Final = 10.0


class Pace:
    """Of looks, at least some seconds apart, and at most others, which are a person's patience."""

    def __init__(self, seconds: float, most: float = REST_SECONDS_MAX) -> None:
        self._least = seconds
        self._most = most
        self._began = self.now

    @property
    def now(self) -> float:
        """Seconds, of a clock that never goes back."""
        return asyncio.get_running_loop().time()

    async def rest(self) -> None:
        """Behind each look."""
        took = self.now - self._began
        await asyncio.sleep(max(self._least, min(took * REST, self._most)))
        self._began = self.now


class Progress:
    """What a verb tells; without a bar it is not shown."""

    def __init__(self, what: str = "", length: int = 0) -> None:
        self._what = what
        self._length = length
        self._done = 0
        self._bar: ProgressBar[int] | None = None

    @property
    def is_shown(self) -> bool:
        """Whether it is worth asking how far it is."""
        return self._bar is not None

    @property
    def text(self) -> str:
        """`copying 1.2 MiB of 2.4 MiB`, or `trimming 3 of 12`."""
        done = type(self._length)(self._done)
        return (
            f"{self._what} {cell(done, for_people=True)} of {cell(self._length, for_people=True)}"
        )

    def show(self, bar: "ProgressBar[int]") -> None:
        """From now on there."""
        self._bar = bar

    def update(self, n_steps: int) -> None:
        """So many more are done."""
        self._done += n_steps
        if self._bar is not None:
            self._bar.label = self.text
            self._bar.update(n_steps)

    def reach(self, done: int) -> None:
        """So many are done in all; what was told before is not taken back."""
        self.update(max(done - self._done, 0))


@contextmanager
def progress(what: str, length: int) -> Iterator[Progress]:
    """A bar named `what` with `length` steps, partitions or a `Size`, in one line."""
    draws = bool(sys.stderr and sys.stderr.isatty()) and os.environ.get("TERM") != "dumb"
    found = Progress(what, length)
    if length <= 0 or not draws:
        yield found
        return
    import click

    with click.progressbar(
        length=length, label=found.text, file=sys.stderr, update_min_steps=1, width=0
    ) as bar:
        found.show(bar)
        yield found
