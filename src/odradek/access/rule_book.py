"""All rules there are, found by what they are about."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from odradek.model.access import ANY_NAME, Pattern, PatternType, Resource, ResourceType, Rule

Rules = frozenset[Rule]
NO_RULES: Rules = frozenset()
ByPrincipal = Mapping[str, tuple[Rule, ...]]


class RuleBook:
    """The rules of each pattern. To find those of a resource takes a look for each prefix length.

    Rules of a pattern are replaced as one: that is how they are written and told.
    """

    def __init__(self) -> None:
        self._rules: dict[Pattern, Rules] = {}
        self._of_type = {it: _RulesOfType() for it in ResourceType}

    def __len__(self) -> int:
        """How many patterns have rules."""
        return len(self._rules)

    def __iter__(self) -> Iterator[tuple[Pattern, Rules]]:
        """In the order of their names."""
        return iter(sorted(self._rules.items()))

    def of(self, pattern: Pattern) -> Rules:
        """Exactly of this one."""
        return self._rules.get(pattern, NO_RULES)

    def replace(self, pattern: Pattern, rules: Iterable[Rule]) -> None:
        """These are its rules now; none: it is forgotten."""
        known = frozenset(rules)
        if self._rules.pop(pattern, None) is not None:
            self._of_type[pattern.resource_type].remove(pattern)
        if known:
            self._rules[pattern] = known
            self._of_type[pattern.resource_type].add(pattern, _by_principal(known))

    def close(self, pattern: Pattern) -> None:
        """It has rules that cannot be read: those known before hold, and it is not without any."""
        if pattern not in self._rules:
            self._rules[pattern] = NO_RULES
            self._of_type[pattern.resource_type].add(pattern, {})

    def about(self, resource: Resource) -> list[ByPrincipal]:
        """The rules of all patterns that this resource falls under, by the principal they name."""
        return self._of_type[resource.type].about(resource.name)

    def of_type(self, kind: ResourceType) -> Iterator[tuple[Pattern, Rules]]:
        """The patterns of one type of resource, in no order."""
        return (row for row in self._rules.items() if row[0].resource_type is kind)


class _RulesOfType:
    """The patterns of one type of resource."""

    def __init__(self) -> None:
        self._named: dict[PatternType, dict[str, ByPrincipal]] = {it: {} for it in PatternType}
        self._literal = self._named[PatternType.LITERAL]
        self._prefixed = self._named[PatternType.PREFIXED]
        self._prefixes: Counter[int] = Counter()  # of each length
        self._lengths: tuple[int, ...] = ()

    def add(self, pattern: Pattern, rules: ByPrincipal) -> None:
        """It has none yet."""
        self._named[pattern.type][pattern.name] = rules
        self._count(pattern, 1)

    def remove(self, pattern: Pattern) -> None:
        """With its rules."""
        del self._named[pattern.type][pattern.name]
        self._count(pattern, -1)

    def about(self, name: str) -> list[ByPrincipal]:
        """Of the whole name, of all names, and of what it begins with."""
        literals = (name, ANY_NAME) if name != ANY_NAME else (name,)
        found = [self._literal[it] for it in literals if it in self._literal]
        prefixed, size = self._prefixed, len(name)
        for length in self._lengths:
            if length > size:
                break
            rules = prefixed.get(name[:length])
            if rules is not None:
                found.append(rules)
        return found

    def _count(self, pattern: Pattern, more: int) -> None:
        """An empty prefix is about nothing."""
        length = len(pattern.name)
        if pattern.type is PatternType.PREFIXED and length:
            self._prefixes[length] += more
            self._lengths = tuple(sorted(+self._prefixes))


def _by_principal(rules: Rules) -> ByPrincipal:
    found: dict[str, tuple[Rule, ...]] = {}
    for rule in sorted(rules):
        found[rule.principal] = (*found.get(rule.principal, ()), rule)
    return found
