"""The options by which access rules are named: those of `kafka-acls`, for our verbs and for it."""

from collections.abc import Callable
from typing import Any, Final

import click

from odradek.cli.words.acl_words import PATTERN_TYPES, AclWords, operation_named, principal_of
from odradek.model.access import PatternType

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _many(name: str, parameter: str, metavar: str, text: str) -> Decorator:
    return click.option(name, parameter, multiple=True, metavar=metavar, help=text)


RESOURCES: Final = (
    _many("--topic", "topics", "NAME", "A topic, or '*' for all. Can be repeated, as all names."),
    _many("--group", "groups", "NAME", "A consumer group."),
    click.option("--cluster", is_flag=True, help="The cluster itself."),
    _many("--transactional-id", "transactional_ids", "ID", "A transactional id."),
    _many("--delegation-token", "delegation_tokens", "ID", "A delegation token."),
    _many("--user-principal", "user_principals", "NAME", "A user, as a resource."),
    click.option(
        "--resource-pattern-type",
        "pattern_type",
        type=click.Choice(list(PATTERN_TYPES), case_sensitive=False),
        default="literal",
        show_default=True,
        help="How names are meant. Any and match, which finds all rules that affect a resource, "
        "are for listing and removing.",
    ),
)
RULES: Final = (
    _many("--allow-principal", "allow_principals", "TYPE:NAME", "Who may, as User:alice."),
    _many("--deny-principal", "deny_principals", "TYPE:NAME", "Who may not, whatever else says."),
    _many("--allow-host", "allow_hosts", "ADDRESS", "From where it is allowed."),
    _many("--deny-host", "deny_hosts", "ADDRESS", "From where it is denied."),
    _many("--operation", "operations", "NAME", "Such as Read, Write, DescribeConfigs, All."),
    click.option("--producer", is_flag=True, help="All that a producer to the topics needs."),
    click.option("--consumer", is_flag=True, help="All that a consumer in the group needs."),
    click.option("--idempotent", is_flag=True, help="With --producer: IdempotentWrite as well."),
)


def with_options(*groups: tuple[Decorator, ...]) -> Decorator:
    """Adds them in this order."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed([it for group in groups for it in group]):
            function = option(function)
        return function

    return add


def words(**said: Any) -> AclWords:
    """What they were given."""
    pattern_type = PATTERN_TYPES[said.pop("pattern_type", None) or PatternType.LITERAL.name.lower()]
    for name in ("allow_principals", "deny_principals"):
        said[name] = tuple(principal_of(it) for it in said.get(name, ()))
    operations = tuple(operation_named(it) for it in said.pop("operations", ()))
    return AclWords(pattern_type=pattern_type, operations=operations, **said)
