"""`odradek user`: users with a SCRAM password listed, added and removed."""

from typing import Final

import click

from odradek.cli.reaching.talking import talk
from odradek.cli.showing.confirming import ask_password, confirm
from odradek.cli.showing.printing import show_outcomes, show_table
from odradek.cli.words.grammar import DestroyingVerb, Noun
from odradek.cli.words.numbers import Whole
from odradek.client.admin import scram_users
from odradek.client.admin.scram_users import SALT_BYTES, NewCredential, scram_named
from odradek.client.cluster import Cluster
from odradek.runtime.doors.chance import SystemRandom
from odradek.security.mechanisms.scram import ROUNDS_MAX, ROUNDS_MIN, SCRAMS, SHA_512

COLUMNS: Final = ("user", "mechanism", "iterations")
MECHANISM: Final = click.Choice(list(SCRAMS), case_sensitive=False)


@click.group(cls=Noun)
def command() -> None:
    """Users with a SCRAM password: list, add, remove."""


@command.command(name="list")
@click.argument("users", nargs=-1)
def list_users(*, users: tuple[str, ...]) -> None:
    """List users and their mechanisms."""

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        return [tuple(it) for it in await scram_users.describe(cluster, users or None)]

    show_table(COLUMNS, talk(ask), "no user has a SCRAM password")


@command.command()
@click.argument("user")
@click.option("--mechanism", type=MECHANISM, default=SHA_512.name, show_default=True)
@click.option(
    "--iterations",
    type=Whole(ROUNDS_MIN, ROUNDS_MAX),
    default=ROUNDS_MIN,
    show_default=True,
    help="What a guess costs, and a login.",
)
@click.option("--password", metavar="TEXT", help="Asked for where it is not given.")
def add(*, user: str, mechanism: str, iterations: int, password: str | None) -> None:
    """Set the password of a user, who is added where missing."""
    password = password or ask_password(f"the password of {user}")
    new = NewCredential(scram_named(mechanism), password, iterations)
    salt = SystemRandom().bytes(SALT_BYTES)

    async def ask(cluster: Cluster) -> None:
        await scram_users.alter(cluster, user, [(new, salt)])

    talk(ask)
    fields = {"user": user, "mechanism": new.scram.name, "iterations": iterations}
    show_outcomes([(f"user {user} logs in by {new.scram.name}", fields)])


@command.command(cls=DestroyingVerb)
@click.argument("user")
@click.option("--mechanism", type=MECHANISM, help="Only this one.")
def remove(*, user: str, mechanism: str | None) -> None:
    """Take the passwords of a user away; who is connected stays so."""
    confirm(f"remove the password of user {user}")

    async def ask(cluster: Cluster) -> list[str]:
        found = [it.mechanism for it in await scram_users.describe(cluster, [user])]
        gone = [mechanism.upper()] if mechanism is not None else found
        await scram_users.alter(cluster, user, gone=[scram_named(it) for it in gone])
        return gone

    rows = [(f"user {user} has no {it} password", {"user": user}) for it in talk(ask)]
    show_outcomes(rows)
