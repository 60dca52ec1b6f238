"""Users and their rights, in short."""

from typing import Any

from odradek.client.admin.access_rules import AccessRule
from odradek.model.access import Effect, Operation, Pattern, PatternType, ResourceType, Rule
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.users import User
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.schema import Request, Struct

NAMED_TOPICS_UNTIL = 12
"""The last version of a fetch that has the names of topics."""


def about(kind: ResourceType, name: str) -> Pattern:
    """One resource, or all of the type."""
    return Pattern(kind, PatternType.LITERAL, name)


def allowed(user: str, pattern: Pattern, operation: Operation) -> AccessRule:
    """From wherever it comes."""
    return AccessRule(pattern, Rule(f"User:{user}", "*", operation, Effect.ALLOW))


def brokers_know(t: ClusterScenario, *rules: AccessRule) -> bool:
    """Whether every broker that serves decides by all of these."""
    for broker in t.brokers.values():
        if broker.process.broker is not None and broker.process.serves:
            known = broker.process.broker.services_of_this_life.rules
            assert known is not None
            book = known.decisions.book
            if not all(it.rule in book.of(it.pattern) for it in rules):
                return False
    return True


def code_of(user: User, broker: int, request: Request, version: int) -> ErrorCode:
    """What a broker says to it: the first code that is none; an answer without one is NONE."""

    async def ask() -> Any:
        return await (await user.cluster.broker(BrokerId(broker))).ask(request, version)

    return first_code(user.does(ask()))


def first_code(answer: Any) -> ErrorCode:
    """Of an answer, wherever it stands."""
    for field in answer.FIELDS:
        value = getattr(answer, field.name)
        if field.name == "error_code" and value:
            return ErrorCode(value)
        if isinstance(value, list | tuple):
            codes = [first_code(row) for row in value if isinstance(row, Struct)]
            if any(codes):
                return next(filter(None, codes))
    return ErrorCode.NONE


def read_code(user: User, broker: int, topic: str) -> ErrorCode:
    """What a broker says to a fetch."""
    wanted = [FetchTopic(topic, partitions=[FetchPartition(0)])]
    request = FetchRequest(topics=wanted, max_wait_ms=0)
    return code_of(user, broker, request, NAMED_TOPICS_UNTIL)
