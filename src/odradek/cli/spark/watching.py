"""What a verb on Spark says while it works: a line on a terminal, in a log one every 30 seconds."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from odradek.pipelines.definition.progress import Figures
    from odradek.pipelines.moving.watching import Watch

TERMINAL_S: Final = 1.0
LOG_S: Final = 30.0
CLEAR: Final = "\r\x1b[K"


@contextmanager
def watched_by_person(spark: Any) -> Iterator["Watch"]:
    """Tells on stderr while the verb works, and leaves a terminal as it was."""
    from odradek.pipelines.moving.watching import tasks_of, watched

    is_terminal = bool(sys.stderr and sys.stderr.isatty())

    def tell(line: str) -> None:
        click.echo(f"{CLEAR}{line}" if is_terminal else line, err=True, nl=not is_terminal)

    try:
        with watched(tasks_of(spark), TERMINAL_S if is_terminal else LOG_S, tell) as watch:
            yield watch
    finally:
        if is_terminal:
            click.echo(CLEAR, err=True, nl=False)


def serve_figures(stack: ExitStack, figures: "Figures", place: str | None) -> None:
    """What `--metrics HOST:PORT` asks for, as long as the verb works."""
    from odradek.pipelines.definition.progress import served

    if place is None:
        return
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit():
        raise click.BadParameter(f"{place!r} is no HOST:PORT", param_hint="--metrics")
    at = stack.enter_context(served(figures, host, int(port)))
    click.echo(f"figures at http://{host}:{at}/metrics", err=True)
