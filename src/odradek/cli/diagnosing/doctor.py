"""`odradek doctor`: what keeps a client that stands here from working with a cluster.

From the outside in: names, ports, what speaks there, each broker at the address that it advertises,
what it tells of itself, and the cluster as a whole. Steps of one kind run side by side, each for a
short time, so that a cluster that does not answer is told of as soon as one that does.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence

import click

from odradek.cli.diagnosing.doctor_address import Reached, Unreached, World, look, text
from odradek.cli.diagnosing.doctor_broker import Advertised, Told, examine
from odradek.cli.diagnosing.doctor_cluster import coordinator, health, probe
from odradek.cli.diagnosing.doctor_finding import Finding, Level
from odradek.cli.reaching.client_settings import BOOTSTRAP, client_settings
from odradek.cli.reaching.talking import secured_network
from odradek.cli.showing.printing import output, print_json
from odradek.cli.words.failing import FAILED, UNREACHABLE
from odradek.cli.words.grammar import Verb
from odradek.cli.words.options import options, pasted
from odradek.client.addresses import addresses
from odradek.model.counting import counted
from odradek.ports import Address
from odradek.runtime.doors.clock import SystemClock
from odradek.security.client_settings import client_security


@click.command(cls=Verb)
@click.option(
    "--probe", "with_probe", is_flag=True, help="Send a record through a topic made for it."
)
def command(*, with_probe: bool) -> None:
    """Find out what keeps a client here from working.

    Looked at are names, ports and what speaks there; whether each broker is reachable at the
    address that it advertises, and is who it should be; versions, clocks, limits, log dirs; the
    coordinator of groups, and the cluster's health. Each finding says what to do next. Nothing is
    changed but by --probe, which makes a topic and deletes it.

    Exit code 1 if an error was found, 3 if no broker can be talked to; warnings are no error.
    --timeout is for each step.
    """
    found, is_reached = _found(with_probe=with_probe)
    if options().as_json:
        print_json(_plain(found))
    else:
        _print(found)
    if not is_reached:
        sys.exit(UNREACHABLE)
    sys.exit(FAILED if any(it.level is Level.ERROR for it in found) else 0)


def examined() -> list[dict[str, str]]:
    """The findings, for programs."""
    return _plain(_found(with_probe=False)[0])


def _found(*, with_probe: bool) -> tuple[list[Finding], bool]:
    """As the settings of this call's client have it; and whether anybody was reached."""
    settings = client_settings()
    security = client_security(settings)
    world = World(
        secured_network(settings),
        SystemClock(),
        has_tls=security.tls is not None,
        has_login=security.mechanism is not None,
    )
    bootstrap = addresses(settings[BOOTSTRAP])
    return asyncio.run(_examined(world, bootstrap, with_probe=with_probe))


def _plain(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [{**it._asdict(), "level": it.level.value} for it in findings]


def _print(findings: Sequence[Finding]) -> None:
    output()
    for it in findings:
        click.echo(f"{it.level.value}: {it.about}: {pasted(it.cause)}")
        if it.next_step:
            click.echo(f"  next: {pasted(it.next_step)}")
    counts = Counter(it.level for it in findings)
    errors, warnings = (
        counted(counts[Level.ERROR], "error"),
        counted(counts[Level.WARNING], "warning"),
    )
    click.echo(f"{len(findings)} looked at: {errors}, {warnings}")


async def _examined(
    world: World, bootstrap: Sequence[Address], *, with_probe: bool
) -> tuple[list[Finding], bool]:
    looked = await asyncio.gather(*(_first(world, address) for address in bootstrap))
    findings = [one for _, some in looked for one in some]
    reached = [(at, it) for at, (it, _) in zip(bootstrap, looked, strict=True) if it is not None]
    if not reached:
        return findings, False
    findings = [_beside_another(it) for it in findings]
    try:
        first, metadata = reached[0][0], reached[0][1].metadata
        findings += _one_cluster(reached)
        brokers = [
            Advertised(it.node_id, (it.host, it.port), metadata.cluster_id, first)
            for it in sorted(metadata.brokers, key=lambda it: it.node_id)
        ]
        examined = asyncio.gather(*(examine(world, it) for it in brokers))
        whole = asyncio.gather(coordinator(world, first), health(world, first))
        told = await examined
        findings += [one for _, some in told for one in some]
        findings += [one for some in await whole for one in some]
        if with_probe:
            findings += await probe(world, first)
        _close([it for it, _ in told])
    finally:
        for _, it in reached:
            it.connection.close()
    return findings, True


def _beside_another(finding: Finding) -> Finding:
    """Clients pass over a bootstrap server that is down, and go to the next."""
    is_down = finding.level is Level.ERROR and finding.check == "port"
    return finding._replace(level=Level.WARNING) if is_down else finding


def _close(told: Sequence[Told | None]) -> None:
    for it in told:
        if it is not None:
            it.reached.connection.close()


async def _first(world: World, address: Address) -> tuple[Reached | None, list[Finding]]:
    """One of the addresses that the client was given."""
    about = text(address)
    try:
        reached, doubts = await look(world, address)
    except Unreached as why:
        return None, [Finding(Level.ERROR, why.check, about, str(why), why.next_step)]
    cause = f"a broker of cluster {reached.metadata.cluster_id} answers"
    return reached, [Finding(Level.OK, "port", about, cause), *doubts]


def _one_cluster(reached: Sequence[tuple[Address, Reached]]) -> list[Finding]:
    """A client that is given two clusters works with either, by chance."""
    by_cluster: dict[str | None, list[str]] = {}
    for address, it in reached:
        by_cluster.setdefault(it.metadata.cluster_id, []).append(text(address))
    if len(by_cluster) == 1:
        return []
    told = "; ".join(f"{cluster} at {', '.join(where)}" for cluster, where in by_cluster.items())
    next_step = "name brokers of one cluster only"
    return [Finding(Level.ERROR, "port", "bootstrap", f"several clusters: {told}", next_step)]
