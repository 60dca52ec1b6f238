"""The decision whether a principal, from its address, may do something to a resource.

Denied first: a rule that denies wins over any that allows. Nothing said is no, unless a resource
without any rule is open to all (`allow.everyone.if.no.acl.found`).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from odradek.access.rule_book import ByPrincipal, RuleBook
from odradek.model.access import (
    ANY_HOST,
    ANY_NAME,
    ANY_USER,
    IMPLIED_BY,
    OPERATIONS,
    Effect,
    Operation,
    Pattern,
    PatternType,
    Resource,
    ResourceType,
    Rule,
)

REMEMBERED_MAX: Final = 100_000


class Caller(NamedTuple):
    """Somebody who asks for something."""

    principal: str  # such as User:alice
    host: str  # an address, as text


class Decisions:
    """What the rules come to. Each answer is remembered until a rule changes."""

    def __init__(
        self, *, super_users: Iterable[str] = (), everyone_if_no_rule: bool = False
    ) -> None:
        self._super_users = frozenset(super_users)
        self._open = everyone_if_no_rule
        self._book = RuleBook()
        self._remembered: dict[tuple[Caller, Operation, Resource], bool] = {}

    @property
    def book(self) -> RuleBook:
        """The rules, to be read."""
        return self._book

    def replace(self, pattern: Pattern, rules: Iterable[Rule]) -> None:
        """These are its rules now."""
        self._book.replace(pattern, rules)
        self._remembered.clear()

    def close(self, pattern: Pattern) -> None:
        """Its rules cannot be read: it is open to nobody whom those known before do not allow."""
        self._book.close(pattern)
        self._remembered.clear()

    def may(self, caller: Caller, operation: Operation, resource: Resource) -> bool:
        """Whether it is allowed."""
        key = (caller, operation, resource)
        known = self._remembered.get(key)
        if known is None:
            if len(self._remembered) >= REMEMBERED_MAX:
                self._remembered.clear()
            known = self._remembered[key] = self._decide(caller, operation, resource)
        return known

    def operations(self, caller: Caller, resource: Resource) -> frozenset[Operation]:
        """All that it may do to a resource."""
        known = OPERATIONS[resource.type]
        return frozenset(it for it in known if self.may(caller, it, resource))

    def may_to_some(self, caller: Caller, operation: Operation, kind: ResourceType) -> bool:
        """Whether there can be a resource of the type to which it is allowed (KIP-679)."""
        if caller.principal in self._super_users:
            return True
        denied, allowed = self._patterns_of(caller, operation, kind)
        if Pattern(kind, PatternType.LITERAL, ANY_NAME) in denied:
            return False
        return self._open or any(not _is_denied(it, denied) for it in allowed)

    def _decide(self, caller: Caller, operation: Operation, resource: Resource) -> bool:
        if caller.principal in self._super_users:
            return True
        about = self._book.about(resource)
        if not about:
            return self._open
        if _has(about, caller, (Operation.ALL, operation), Effect.DENY):
            return False
        wanted = (Operation.ALL, operation, *IMPLIED_BY.get(operation, ()))
        return _has(about, caller, wanted, Effect.ALLOW)

    def _patterns_of(
        self, caller: Caller, operation: Operation, kind: ResourceType
    ) -> tuple[set[Pattern], set[Pattern]]:
        """Those that deny it, and those that allow it."""
        found: dict[Effect, set[Pattern]] = {Effect.DENY: set(), Effect.ALLOW: set()}
        for pattern, rules in self._book.of_type(kind):
            for rule in rules:
                if rule.operation in {Operation.ALL, operation} and _is_about(rule, caller):
                    found[rule.effect].add(pattern)
        return found[Effect.DENY], found[Effect.ALLOW]


def _has(
    about: list[ByPrincipal], caller: Caller, operations: tuple[Operation, ...], effect: Effect
) -> bool:
    for rules in about:
        for principal in (caller.principal, ANY_USER):
            for rule in rules.get(principal, ()):
                if (
                    rule.effect is effect
                    and rule.operation in operations
                    and rule.host in {ANY_HOST, caller.host}
                ):
                    return True
    return False


def _is_about(rule: Rule, caller: Caller) -> bool:
    return rule.principal in {ANY_USER, caller.principal} and rule.host in {ANY_HOST, caller.host}


def _is_denied(allowed: Pattern, denied: set[Pattern]) -> bool:
    """Whether a rule that denies is about all that it stands for."""
    kind, name = allowed.resource_type, allowed.name
    if allowed.type is PatternType.LITERAL:
        if name == ANY_NAME:
            return False
        if allowed in denied:
            return True
    prefixes = (name[:length] for length in range(len(name) + 1))
    return any(Pattern(kind, PatternType.PREFIXED, it) in denied for it in prefixes)
