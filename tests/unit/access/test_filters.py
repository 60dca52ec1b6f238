"""Which rules a filter means."""

import pytest

from odradek.access.filters import MATCH, Filter
from odradek.access.rule_book import RuleBook
from odradek.model.access import ANY, Effect, Operation, Pattern, PatternType, ResourceType, Rule

TOPIC, LITERAL, PREFIXED = ResourceType.TOPIC, PatternType.LITERAL, PatternType.PREFIXED
ORDERS = Pattern(TOPIC, LITERAL, "orders")
ALL = Pattern(TOPIC, LITERAL, "*")
ORD = Pattern(TOPIC, PREFIXED, "ord")
GROUP = Pattern(ResourceType.GROUP, LITERAL, "orders")
READ = Rule("User:alice", "*", Operation.READ, Effect.ALLOW)
WRITE = Rule("User:bob", "10.0.0.1", Operation.WRITE, Effect.DENY)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(), {ORDERS, ALL, ORD, GROUP}),
        (Filter(resource_type=TOPIC), {ORDERS, ALL, ORD}),
        (Filter(pattern_type=LITERAL, name="orders"), {ORDERS, GROUP}),
        (Filter(TOPIC, LITERAL, "ord"), set()),
        (Filter(TOPIC, PREFIXED, "ord"), {ORD}),
        (Filter(TOPIC, ANY, "ord"), {ORD}),
        (Filter(TOPIC, MATCH, "orders"), {ORDERS, ALL, ORD}),
        (Filter(TOPIC, MATCH, "oranges"), {ALL}),
        (Filter(TOPIC, MATCH), {ORDERS, ALL, ORD}),
        (Filter(principal="User:carol"), set()),
    ],
)
def test_patterns_that_are_meant(wanted: Filter, found: set[Pattern]) -> None:
    """By type, by name, or all under which a resource falls."""
    book = RuleBook()
    for pattern in (ORDERS, ALL, ORD, GROUP):
        book.replace(pattern, [READ, WRITE])
    assert {pattern for pattern, _ in wanted.find(book)} == found


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(), {READ, WRITE}),
        (Filter(principal="User:alice"), {READ}),
        (Filter(host="10.0.0.1"), {WRITE}),
        (Filter(host="*"), {READ}),
        (Filter(operation=Operation.READ), {READ}),
        (Filter(operation=Operation.ALL), set()),
        (Filter(effect=Effect.DENY), {WRITE}),
    ],
)
def test_rules_that_are_meant(wanted: Filter, found: set[Rule]) -> None:
    """A filter takes a rule's words literally: `*` is not any host."""
    book = RuleBook()
    book.replace(ORDERS, [READ, WRITE])
    assert {rule for _, rules in wanted.find(book) for rule in rules} == found
