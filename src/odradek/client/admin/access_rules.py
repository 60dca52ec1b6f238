"""Access rules of a cluster: listed, added, and taken back, by its controller."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from odradek.access.filters import Filter
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.access import Effect, Operation, Pattern, PatternType, ResourceType, Rule
from odradek.wire.messages.create_acls import AclCreation, CreateAclsRequest
from odradek.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from odradek.wire.messages.describe_acls import DescribeAclsRequest

EVERY_RULE: Final = Filter()


class AccessRule(NamedTuple):
    """What it is about, and what it says."""

    pattern: Pattern
    rule: Rule

    @property
    def filter(self) -> Filter:
        """What means this rule, and no other."""
        kind, how, name = self.pattern
        return Filter(kind, how, name, *self.rule)


def creation(rules: Sequence[AccessRule]) -> CreateAclsRequest:
    """The request that adds them."""
    return CreateAclsRequest(
        [
            AclCreation(pattern.resource_type, pattern.name, pattern.type, *rule)
            for pattern, rule in rules
        ]
    )


async def create(cluster: Cluster, rules: Sequence[AccessRule]) -> None:
    """Those that exist stay."""
    request = creation(rules)

    async def attempt() -> None:
        answer = await (await cluster.controller()).ask(request)
        for (pattern, _), result in zip(rules, answer.results, strict=True):
            check(result.error_code, result.error_message, about=str_of(pattern))

    await cluster.patiently(attempt)


async def describe(cluster: Cluster, wanted: Filter = EVERY_RULE) -> list[AccessRule]:
    """Those that a filter means. The controller is asked, which has made the last of them."""
    request = DescribeAclsRequest(
        wanted.resource_type,
        wanted.name,
        wanted.pattern_type,
        wanted.principal,
        wanted.host,
        wanted.operation,
        wanted.effect,
    )

    async def attempt() -> list[AccessRule]:
        answer = await (await cluster.controller()).ask(request)
        check(answer.error_code, answer.error_message)
        return [
            AccessRule(_pattern(it.resource_type, it.pattern_type, it.resource_name), _rule(row))
            for it in answer.resources
            for row in it.acls
        ]

    return sorted(await cluster.patiently(attempt))


async def delete(cluster: Cluster, filters: Sequence[Filter]) -> list[AccessRule]:
    """All that they mean; these are gone."""
    request = DeleteAclsRequest(
        [
            DeleteAclsFilter(
                it.resource_type,
                it.name,
                it.pattern_type,
                it.principal,
                it.host,
                it.operation,
                it.effect,
            )
            for it in filters
        ]
    )

    async def attempt() -> list[AccessRule]:
        answer = await (await cluster.controller()).ask(request)
        found = []
        for result in answer.filter_results:
            check(result.error_code, result.error_message)
            for row in result.matching_acls:
                pattern = _pattern(row.resource_type, row.pattern_type, row.resource_name)
                check(row.error_code, row.error_message, about=str_of(pattern))
                found.append(AccessRule(pattern, _rule(row)))
        return found

    return sorted(await cluster.patiently(attempt))


def str_of(pattern: Pattern) -> str:
    """For a person: `topic orders`, or `topics that begin with orders`."""
    kind = pattern.resource_type.name.lower().replace("_", " ")
    if pattern.type is PatternType.PREFIXED:
        return f"{kind}s that begin with {pattern.name}"
    return f"every {kind}" if pattern.name == "*" else f"{kind} {pattern.name}"


def _pattern(kind: int, how: int, name: str) -> Pattern:
    return Pattern(ResourceType(kind), PatternType(how), name)


def _rule(row: Any) -> Rule:
    return Rule(row.principal, row.host, Operation(row.operation), Effect(row.permission_type))
