"""`odradek cluster features`: what the whole cluster has agreed upon."""

from typing import Final

import click

from odradek.cli.reaching.patience import PatientCluster
from odradek.cli.reaching.talking import settings_of, talk
from odradek.cli.showing.printing import show_outcomes, show_table
from odradek.client.admin import features as client
from odradek.client.cluster import Cluster

WAITING: Final = "waiting for transactions that are open"


@click.command()
@click.argument("levels", nargs=-1, metavar="[NAME=LEVEL...]")
def features(*, levels: tuple[str, ...]) -> None:
    """Show the features of the cluster and their levels, or set some.

    With transaction.version=2 clients that know it (Java from 4.0 on) use version 2 of
    transactions. A Kafka broker that coordinates through ZooKeeper ends itself at any level but 0,
    so it is refused while one is registered. Before the level falls to 0, transactions that are
    open are waited for, as long as --timeout says; clients begin no others in version 2.
    """
    if not levels:
        show_table(client.Feature._fields, talk(client.describe))
        return
    for name, text in settings_of(levels).items():
        if not text.isdecimal():
            raise click.BadParameter(f"{name}={text} is no number")
        level = int(text)

        async def alter(cluster: Cluster, name: str = name, level: int = level) -> None:
            assert isinstance(cluster, PatientCluster), cluster
            with cluster.waits.waiting("") as precisely:
                await client.alter(cluster, name, level, lambda it: precisely(f"{WAITING}: {it}"))

        talk(alter)
        show_outcomes([(f"{name}={level}", {"name": name, "level": level})])
