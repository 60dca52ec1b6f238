"""Who may do what: denied first, then allowed, then nothing."""

import pytest

from odradek.access.decisions import Caller, Decisions
from odradek.model.access import (
    Effect,
    Operation,
    Pattern,
    PatternType,
    Resource,
    ResourceType,
    Rule,
)

ALICE = Caller("User:alice", "10.0.0.1")
BOB = Caller("User:bob", "10.0.0.2")
ORDERS = Resource(ResourceType.TOPIC, "orders")
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def topic(name: str, how: PatternType = LITERAL) -> Pattern:
    """A pattern of topics."""
    return Pattern(ResourceType.TOPIC, how, name)


def allow(
    operation: Operation = Operation.READ, principal: str = "User:alice", host: str = "*"
) -> Rule:
    """A rule that allows."""
    return Rule(principal, host, operation, Effect.ALLOW)


def deny(
    operation: Operation = Operation.READ, principal: str = "User:alice", host: str = "*"
) -> Rule:
    """A rule that denies."""
    return Rule(principal, host, operation, Effect.DENY)


def decisions(*rules: tuple[Pattern, Rule], open_to_all: bool = False) -> Decisions:
    """With these rules."""
    found = Decisions(super_users=["User:root"], everyone_if_no_rule=open_to_all)
    for pattern, rule in rules:
        found.replace(pattern, found.book.of(pattern) | {rule})
    return found


def test_what_no_rule_allows_is_refused() -> None:
    """For all but super users."""
    empty = decisions()
    assert not empty.may(ALICE, Operation.READ, ORDERS)
    assert empty.may(Caller("User:root", "::1"), Operation.READ, ORDERS)


def test_a_resource_without_rules_may_be_open_to_all() -> None:
    """But one that has any, for somebody else, is not."""
    found = decisions((topic("orders"), allow(principal="User:bob")), open_to_all=True)
    assert not found.may(ALICE, Operation.READ, ORDERS)
    assert found.may(ALICE, Operation.READ, Resource(ResourceType.TOPIC, "others"))


@pytest.mark.parametrize(
    ("pattern", "covers"),
    [
        (topic("orders"), True),
        (topic("*"), True),
        (topic("ord", PREFIXED), True),
        (topic("orders", PREFIXED), True),
        (topic("order"), False),
        (topic("orders-2", PREFIXED), False),
        (topic("", PREFIXED), False),  # an empty prefix is about nothing
        (topic("*", PREFIXED), False),
        (Pattern(ResourceType.GROUP, LITERAL, "orders"), False),
    ],
)
def test_a_pattern_covers_its_names(pattern: Pattern, *, covers: bool) -> None:
    """Whole ones, all of a type, or those that begin so."""
    assert decisions((pattern, allow())).may(ALICE, Operation.READ, ORDERS) is covers


def test_a_rule_that_denies_wins() -> None:
    """Wherever it stands, and whatever else allows."""
    found = decisions(
        (topic("orders"), allow(Operation.ALL)), (topic("o", PREFIXED), deny(Operation.WRITE))
    )
    assert found.may(ALICE, Operation.READ, ORDERS)
    assert not found.may(ALICE, Operation.WRITE, ORDERS)


def test_who_may_read_may_describe_and_who_may_not_still_may() -> None:
    """Allowing implies, denying does not."""
    found = decisions((topic("orders"), allow(Operation.READ)), (topic("a"), deny(Operation.READ)))
    assert found.may(ALICE, Operation.DESCRIBE, ORDERS)
    both = decisions(
        (topic("orders"), allow(Operation.WRITE)), (topic("orders"), deny(Operation.READ))
    )
    assert both.may(ALICE, Operation.DESCRIBE, ORDERS)


def test_a_rule_is_about_one_host_or_all() -> None:
    """An address is compared as it is written, without any mask."""
    found = decisions((topic("orders"), allow(host=ALICE.host, principal="User:*")))
    assert found.may(ALICE, Operation.READ, ORDERS)
    assert not found.may(BOB, Operation.READ, ORDERS)


def test_a_revoked_rule_counts_at_once() -> None:
    """What was remembered is forgotten with any change."""
    found = decisions((topic("orders"), allow()))
    assert found.may(ALICE, Operation.READ, ORDERS)
    found.replace(topic("orders"), [])
    assert not found.may(ALICE, Operation.READ, ORDERS)
    assert not len(found.book)


@pytest.mark.parametrize(
    ("rules", "may"),
    [
        ([], False),
        ([(topic("a"), allow(Operation.WRITE))], True),
        ([(topic("a"), allow(Operation.WRITE)), (topic("*"), deny(Operation.WRITE))], False),
        ([(topic("a"), allow(Operation.WRITE)), (topic("a"), deny(Operation.WRITE))], False),
        (
            [(topic("ab"), allow(Operation.WRITE)), (topic("a", PREFIXED), deny(Operation.ALL))],
            False,
        ),
        ([(topic("*"), allow(Operation.WRITE)), (topic("a", PREFIXED), deny(Operation.ALL))], True),
        ([(topic("a", PREFIXED), allow(Operation.ALL)), (topic("ab", PREFIXED), deny())], True),
        ([(topic("a"), allow(Operation.WRITE, host="10.9.9.9"))], False),
    ],
)
def test_whether_there_can_be_a_resource(rules: list[tuple[Pattern, Rule]], *, may: bool) -> None:
    """An idempotent producer needs the right to write to some topic (KIP-679)."""
    found = decisions(*rules)
    assert found.may_to_some(ALICE, Operation.WRITE, ResourceType.TOPIC) is may
