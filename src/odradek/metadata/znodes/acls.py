"""/kafka-acl and /kafka-acl-extended: the access rules of each pattern, and news of changes.

Literal patterns have stood in the first since Kafka 0.9, prefixed ones in the second since 2.0
(KIP-290). A change is two znodes, as of settings: the pattern's rules, and a sequential one that
names the pattern.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from odradek.metadata.json_body import Body, Json, MalformedZnode, encoded
from odradek.model.access import (
    Effect,
    Operation,
    Pattern,
    PatternType,
    ResourceType,
    Rule,
    Titled,
)

Word = TypeVar("Word", bound=Titled)


def _titles(kind: type[Word]) -> Mapping[str, Word]:
    return {it.title: it for it in kind}


RESOURCE_TYPES: Final = _titles(ResourceType)
OPERATIONS: Final = _titles(Operation)
EFFECTS: Final = _titles(Effect)


class AclsZnode:
    """The rules of one pattern."""

    LITERAL: Final = "/kafka-acl"
    PREFIXED: Final = "/kafka-acl-extended/prefixed"

    @classmethod
    def parent(cls, kind: PatternType) -> str:
        """Above the types of resources that have rules."""
        return cls.LITERAL if kind is PatternType.LITERAL else cls.PREFIXED

    @classmethod
    def parent_of_type(cls, resource: ResourceType, kind: PatternType) -> str:
        """Above the patterns of a type of resource."""
        return f"{cls.parent(kind)}/{resource.title}"

    @classmethod
    def path(cls, pattern: Pattern) -> str:
        """Where its rules are."""
        return f"{cls.parent_of_type(pattern.resource_type, pattern.type)}/{pattern.name}"

    @staticmethod
    def encode(rules: Iterable[Rule]) -> bytes:
        """In an order of their own; Kafka has none."""
        return encoded(
            {
                "version": 1,
                "acls": [
                    {
                        "principal": it.principal,
                        "permissionType": it.effect.title,
                        "operation": it.operation.title,
                        "host": it.host,
                    }
                    for it in sorted(rules)
                ],
            }
        )

    @classmethod
    def decode(cls, pattern: Pattern, data: bytes | None) -> frozenset[Rule]:
        """The rules; none where the znode holds nothing."""
        if not data:
            return frozenset()
        body = Body.parse(cls.path(pattern), data)
        body.integer("version", low=1, high=1)
        return frozenset(_rule(it) for it in body.bodies("acls"))


class AclsChangeZnode:
    """Sequential: a pattern whose rules were changed."""

    LITERAL: Final = "/kafka-acl-changes"
    EXTENDED: Final = "/kafka-acl-extended-changes"
    PARENTS: Final = (LITERAL, EXTENDED)
    PREFIX: Final = "acl_changes_"

    @classmethod
    def create_path(cls, pattern: Pattern) -> str:
        """Where the news of this pattern are made."""
        is_literal = pattern.type is PatternType.LITERAL
        return f"{cls.LITERAL if is_literal else cls.EXTENDED}/{cls.PREFIX}"

    @staticmethod
    def encode(pattern: Pattern) -> bytes:
        """A literal one as brokers before 2.0 read it."""
        kind, how, name = pattern
        if how is PatternType.LITERAL:
            return f"{kind.name}:{name}".encode()
        fields: dict[str, Json] = {"version": 1, "resourceType": kind.name, "name": name}
        return encoded({**fields, "patternType": how.name})

    @classmethod
    def decode(cls, parent: str, data: bytes | None) -> Pattern:
        """By where it stands."""
        if parent == cls.LITERAL:
            word, _, name = (data or b"").decode("utf-8", "replace").partition(":")
            if word not in ResourceType.__members__ or not name:
                raise MalformedZnode(f"{parent}: {data!r:.80} names no resource")
            return Pattern(ResourceType[word], PatternType.LITERAL, name)
        body = Body.parse(parent, data)
        body.integer("version", low=1, high=1)
        if body.text("patternType") != PatternType.PREFIXED.name:
            body.refuse("patternType", body.text("patternType"), "PREFIXED")
        kind = _word(body, "resourceType", ResourceType.__members__)
        return Pattern(kind, PatternType.PREFIXED, body.text("name"))


def resource_type(path: str, name: str) -> ResourceType:
    """The type that a child of a parent stands for."""
    if name not in RESOURCE_TYPES:
        raise MalformedZnode(f"{path}/{name[:80]}: no type of resource")
    return RESOURCE_TYPES[name]


def _rule(body: Body) -> Rule:
    principal = body.text("principal")
    kind, _, name = principal.partition(":")
    if not kind or not name:
        body.refuse("principal", principal, "a type and a name, such as User:alice")
    operation = _word(body, "operation", OPERATIONS)
    effect = _word(body, "permissionType", EFFECTS)
    return Rule(principal, body.text("host"), operation, effect)


def _word(body: Body, field: str, words: Mapping[str, Word]) -> Word:
    """Kafka reads these without regard to case."""
    text = body.text(field)
    for title, word in words.items():
        if title.lower() == text.lower():
            return word
    return body.refuse(field, text, f"one of {', '.join(words)}")
