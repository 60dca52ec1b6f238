"""Ten thousand sets of rules, decided as Kafka's AclAuthorizer decides them.

Its rule is written here once more, as slowly and as plainly as it can be: every rule is looked at,
and nothing is remembered. What is expected is written from Kafka's source, not from ours.
"""

from random import Random
from typing import Final

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

SETS: Final = 10_000
QUESTIONS: Final = 6  # of each set
ALICE, BOB, ROOT = "User:alice", "User:bob", "User:root"
NAMES = ["a", "ab", "abc", "b", "*", "a*"]
PATTERN_NAMES = [*NAMES, "abcd"]
HOSTS = ["10.0.0.1", "10.0.0.2"]
KINDS = [ResourceType.TOPIC, ResourceType.GROUP]
OPERATIONS = [
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.CREATE,
]
Rules = list[tuple[Pattern, Rule]]


def _is_about(pattern: Pattern, kind: ResourceType, name: str) -> bool:
    if pattern.resource_type is not kind:
        return False
    if pattern.type is PatternType.PREFIXED:
        return name.startswith(pattern.name)
    return pattern.name in ("*", name)


def _names(rule: Rule, caller: Caller) -> bool:
    return rule.principal in ("User:*", caller.principal) and rule.host in ("*", caller.host)


def may(
    rules: Rules, caller: Caller, operation: Operation, resource: Resource, *, is_open: bool
) -> bool:
    """Super users may; without any rule it is as configured; denied first; then allowed."""
    if caller.principal == ROOT:
        return True
    about = [rule for pattern, rule in rules if _is_about(pattern, *resource)]
    if not about:
        return is_open
    mine = [rule for rule in about if _names(rule, caller)]
    for rule in mine:
        if rule.effect is Effect.DENY and rule.operation in (operation, Operation.ALL):
            return False
    does = {operation, Operation.ALL}
    if operation is Operation.DESCRIBE:
        does |= {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    if operation is Operation.DESCRIBE_CONFIGS:
        does |= {Operation.ALTER_CONFIGS}
    return any(rule.effect is Effect.ALLOW and rule.operation in does for rule in mine)


def may_somewhere(
    rules: Rules, caller: Caller, operation: Operation, kind: ResourceType, *, is_open: bool
) -> bool:
    """A pattern that allows, and that no literal or shorter prefix denies as a whole (KIP-679)."""
    if caller.principal == ROOT:
        return True
    mine = [
        (pattern, rule.effect)
        for pattern, rule in rules
        if pattern.resource_type is kind
        and _names(rule, caller)
        and rule.operation in (operation, Operation.ALL)
    ]
    denied = [pattern for pattern, effect in mine if effect is Effect.DENY]
    if any(it.type is PatternType.LITERAL and it.name == "*" for it in denied):
        return False
    if is_open:
        return True

    def is_dominated(name: str) -> bool:
        return any(it.type is PatternType.PREFIXED and name.startswith(it.name) for it in denied)

    for pattern, effect in mine:
        if effect is Effect.DENY:
            continue
        if pattern.type is PatternType.PREFIXED:
            if not is_dominated(pattern.name):
                return True
        elif pattern.name == "*" or not (pattern in denied or is_dominated(pattern.name)):
            return True
    return False


def _some_rules(random: Random) -> Rules:
    return [
        (
            Pattern(
                random.choice(KINDS),
                random.choice(list(PatternType)),
                random.choice(PATTERN_NAMES),
            ),
            Rule(
                random.choice([ALICE, BOB, "User:*"]),
                random.choice(["*", *HOSTS]),
                random.choice(OPERATIONS),
                random.choice(list(Effect)),
            ),
        )
        for _ in range(random.randrange(9))
    ]


def test_they_are_decided_as_kafka_decides() -> None:
    """Rules come and go between the questions, so that what is remembered has to be forgotten."""
    random, allowed = Random(7), 0
    for _ in range(SETS):
        is_open = random.random() < 0.2
        decisions = Decisions(super_users=[ROOT], everyone_if_no_rule=is_open)
        rules = _some_rules(random)
        for pattern, rule in rules:
            decisions.replace(pattern, decisions.book.of(pattern) | {rule})
        for _ in range(QUESTIONS):
            caller = Caller(random.choice([ALICE, ALICE, BOB, ROOT]), random.choice(HOSTS))
            operation, kind = random.choice(OPERATIONS[1:]), random.choice(KINDS)
            resource = Resource(kind, random.choice(NAMES))
            expected = may(rules, caller, operation, resource, is_open=is_open)
            said = (rules, caller, operation, resource, is_open)
            assert decisions.may(caller, operation, resource) is expected, said
            somewhere = may_somewhere(rules, caller, operation, kind, is_open=is_open)
            assert decisions.may_to_some(caller, operation, kind) is somewhere, said
            allowed += expected
            if rules and random.random() < 0.5:
                gone = random.choice(rules)[0]
                rules = [row for row in rules if row[0] != gone]
                decisions.replace(gone, [])
    assert SETS < allowed < SETS * QUESTIONS * 2 / 3, "the sets ask for something"
