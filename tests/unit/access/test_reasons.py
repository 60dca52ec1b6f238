"""Which rule a decision rests on; the decision itself is the authorizer's."""

from random import Random

from odradek.access.decisions import Caller, Decisions
from odradek.access.reasons import NO_RULE, NO_RULE_AT_ALL, SUPER_USER, Reason, reason
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
ORDERS = Resource(ResourceType.TOPIC, "orders")
NAMED = Pattern(ResourceType.TOPIC, PatternType.LITERAL, "orders")
PREFIX = Pattern(ResourceType.TOPIC, PatternType.PREFIXED, "ord")
READS = Rule("User:alice", "*", Operation.READ, Effect.ALLOW)
DENIED = Rule("User:*", "*", Operation.ALL, Effect.DENY)


def test_what_denies_is_named_first() -> None:
    """By a prefix and for all users, whatever allows it by name."""
    book = Decisions().book
    book.replace(NAMED, [READS])
    assert reason(book, ALICE, Operation.DESCRIBE, ORDERS) == Reason(
        allowed=True, pattern=NAMED, rule=READS
    )
    book.replace(PREFIX, [DENIED])
    assert reason(book, ALICE, Operation.READ, ORDERS) == Reason(
        allowed=False, pattern=PREFIX, rule=DENIED
    )
    root = reason(book, ALICE, Operation.READ, ORDERS, super_users=["User:alice"])
    assert root == Reason(allowed=True, text=SUPER_USER)


def test_where_no_rule_decides() -> None:
    """A resource without any may be open; one with a rule for somebody else is not."""
    book = Decisions().book
    assert reason(book, ALICE, Operation.READ, ORDERS) == Reason(allowed=False, text=NO_RULE)
    opened = reason(book, ALICE, Operation.READ, ORDERS, everyone_if_no_rule=True)
    assert opened == Reason(allowed=True, text=NO_RULE_AT_ALL)
    book.replace(NAMED, [READS._replace(principal="User:bob")])
    closed = reason(book, ALICE, Operation.READ, ORDERS, everyone_if_no_rule=True)
    assert closed == Reason(allowed=False, text=NO_RULE)


def test_the_reason_is_that_of_the_decision() -> None:
    """For random rules, both say the same."""
    chance = Random(7)
    for _ in range(400):
        is_open = chance.random() < 0.5
        decided = Decisions(super_users=["User:root"], everyone_if_no_rule=is_open)
        for _ in range(chance.randrange(6)):
            kind = chance.choice((ResourceType.TOPIC, ResourceType.GROUP))
            name = chance.choice(("a", "ab", "abc", "*", "b"))
            pattern = Pattern(kind, chance.choice(list(PatternType)), name)
            rule = Rule(
                chance.choice(("User:alice", "User:bob", "User:*")),
                chance.choice(("*", "10.0.0.1", "10.0.0.2")),
                chance.choice((Operation.ALL, Operation.READ, Operation.DESCRIBE, Operation.ALTER)),
                chance.choice(list(Effect)),
            )
            decided.replace(pattern, decided.book.of(pattern) | {rule})
        for principal in ("User:alice", "User:root"):
            caller = Caller(principal, "10.0.0.1")
            for operation in (Operation.READ, Operation.DESCRIBE, Operation.ALTER):
                for name in ("a", "abc", "c"):
                    resource = Resource(ResourceType.TOPIC, name)
                    found = reason(
                        decided.book,
                        caller,
                        operation,
                        resource,
                        super_users=["User:root"],
                        everyone_if_no_rule=is_open,
                    )
                    assert found.allowed is decided.may(caller, operation, resource)
