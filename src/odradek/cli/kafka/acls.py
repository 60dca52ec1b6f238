"""`kafka-acls`: access rules listed, added and removed."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from odradek.access.filters import Filter
from odradek.cli.kafka.script import Misused, Script, ask, the_one
from odradek.cli.words.acl_options import RESOURCES, RULES, with_options, words
from odradek.cli.words.acl_words import PATTERN_TYPES, AclWords, flat, principal_of
from odradek.client.admin import access_rules
from odradek.client.admin.access_rules import EVERY_RULE, AccessRule
from odradek.client.cluster import Cluster
from odradek.model.access import Pattern, ResourceType, Rule
from odradek.model.errors import InvalidSetting

ANYTHING = "<any>"


@click.command("kafka-acls", cls=Script)
@click.option("--list", "lists", is_flag=True)
@click.option("--add", is_flag=True)
@click.option("--remove", is_flag=True)
@click.option("--principal", "principals", multiple=True, metavar="TYPE:NAME")
@click.option("--force", is_flag=True, help="Do not ask.")
@with_options(RESOURCES, RULES)
def command(
    *,
    lists: bool,
    add: bool,
    remove: bool,
    principals: tuple[str, ...],
    force: bool,
    **said: Any,
) -> None:
    """Kafka's script for access rules."""
    action = the_one({"list": lists, "add": add, "remove": remove})
    if principals and not lists:
        raise Misused("The --principal option is only available if --list is set")
    try:
        wanted = words(**said)
        match action:
            case "list":
                _list(wanted, [principal_of(it) for it in principals])
            case "add":
                _add(wanted.creations())
            case _:
                _remove(wanted.rules(), force=force)
    except InvalidSetting as error:
        raise Misused(str(error)) from None


def _list(wanted: AclWords, principals: Sequence[str]) -> None:
    filters = wanted.resources() or [EVERY_RULE]

    async def look(cluster: Cluster) -> list[AccessRule]:
        return sorted({row for it in filters for row in await access_rules.describe(cluster, it)})

    found = ask(look)
    if not principals:
        _print_rules(found)
    for principal in principals:
        click.echo(f"ACLs for principal `{principal}`")
        _print_rules(it for it in found if it.rule.principal == principal)


def _print_rules(found: Iterable[AccessRule]) -> None:
    by_pattern: dict[Pattern, list[Rule]] = {}
    for pattern, rule in found:
        by_pattern.setdefault(pattern, []).append(rule)
    for pattern, rules in by_pattern.items():
        click.echo(f"Current ACLs for resource `{_resource(*pattern)}`: \n{_block(rules)}")


def _add(rules: Mapping[Pattern, list[Rule]]) -> None:
    for pattern, of_it in rules.items():
        click.echo(f"Adding ACLs for resource `{_resource(*pattern)}`: \n{_block(of_it)}")
    wanted = flat(dict(rules))
    ask(lambda cluster: access_rules.create(cluster, wanted))


def _remove(rules: Mapping[Filter, list[Rule]], *, force: bool) -> None:
    for it, of_it in rules.items():
        name = _resource(it.resource_type, it.pattern_type, it.name)
        question = f"Are you sure you want to delete all ACLs for resource filter `{name}`? (y/n)"
        if of_it:
            question = (
                f"Are you sure you want to remove ACLs: \n{_block(of_it)} from resource filter "
                f"`{name}`? (y/n)"
            )
        if force or _agrees(question):
            _delete([it._replace(**rule._asdict()) for rule in of_it] or [it])


def _delete(filters: Sequence[Filter]) -> None:
    ask(lambda cluster: access_rules.delete(cluster, filters))


def _agrees(question: str) -> bool:
    click.echo(question)
    return sys.stdin is not None and sys.stdin.readline().strip().lower() == "y"


def _resource(kind: int, how: int, name: str | None) -> str:
    pattern = next(word.upper() for word, number in PATTERN_TYPES.items() if number == how)
    kind_name = ResourceType(kind).name
    said = ANYTHING if name is None else name
    return f"ResourcePattern(resourceType={kind_name}, name={said}, patternType={pattern})"


def _block(rules: Iterable[Rule]) -> str:
    """A line for each rule, as Kafka's script sets them out."""
    rows = [
        f"\t(principal={it.principal}, host={it.host}, operation={it.operation.name}, "
        f"permissionType={it.effect.name})"
        for it in rules
    ]
    return " " + "\n".join(rows) + " \n"
