"""Progress of what takes more than a second: a bar on a terminal's stderr, elsewhere nothing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """What a verb tells."""

    def update(self, n_steps: int) -> None:
        """So many more are done."""


class _Silent:
    def update(self, n_steps: int) -> None:
        """It is not shown."""


@contextmanager
def progress(what: str, length: int) -> Iterator[Progress]:
    """A bar named `what` with `length` steps, of bytes, records or partitions."""
    if length <= 0 or not (sys.stderr and sys.stderr.isatty()):
        yield _Silent()
        return
    import click

    with click.progressbar(
        length=length, label=what, file=sys.stderr, show_pos=True, update_min_steps=1
    ) as bar:
        yield bar
