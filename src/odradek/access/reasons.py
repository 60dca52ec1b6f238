"""Why a decision is what it is: the rule that it rests on, for people.

Looks at every rule, in the order in which rules count. `Decisions` finds the same by its index.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from odradek.access.decisions import Caller
from odradek.access.rule_book import RuleBook
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
    Rule,
)

SUPER_USER: Final = "a super user"
NO_RULE_AT_ALL: Final = "the resource has no rule, and allow.everyone.if.no.acl.found is true"
NO_RULE: Final = "no rule allows it"


class Reason(NamedTuple):
    """The decision, and the rule behind it, or a sentence where there is none."""

    allowed: bool
    text: str = ""
    pattern: Pattern | None = None
    rule: Rule | None = None


def reason(
    book: RuleBook,
    caller: Caller,
    operation: Operation,
    resource: Resource,
    *,
    super_users: Iterable[str] = (),
    everyone_if_no_rule: bool = False,
) -> Reason:
    """What denies comes first; what allows one operation can imply another."""
    if caller.principal in super_users:
        return Reason(allowed=True, text=SUPER_USER)
    about = [(pattern, rules) for pattern, rules in book if _covers(pattern, resource)]
    if not about:
        text = NO_RULE_AT_ALL if everyone_if_no_rule else NO_RULE
        return Reason(allowed=everyone_if_no_rule, text=text)
    wider = {
        Effect.DENY: (operation, Operation.ALL),
        Effect.ALLOW: (operation, Operation.ALL, *IMPLIED_BY.get(operation, ())),
    }
    for effect, operations in wider.items():
        for pattern, rules in about:
            for rule in sorted(rules):
                if (
                    rule.effect is effect
                    and rule.operation in operations
                    and rule.principal in {caller.principal, ANY_USER}
                    and rule.host in {caller.host, ANY_HOST}
                ):
                    return Reason(effect is Effect.ALLOW, pattern=pattern, rule=rule)
    return Reason(allowed=False, text=NO_RULE)


def _covers(pattern: Pattern, resource: Resource) -> bool:
    if pattern.resource_type is not resource.type:
        return False
    if pattern.type is PatternType.PREFIXED:
        return bool(pattern.name) and resource.name.startswith(pattern.name)
    return pattern.name in {ANY_NAME, resource.name}
