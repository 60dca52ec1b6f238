"""`odradek cluster roll`: all brokers restarted, one at a time, as `cluster restart-order` says.

Each by a command for the shell, how it ends is only printed. Warnings that may last (a disk that
wears, a throttle that was left) are told, and hold up nothing.
"""

import asyncio
import fcntl
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from odradek.cli.brokers.cluster_health import WARNINGS, sick
from odradek.cli.brokers.restart_order import order_of
from odradek.cli.brokers.rolling import Roll, registrations
from odradek.cli.reaching.talking import talk
from odradek.cli.replicas.former_assignment import state_folder
from odradek.cli.showing.printing import show
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import Verb
from odradek.cli.words.numbers import Number
from odradek.cli.words.options import pasted
from odradek.client.cluster import Cluster
from odradek.model.counting import counted

PATIENCE_SECONDS: Final = 600.0
ASK: Final = "wait for it, or end it with Ctrl-C: it says how to go on"


@click.command(cls=Verb)
@click.option(
    "--command",
    "template",
    required=True,
    metavar="TEXT",
    help="What restarts a broker, for the shell; {host} and {broker} stand for which.",
)
@click.option(
    "--since", type=int, metavar="N", help="Leave out brokers restarted since: see below."
)
@click.option(
    "--patience",
    type=Number(min=1),
    default=PATIENCE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long a broker may take to be back, and then the cluster to be healthy.",
)
@click.option(
    "--below-min-isr", is_flag=True, help="Go on although producers with acks=all are refused."
)
@click.option("--dry-run", is_flag=True, help="Only show which brokers would be restarted.")
def roll(
    *, template: str, since: int | None, patience: float, below_min_isr: bool, dry_run: bool
) -> None:
    """Restart all brokers, one at a time.

    For example --command 'ssh {host} systemctl restart odradek'. The controller is the last.
    Before each broker all partitions must be led and in sync; where they are not, nothing more is
    restarted, and a line says how to go on: with --since, whose number stands for the moment of the
    first start. That a broker has restarted is seen by its new registration, not by the exit code.
    """
    called = f"odradek cluster roll --command {shlex.quote(template)}"
    called += f" --patience {patience:g}" if patience != PATIENCE_SECONDS else ""
    called += " --below-min-isr" if below_min_isr else ""

    async def ask(cluster: Cluster) -> list[int]:
        before = await registrations(cluster)
        began = max(before.values(), default=0) if since is None else since
        order = [it for it in await order_of(cluster) if before.get(it, 0) <= began]
        if dry_run:
            return order
        again = f"{called} --since {began}"

        async def restart(broker: int, host: str) -> int:
            text = template.replace("{host}", host).replace("{broker}", str(broker))
            process = await asyncio.create_subprocess_shell(text, stdin=subprocess.DEVNULL)
            return await process.wait()

        with _the_only_roll((await cluster.refresh([])).cluster_id or ""):
            if order:  # at once: who is killed, or loses a terminal, says nothing more
                text = f"whenever this ends, the rest is restarted by: {pasted(again)}"
                click.echo(text, err=True)
            for it in await sick(cluster) if order else ():
                if it.problem in WARNINGS:
                    text = f"odradek: not in the way: {pasted(it.cause)}: {it.problem}"
                    click.echo(text, err=True)
            try:
                run = Roll(cluster, restart, began, again, patience, below_min_isr)
                return await run.run(order)
            except asyncio.CancelledError:
                click.echo(f"\nwhat was begun goes on; then: {pasted(again)}", err=True)
                raise

    order = talk(ask, endless=True)
    verb = "would be restarted" if dry_run else "restarted"
    names = ", ".join(map(str, order))
    show(order, f"{counted(len(order), 'broker')} {verb}" + (f": {names}" if order else ""))


@contextmanager
def _the_only_roll(cluster_id: str) -> Iterator[None]:
    """Of this user on this machine: two at once could stop two brokers at a time."""
    path = state_folder() / "rolls" / f"{cluster_id}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    except OSError:  # without a home nothing is kept
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise Failed(f"another roll of this cluster is under way: {file.read()}", ASK) from None
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield
