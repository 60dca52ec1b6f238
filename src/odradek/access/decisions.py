"""The decision whether a principal, from its address, may do something to a resource.

Denied first: a rule that denies wins over any that allows. Nothing said is no, unless a resource
without any rule is open to all (`allow.everyone.if.no.acl.found`).
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple

from odradek.access.rule_book import ByPrincipal, RuleBook
from odradek.model.access import (
    ANY_HOST,
    ANY_NAME,
    ANY_USER,
    IMPLIED_BY,
    Effect,
    Operation,
    Pattern,
    PatternType,
    Resource,
    ResourceType,
    Rule,
)

REMEMBERED_MAX: Final = 100_000
"""Answers; then all are forgotten: a client that asks for ever new names takes no memory for it."""
NAME_MAX: Final = 249
"""Characters of a name whose answers are remembered: no topic's is longer, and a client may send
names of 32 KiB."""


class Caller(NamedTuple):
    """Somebody who asks for something."""

    principal: str  # such as User:alice
    host: str  # an address, as Java writes it


class Answers(dict[str, bool]):
    """Whether one caller may do one thing, by the name of the resource.

    They hold until a rule changes; later questions are put to new ones.
    """

    __slots__ = ("_decide",)

    def __init__(self, decide: Callable[[str], bool]) -> None:
        super().__init__()
        self._decide = decide

    def __missing__(self, name: str) -> bool:
        found = self._decide(name)
        if len(name) <= NAME_MAX:
            self[name] = found
        return found


class Decisions:
    """What the rules come to. Each answer is remembered until a rule changes."""

    def __init__(
        self, *, super_users: Iterable[str] = (), everyone_if_no_rule: bool = False
    ) -> None:
        self._super_users = frozenset(super_users)
        self._open = everyone_if_no_rule
        self._book = RuleBook()
        self._remembered: dict[tuple[Caller, Operation, ResourceType], Answers] = {}
        self._count = 0  # of answers that are remembered

    @property
    def book(self) -> RuleBook:
        """The rules, to be read."""
        return self._book

    def is_super_user(self, principal: str) -> bool:
        """Whether it may do everything, whatever the rules say."""
        return principal in self._super_users

    def replace(self, pattern: Pattern, rules: Iterable[Rule]) -> None:
        """These are its rules now."""
        self._book.replace(pattern, rules)
        self._forget()

    def close(self, pattern: Pattern) -> None:
        """Its rules cannot be read: only those that were known before allow anything."""
        self._book.close(pattern)
        self._forget()

    def answers(self, caller: Caller, operation: Operation, kind: ResourceType) -> Answers:
        """Whether it may do this to resources of the type, by their names."""
        key = (caller, operation, kind)
        known = self._remembered.get(key)
        if known is None:
            known = self._remembered[key] = Answers(partial(self._first, *key))
        return known

    def may(self, caller: Caller, operation: Operation, resource: Resource) -> bool:
        """Whether it is allowed."""
        return self.answers(caller, operation, resource.type)[resource.name]

    def may_to_some(self, caller: Caller, operation: Operation, kind: ResourceType) -> bool:
        """Whether there can be a resource of the type to which it is allowed (KIP-679)."""
        if caller.principal in self._super_users:
            return True
        denied, allowed = self._patterns_of(caller, operation, kind)
        if Pattern(kind, PatternType.LITERAL, ANY_NAME) in denied:
            return False
        return self._open or any(not _is_denied(it, denied) for it in allowed)

    def _forget(self) -> None:
        self._remembered.clear()
        self._count = 0

    def _first(self, caller: Caller, operation: Operation, kind: ResourceType, name: str) -> bool:
        if len(name) <= NAME_MAX:
            if self._count >= REMEMBERED_MAX:
                self._forget()
            self._count += 1
        return self._decide(caller, operation, Resource(kind, name))

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
    prefixes = (name[:length] for length in range(1, len(name) + 1))
    return any(Pattern(kind, PatternType.PREFIXED, it) in denied for it in prefixes)
