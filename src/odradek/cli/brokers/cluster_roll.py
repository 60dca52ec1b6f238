"""`odradek cluster roll`: all brokers restarted, one at a time, as `cluster restart-order` says.

That a broker has restarted is seen by its registration, which is a new one, and not by how the
command ended. Before each one every partition must be led and in sync, and partitions must keep as
many replicas in sync as min.insync.replicas asks for. Warnings that may last (a disk that wears, a
throttle that was left) are told, and hold up nothing.
"""

import asyncio
import shlex
import subprocess
from collections.abc import Mapping
from typing import Final

import click

from odradek.cli.brokers.cluster_health import WARNINGS, sick
from odradek.cli.brokers.restart_order import order_of
from odradek.cli.brokers.sick import Sick
from odradek.cli.reaching.talking import talk
from odradek.cli.showing.printing import show
from odradek.cli.showing.progress import REST_SECONDS_MAX, Pace
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import Verb
from odradek.cli.words.numbers import Number
from odradek.cli.words.options import pasted
from odradek.client.admin import admin
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.model.admin_operations import CONTROLLER_DESCRIBE
from odradek.model.counting import counted
from odradek.model.errors import BrokerError
from odradek.model.ids import BrokerId
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

POLL_SECONDS: Final = 0.5
PATIENCE_SECONDS: Final = 600.0
LOOKS_MIN: Final = 10
"""So often it is looked before patience ends."""
PASSING_SECONDS: Final = 10.0
"""What ends by itself within this time holds nothing up."""
MIN_ISR: Final = "min.insync.replicas"


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
        before = await _registrations(cluster)
        began = max(before.values(), default=0) if since is None else since
        order = [it for it in await order_of(cluster) if before.get(it, 0) <= began]
        if dry_run:
            return order
        again = f"{called} --since {began}"
        next_step = f"once that is mended: {again}"
        if order:  # at once: who is killed, or loses a terminal, says nothing more
            click.echo(f"whenever this ends, the rest is restarted by: {pasted(again)}", err=True)
        for it in await sick(cluster) if order else ():
            if it.problem in WARNINGS:
                click.echo(f"odradek: not in the way: {pasted(it.cause)}: {it.problem}", err=True)
        try:
            for number, broker in enumerate(order, 1):
                await _check(cluster, broker, next_step, below_min_isr=below_min_isr)
                click.echo(f"broker {broker} ({number} of {len(order)}): restarting", err=True)
                why = await _restart(cluster, broker, template, patience)
                if why is not None:
                    text = f"broker {broker} has not registered anew in {patience:g} s"
                    raise Failed(text, f"{why}; {next_step}")
                await _await_health(cluster, broker, patience, next_step)
        except asyncio.CancelledError:
            click.echo(f"\nwhat was begun goes on; then: {pasted(again)}", err=True)
            raise
        return order

    order = talk(ask, endless=True)
    verb = "would be restarted" if dry_run else "restarted"
    names = ", ".join(map(str, order))
    show(order, f"{counted(len(order), 'broker')} {verb}" + (f": {names}" if order else ""))


async def _registrations(cluster: Cluster) -> dict[int, int]:
    found = await operate(cluster, Wanted(CONTROLLER_DESCRIBE))
    return {int(broker): epoch for broker, epoch in found["registrations"].items()}


async def _in_the_way(cluster: Cluster) -> list[Sick]:
    """What is wrong and would be worse with a broker less."""
    return [it for it in await sick(cluster) if it.problem not in WARNINGS]


async def _check(cluster: Cluster, broker: int, next_step: str, *, below_min_isr: bool) -> None:
    """Refuses to restart it now; what passes within seconds is waited for."""
    pace = Pace(POLL_SECONDS, PASSING_SECONDS / LOOKS_MIN)
    last = pace.now + PASSING_SECONDS
    while found := await _in_the_way(cluster):
        if pace.now >= last:
            text = f"the cluster is not healthy: {found[0].cause}: {found[0].problem}"
            raise Failed(text, next_step)
        await pace.rest()
    if below_min_isr:
        return
    answer = await cluster.refresh(None)
    minimums = await _minimums(cluster, [topic.name or "" for topic in answer.topics])
    for topic in answer.topics:
        for row in topic.partitions:
            others = len(set(row.isr_nodes) - {broker})
            is_wide = len(row.replica_nodes) > 1  # one replica is away with its broker in any case
            least = min(minimums[topic.name or ""], len(row.replica_nodes))
            if broker in row.isr_nodes and is_wide and others < least:
                text = f"without broker {broker} {topic.name}-{row.partition_index} has {others}"
                text += f" in sync, and {MIN_ISR} is {least}: acks=all would be refused"
                raise Failed(text, f"{next_step}; or with --below-min-isr")


async def _minimums(cluster: Cluster, topics: list[str]) -> Mapping[str, int]:
    resources = [DescribeConfigsResource(admin.TOPIC, name, [MIN_ISR]) for name in topics]
    if not resources:
        return {}
    answer = await (await cluster.any()).ask(DescribeConfigsRequest(resources))
    return {
        result.resource_name: int(next((it.value for it in result.configs), None) or 1)
        for result in answer.results
    }


async def _restart(cluster: Cluster, broker: int, template: str, patience: float) -> str | None:
    """Returns once it has registered anew, however its command ends; or why it may not have."""
    former = (await _registrations(cluster)).get(broker)
    found = cluster.brokers.get(BrokerId(broker))
    if found is None:
        return "it is not registered any more"
    text = template.replace("{host}", found.address[0]).replace("{broker}", str(broker))
    process = await asyncio.create_subprocess_shell(text, stdin=subprocess.DEVNULL)
    async with asyncio.TaskGroup() as tasks:
        watch = tasks.create_task(_tell_how_it_ended(broker, process))
        is_back = await _is_new(cluster, (broker, former), patience)
        watch.cancel()
    if is_back:
        return None
    code = process.returncode
    if code is None:
        return "the command has not ended"
    return f"the command ended with {code}" if code else "its events say why"


async def _tell_how_it_ended(broker: int, process: asyncio.subprocess.Process) -> None:
    if code := await process.wait():
        click.echo(f"broker {broker}: the command ended with {code}", err=True)


def _pace(patience: float) -> Pace:
    return Pace(POLL_SECONDS, min(patience / LOOKS_MIN, REST_SECONDS_MAX))


async def _is_new(cluster: Cluster, was: tuple[int, int | None], patience: float) -> bool:
    broker, before = was
    pace = _pace(patience)
    try:
        async with asyncio.timeout(patience):
            while True:
                try:
                    now = (await _registrations(cluster)).get(broker)
                except BrokerError:  # it was the controller, or the broker that was asked
                    now = before
                if now is not None and now != before:
                    return True
                await pace.rest()
    except TimeoutError:
        return False


async def _await_health(cluster: Cluster, broker: int, patience: float, next_step: str) -> None:
    last, pace = "", _pace(patience)
    try:
        async with asyncio.timeout(patience):
            while True:
                try:
                    found = await _in_the_way(cluster)
                except BrokerError as error:
                    last = str(error)
                else:
                    if not found:
                        return
                    last = f"{found[0].cause}: {found[0].problem}"
                await pace.rest()
    except TimeoutError:
        text = f"broker {broker} is back, and after {patience:g} s there is still: {last}"
        raise Failed(text, next_step) from None
