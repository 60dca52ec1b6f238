"""`odradek acl`: access rules listed, added and removed, in the words of Kafka's `kafka-acls`."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import click

from odradek.access.filters import Filter
from odradek.cli.reaching.talking import talk
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import show_outcomes, show_table
from odradek.cli.words.acl_options import RESOURCES, RULES, with_options, words
from odradek.cli.words.acl_words import AclWords, flat, principal_of
from odradek.cli.words.grammar import DestroyingVerb, Noun
from odradek.client.admin import access_rules
from odradek.client.admin.access_rules import EVERY_RULE, AccessRule, str_of
from odradek.client.cluster import Cluster
from odradek.model.access import ANY, ANY_HOST, Effect
from odradek.model.counting import counted

COLUMNS: Final = ("resource", "name", "pattern", "effect", "principal", "operation", "host")
_principals = click.option(
    "--principal",
    "principals",
    multiple=True,
    metavar="TYPE:NAME",
    help="Rules of these principals alone.",
)


@click.group(cls=Noun)
def command() -> None:
    """Access rules (ACLs): list, add, remove."""


@command.command(name="list")
@_principals
@with_options(RESOURCES)
def list_rules(*, principals: tuple[str, ...], **said: Any) -> None:
    """List access rules: all, or those of some resources or principals."""
    filters = filters_of(words(**said), principals)
    show_table(
        COLUMNS, [cells(it) for it in talk(lambda it: find(it, filters))], "no rule is there"
    )


@command.command()
@with_options(RESOURCES, RULES)
def add(**said: Any) -> None:
    """Add access rules; what denies wins over what allows.

    Without --operation all operations are meant, without a host all hosts.
    """
    rules = flat(words(**said).creations())
    talk(lambda cluster: access_rules.create(cluster, rules))
    show_outcomes([(sentence(it), fields(it)) for it in rules])


@command.command(cls=DestroyingVerb)
@_principals
@with_options(RESOURCES, RULES)
def remove(*, principals: tuple[str, ...], **said: Any) -> None:
    """Remove access rules that are there.

    Each option narrows what is meant: without --operation rules of all operations are, without a
    principal those of all principals. Rules that are added meanwhile stay.
    """
    filters = filters_of(words(**said), principals)
    if EVERY_RULE in filters:
        raise click.UsageError("name a resource or a principal whose rules are to be removed")
    found = talk(lambda cluster: find(cluster, filters))
    if not found:
        show_outcomes([], "no such rule is there")
        return
    confirm(f"remove {counted(len(found), 'rule')} ({'; '.join(map(sentence, found))})")
    wanted = [it.filter for it in found]
    gone = talk(lambda cluster: access_rules.delete(cluster, wanted))
    show_outcomes([(f"removed: {sentence(it)}", fields(it)) for it in gone], "no rule was there")


async def find(cluster: Cluster, filters: Iterable[Filter]) -> list[AccessRule]:
    """The rules that any of them means, each once."""
    found: set[AccessRule] = set()
    for it in filters:
        found.update(await access_rules.describe(cluster, it))
    return sorted(found)


def filters_of(said: AclWords, principals: Sequence[str]) -> list[Filter]:
    """Of all that an option leaves open, everything is meant."""
    if said.producer or said.consumer:
        return [
            it._replace(**rule._asdict()) for it, rules in said.rules().items() for rule in rules
        ]
    who: list[tuple[str | None, int, tuple[str, ...]]] = [
        (principal_of(it), ANY, ()) for it in principals
    ]
    who += [(it, Effect.ALLOW, said.allow_hosts) for it in said.allow_principals]
    who += [(it, Effect.DENY, said.deny_hosts) for it in said.deny_principals]
    return [
        resource._replace(principal=principal, host=host, operation=operation, effect=effect)
        for resource in said.resources() or [EVERY_RULE]
        for principal, effect, hosts in who or [(None, ANY, said.allow_hosts + said.deny_hosts)]
        for host in hosts or (None,)
        for operation in said.operations or (ANY,)
    ]


def cells(row: AccessRule) -> tuple[object, ...]:
    """One row of the table."""
    (kind, how, name), rule = row
    effect, operation = rule.effect.title, rule.operation.title
    return kind.title, name, how.title, effect, rule.principal, operation, rule.host


def fields(row: AccessRule) -> dict[str, object]:
    """For programs."""
    return dict(zip(COLUMNS, cells(row), strict=True))


def sentence(row: AccessRule) -> str:
    """`User:alice may Read topic orders`."""
    verb = "may" if row.rule.effect is Effect.ALLOW else "may not"
    place = "" if row.rule.host == ANY_HOST else f" from {row.rule.host}"
    return f"{row.rule.principal} {verb} {row.rule.operation.title} {str_of(row.pattern)}{place}"
