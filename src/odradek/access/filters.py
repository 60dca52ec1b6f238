"""Filters: which rules are listed, or deleted."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from odradek.access.rule_book import RuleBook, Rules
from odradek.model.access import ANY, ANY_NAME, Pattern, PatternType, ResourceType, Rule

MATCH: Final = 2  # of pattern types: all patterns under which a resource of the name falls


class Filter(NamedTuple):
    """What a client asks for; None and ANY stand for whatever it is."""

    resource_type: int = ANY
    pattern_type: int = ANY
    name: str | None = None
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    effect: int = ANY

    def is_about(self, pattern: Pattern) -> bool:
        """Whether rules of this pattern can be meant."""
        if self.resource_type not in {ANY, pattern.resource_type}:
            return False
        if self.pattern_type not in {ANY, MATCH, pattern.type}:
            return False
        if self.name is None or self.name == pattern.name:
            return True
        return self.pattern_type == MATCH and _falls_under(self.name, pattern)

    def means(self, rule: Rule) -> bool:
        """Whether this rule of such a pattern is meant."""
        return (
            self.principal in {None, rule.principal}
            and self.host in {None, rule.host}
            and self.operation in {ANY, rule.operation}
            and self.effect in {ANY, rule.effect}
        )

    def find(self, book: RuleBook) -> Iterator[tuple[Pattern, Rules]]:
        """The rules that are meant, in the order of their patterns."""
        for pattern, rules in book:
            if self.is_about(pattern) and (found := frozenset(filter(self.means, rules))):
                yield pattern, found

    def patterns(self, book: RuleBook) -> list[Pattern]:
        """Those with rules that can be meant, and the one that it names.

        That one may have rules that this broker has not heard of yet.
        """
        found = {pattern for pattern, _ in book if self.is_about(pattern)}
        if self.name and "/" not in self.name:
            with suppress(ValueError):  # one of them is ANY, or MATCH
                kind, how = ResourceType(self.resource_type), PatternType(self.pattern_type)
                found.add(Pattern(kind, how, self.name))
        return sorted(found)


def _falls_under(name: str, pattern: Pattern) -> bool:
    if pattern.type is PatternType.PREFIXED:
        return name.startswith(pattern.name)
    return pattern.name == ANY_NAME
