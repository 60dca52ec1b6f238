"""`odradek security`: what a principal may do and why, and which certificates end when."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from odradek.access.decisions import Caller
from odradek.access.reasons import Reason, reason
from odradek.access.rule_book import RuleBook
from odradek.cli.access.acl import sentence
from odradek.cli.reaching import settings
from odradek.cli.reaching.talking import talk
from odradek.cli.showing.cells import Moment
from odradek.cli.showing.printing import show_table
from odradek.cli.words.acl_options import RESOURCES, with_options, words
from odradek.cli.words.acl_words import AclWords, operation_named, principal_of
from odradek.cli.words.grammar import Noun
from odradek.client.admin import access_rules, admin
from odradek.client.admin.access_rules import AccessRule
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.config.rows.broker import (
    ADMIN_LISTENER,
    ALLOW_EVERYONE_IF_NO_ACL_FOUND,
    AUTHORIZER_CLASS_NAME,
    SUPER_USERS,
)
from odradek.model.access import ANY_USER, CLUSTER, OPERATIONS, Operation, Resource, ResourceType
from odradek.model.admin_operations import CERTIFICATES_DESCRIBE
from odradek.model.errors import InvalidSetting, UnsupportedVersion
from odradek.security.certificates.tls_contexts import certificate_ends
from odradek.security.certificates.tls_settings import tls_settings

RIGHTS: Final = ("resource", "name", "operation", "allowed", "because")
CERTIFICATES: Final = ("of", "listener", "ends")
EVERY_LISTENER: Final = "*"
NO_AUTHORIZER: Final = "the broker has no authorizer"
NO_ADDRESS: Final = ""
ADMIN: Final = f"{ADMIN_LISTENER.name}."
_ON_LISTENER: Final = re.compile(r"listener\.name\.([^.]+)\.(ssl\..+)")


class Ground(NamedTuple):
    """What decisions rest on beside the rules, as one broker has it."""

    is_ruled: bool  # there is an authorizer
    super_users: tuple[str, ...]
    everyone_if_no_rule: bool


@click.group(cls=Noun)
def command() -> None:
    """What a principal may do and why; which certificates end."""


@command.command()
@click.option("--principal", metavar="TYPE:NAME", help="Whose rights are shown, as User:alice.")
@click.option("--host", metavar="ADDRESS", help="From where it asks, as rules write it.")
@click.option("--operation", "operations", multiple=True, metavar="NAME", help="These alone.")
@click.option(
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A properties file, of a broker or a client, whose key stores are looked at.",
)
@with_options(RESOURCES[:4])
def check(
    *,
    principal: str | None,
    host: str | None,
    operations: tuple[str, ...],
    file: Path | None,
    **said: Any,
) -> None:
    """Show what a principal may do, and by which rule; or when certificates end.

    With --principal each operation on each resource that is named is decided as brokers do it;
    where none is named, the cluster and what rules about the principal name. A prefix stands for
    what begins with it. Without --host only rules for all addresses count. Otherwise the
    certificates of all brokers' listeners are shown, or with --file those of its key stores.
    """
    if principal is not None:
        if file is not None:
            raise click.UsageError("--file is about certificates, --principal about rights")
        who = Caller(principal_of(principal), host or NO_ADDRESS)
        wanted = tuple(operation_named(it) for it in operations)
        rows = talk(lambda cluster: _rights(cluster, who, words(**said), wanted))
        show_table(RIGHTS, rows)
    elif file is not None:
        show_table(CERTIFICATES, _certificates_of_file(file), "there is no key store")
    else:
        show_table(CERTIFICATES, talk(_certificates), "no listener has a certificate")


async def _rights(
    cluster: Cluster, who: Caller, said: AclWords, operations: tuple[Operation, ...]
) -> list[tuple[object, ...]]:
    ground = await _ground(cluster)
    rules = await access_rules.describe(cluster) if ground.is_ruled else []
    by_pattern = defaultdict(list)
    for it in rules:
        by_pattern[it.pattern].append(it.rule)
    book = RuleBook()
    for pattern, some in by_pattern.items():
        book.replace(pattern, some)
    named = [Resource(ResourceType(it.resource_type), it.name or "") for it in said.resources()]
    return [
        (resource.type.title, resource.name, operation.title, found.allowed, _because(found))
        for resource in named or _about(rules, who.principal)
        for operation in OPERATIONS[resource.type]
        if not operations or operation in operations
        for found in (_decided(book, who, operation, resource, ground=ground),)
    ]


def _decided(
    book: RuleBook, who: Caller, operation: Operation, resource: Resource, *, ground: Ground
) -> Reason:
    if not ground.is_ruled:
        return Reason(allowed=True, text=NO_AUTHORIZER)
    return reason(
        book,
        who,
        operation,
        resource,
        super_users=ground.super_users,
        everyone_if_no_rule=ground.everyone_if_no_rule,
    )


def _about(rules: Iterable[AccessRule], principal: str) -> list[Resource]:
    named = {
        Resource(it.pattern.resource_type, it.pattern.name)
        for it in rules
        if it.rule.principal in {principal, ANY_USER} and it.pattern.resource_type in OPERATIONS
    }
    return sorted({CLUSTER, *named})


def _because(found: Reason) -> str:
    if found.pattern is None or found.rule is None:
        return found.text
    return sentence(AccessRule(found.pattern, found.rule))


async def _ground(cluster: Cluster) -> Ground:
    await cluster.refresh([])
    broker = min(cluster.brokers)
    found = {
        it.name: it.value or ""
        for it in await admin.describe_settings(cluster, admin.BROKER, str(broker))
    }
    return Ground(
        bool(found.get(AUTHORIZER_CLASS_NAME.name)),
        SUPER_USERS.kind.parse(found.get(SUPER_USERS.name, "")),
        found.get(ALLOW_EVERYONE_IF_NO_ACL_FOUND.name) == "true",
    )


async def _certificates(cluster: Cluster) -> list[tuple[object, ...]]:
    await cluster.refresh([])
    rows: list[tuple[object, ...]] = []
    for broker in sorted(cluster.brokers):
        wanted = Wanted(CERTIFICATES_DESCRIBE, resource=str(broker), broker=broker)
        try:
            found = (await operate(cluster, wanted))["certificates"]
        except UnsupportedVersion:  # a Kafka
            rows.append((f"broker {broker}", EVERY_LISTENER, None))
            continue
        rows += [(f"broker {broker}", it["listener"], Moment(it["ends"])) for it in found]
    return rows


def _certificates_of_file(file: Path) -> Iterator[tuple[object, ...]]:
    given, _ = settings.gather(file, ())
    for listener, texts in _key_stores({name: it.text for name, it in given.items()}).items():
        found = tls_settings(texts)
        if found.key_store is None:
            continue
        ends = certificate_ends(found, lambda path: Path(path).read_bytes())
        if ends is None:
            raise InvalidSetting(f"{found.key_store.location}: no certificate in PEM is in it")
        yield found.key_store.location or str(file), listener, Moment(ends)


def _key_stores(said: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The settings of TLS, for all listeners and for each that has some of its own."""
    common = {name: text for name, text in said.items() if name.startswith("ssl.")}
    found = {EVERY_LISTENER: common}
    for name, text in said.items():
        if own := _ON_LISTENER.fullmatch(name):
            found.setdefault(own[1], dict(common))[own[2]] = text
        elif name.startswith(ADMIN):
            found.setdefault(ADMIN_LISTENER.name, {})[name.removeprefix(ADMIN)] = text
    return found
