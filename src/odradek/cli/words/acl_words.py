"""Access rules in the words of Kafka's `kafka-acls`: what its options come to.

They name resources (a filter each), and the rules that those shall have or lose. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from odradek.access.filters import MATCH, Filter
from odradek.client.admin.access_rules import AccessRule
from odradek.model.access import (
    ANY,
    ANY_HOST,
    CLUSTER,
    OPERATIONS,
    Effect,
    Operation,
    Pattern,
    PatternType,
    ResourceType,
    Rule,
)
from odradek.model.errors import InvalidSetting

OPERATION_TITLES: Final = {it.title.lower(): it for it in Operation}
PATTERN_TYPES: Final = {
    "literal": int(PatternType.LITERAL),
    "prefixed": int(PatternType.PREFIXED),
    "any": ANY,
    "match": MATCH,
}
CLUSTER_FILTER: Final = Filter(CLUSTER.type, PatternType.LITERAL, CLUSTER.name)

NOT_SPECIFIC: Final = "A '--resource-pattern-type' value of '{}' is not valid when adding acls."
NO_RESOURCE: Final = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> "
    "or --delegation-token <Delegation Token ID>"
)
NO_PRINCIPAL: Final = (
    "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
)
ROLE_AND_MORE: Final = "--producer and --consumer do not go with --operation and --deny-principal"
PRODUCER_TOPIC: Final = "With --producer you must specify a --topic"
ONLY_PRODUCER: Final = "The --idempotent option is only available if --producer is set"
CONSUMER_GROUP: Final = (
    "With --consumer you must specify a --topic and a --group and no --cluster or "
    "--transactional-id option should be specified."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AclWords:
    """What was said on the command line."""

    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    delegation_tokens: tuple[str, ...] = ()
    user_principals: tuple[str, ...] = ()
    cluster: bool = False
    pattern_type: int = PatternType.LITERAL
    operations: tuple[Operation, ...] = ()
    allow_principals: tuple[str, ...] = ()
    deny_principals: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    deny_hosts: tuple[str, ...] = ()
    producer: bool = False
    consumer: bool = False
    idempotent: bool = False

    def resources(self) -> list[Filter]:
        """What was named; the cluster has no patterns but its name."""
        named = (
            (ResourceType.TOPIC, self.topics),
            (ResourceType.GROUP, self.groups),
            (ResourceType.TRANSACTIONAL_ID, self.transactional_ids),
            (ResourceType.DELEGATION_TOKEN, self.delegation_tokens),
            (ResourceType.USER, self.user_principals),
        )
        rows = [
            Filter(kind, self.pattern_type, name.strip()) for kind, names in named for name in names
        ]
        if (self.cluster or self.idempotent) and self.pattern_type == PatternType.LITERAL:
            rows.append(CLUSTER_FILTER)
        return list(dict.fromkeys(rows))

    def rules(self) -> dict[Filter, list[Rule]]:
        """Those that each resource shall have, or lose; Kafka's own words where they are wrong."""
        self._check()
        found: dict[Filter, list[Rule]] = {}
        if self.producer:
            self._add(found, ResourceType.TOPIC, Operation.WRITE, *_DESCRIBE_AND_CREATE)
            kind = ResourceType.TRANSACTIONAL_ID
            self._add(found, kind, Operation.WRITE, Operation.DESCRIBE)
            if self.idempotent:
                found[CLUSTER_FILTER] = self._of((Operation.IDEMPOTENT_WRITE,))
        if self.consumer:
            self._add(found, ResourceType.TOPIC, Operation.READ, Operation.DESCRIBE)
            self._add(found, ResourceType.GROUP, Operation.READ)
        if not self.producer and not self.consumer:
            rules = self._of(self.operations or (Operation.ALL,))
            found = dict.fromkeys(self.resources(), rules)
        _check_operations(found)
        return found

    def creations(self) -> dict[Pattern, list[Rule]]:
        """The rules that are to be added, by their pattern."""
        if self.pattern_type in {ANY, MATCH}:
            raise InvalidSetting(NOT_SPECIFIC.format(_name_of(self.pattern_type)))
        found = self.rules()
        if not all(found.values()):
            raise InvalidSetting(NO_PRINCIPAL)
        return {
            Pattern(ResourceType(it.resource_type), PatternType(it.pattern_type), it.name or ""): (
                rules
            )
            for it, rules in found.items()
        }

    def _add(
        self, found: dict[Filter, list[Rule]], kind: ResourceType, *operations: Operation
    ) -> None:
        for it in self.resources():
            if it.resource_type == kind:
                rules = [*found.get(it, ()), *self._of(operations)]
                found[it] = list(dict.fromkeys(rules))

    def _of(self, operations: Sequence[Operation]) -> list[Rule]:
        sides = (
            (Effect.ALLOW, self.allow_principals, self.allow_hosts),
            (Effect.DENY, self.deny_principals, self.deny_hosts),
        )
        return [
            Rule(principal_of(principal), host.strip(), operation, effect)
            for effect, principals, hosts in sides
            for principal in principals
            for operation in operations
            for host in hosts or (ANY_HOST,)
        ]

    def _check(self) -> None:
        has_role = self.producer or self.consumer
        if has_role and (self.operations or self.deny_principals or self.deny_hosts):
            raise InvalidSetting(ROLE_AND_MORE)
        if self.producer and not self.topics:
            raise InvalidSetting(PRODUCER_TOPIC)
        if self.idempotent and not self.producer:
            raise InvalidSetting(ONLY_PRODUCER)
        more = not self.producer and (self.cluster or self.transactional_ids)
        if self.consumer and (not self.topics or not self.groups or more):
            raise InvalidSetting(CONSUMER_GROUP)
        if not self.resources():
            raise InvalidSetting(NO_RESOURCE)


_DESCRIBE_AND_CREATE: Final = (Operation.DESCRIBE, Operation.CREATE)


def principal_of(text: str) -> str:
    """As it stands in rules: a type and a name."""
    kind, colon, name = text.strip().partition(":")
    if not kind or not colon or not name:
        raise InvalidSetting(
            f"expected a string in format principalType:principalName but got {text.strip()[:100]}"
        )
    return f"{kind}:{name}"


def operation_named(title: str) -> Operation:
    """By Kafka's word for it, in any case."""
    found = OPERATION_TITLES.get(title.strip().lower())
    if found is None:
        known = ", ".join(it.title for it in Operation)
        raise InvalidSetting(f"there is no operation {title.strip()[:40]!r}; there are: {known}")
    return found


def flat(rules: dict[Pattern, list[Rule]]) -> list[AccessRule]:
    """One behind the other."""
    return [AccessRule(pattern, rule) for pattern, of_it in rules.items() for rule in of_it]


def _check_operations(found: Mapping[Filter, Sequence[Rule]]) -> None:
    for it, rules in found.items():
        kind = ResourceType(it.resource_type)
        valid = (*OPERATIONS[kind], Operation.ALL)
        if any(rule.operation not in valid for rule in rules):
            names = ", ".join(operation.title for operation in valid)
            raise InvalidSetting(f"ResourceType {kind.name} only supports operations {names}")


def _name_of(pattern_type: int) -> str:
    return next(name.upper() for name, it in PATTERN_TYPES.items() if it == pattern_type)
