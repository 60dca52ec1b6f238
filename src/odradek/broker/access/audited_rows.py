"""What an answer says of which resource, read off its fields: every API answers row by row.

A name stands in a row or in one around it; a row that has others within speaks only if it failed.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from odradek.broker.slices import ROWS_IN_A_SLICE
from odradek.model.access import Effect, Operation, PatternType, ResourceType, Titled
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicId, topic_id_text
from odradek.wire.messages.alter_client_quotas import EntityData
from odradek.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from odradek.wire.schema import NO_UUID, Array, Primitive, Request, Response, Struct, Type

NAMES: Final = (
    "resource_name",
    "topic_name",
    "topic",
    "name",
    "group_id",
    "transactional_id",
    "user",
    "feature",
    "key",
    "topic_id",
)
"""Fields that name a resource; the first of them that says something counts."""


def rows(request: Request, response: Response) -> Iterator[tuple[str, ErrorCode] | None]:
    """Each resource with each code that it has, once; None at times, where others may have a turn.

    A hundred thousand partitions of one topic are one row here, and take as long to look through.
    """
    if isinstance(request, CreateAclsRequest) and isinstance(response, CreateAclsResponse):
        pairs = zip(request.creations, response.results, strict=False)
        for seen, (creation, result) in enumerate(pairs, 1):
            yield _rule(creation), ErrorCode(result.error_code)
            if not seen % ROWS_IN_A_SLICE:
                yield None
        return
    told = set[tuple[str, int]]()
    for seen, row in enumerate(_walk(response, _name(request)), 1):
        if not seen % ROWS_IN_A_SLICE:
            yield None
        if row is not None and row not in told:
            told.add(row)
            yield row[0], ErrorCode(row[1])
    if not told:
        yield _name(request), ErrorCode.NONE


def resources(request: Request) -> list[str]:
    """The names that a request has, once each."""
    arrays = (getattr(request, it) for it in _shape(type(request)).arrays)
    named = (_name(row) for array in arrays for row in array or ())
    return [*dict.fromkeys(it for it in (_name(request), *named) if it)]


def _walk(row: Struct, around: str) -> Iterator[tuple[str, int] | None]:
    """What each row says, if it does."""
    name = _name(row) or around
    has_rows = False
    for field in _shape(type(row)).arrays:
        for inner in getattr(row, field) or ():
            has_rows = True
            yield from _walk(inner, name)
    code = getattr(row, "error_code", None)
    yield None if code is None or (has_rows and not code) else (name, code)


class Shape(NamedTuple):
    """Of one struct: the fields that are looked at."""

    arrays: tuple[str, ...]
    names: tuple[str, ...]


_shapes: dict[type[Struct], Shape] = {}


def _shape(kind: type[Struct]) -> Shape:
    found = _shapes.get(kind)
    if found is None:
        arrays = tuple(it.name for it in kind.FIELDS if _has_rows(it.type))
        names = {it.name for it in kind.FIELDS}
        found = _shapes[kind] = Shape(arrays, tuple(it for it in NAMES if it in names))
    return found


def _has_rows(kind: Type) -> bool:
    """The parts of the name of a quota are no rows."""
    return (
        isinstance(kind, Array) and not isinstance(kind.of, Primitive) and kind.of is not EntityData
    )


def _name(row: Struct) -> str:
    entity = getattr(row, "entity", None)
    if entity is not None:
        return ", ".join(f"{it.entity_type} {it.entity_name or '<default>'}" for it in entity)
    for field in _shape(type(row)).names:
        found = getattr(row, field)
        if found and found != NO_UUID:
            return topic_id_text(TopicId(found)) if isinstance(found, bytes) else str(found)
    return ""


def _rule(it: AclCreation) -> str:
    effect, operation = _word(Effect, it.permission_type), _word(Operation, it.operation)
    how = _word(PatternType, it.resource_pattern_type)
    on = f"{_word(ResourceType, it.resource_type)} {how} {it.resource_name}"
    return f"{effect} {it.principal} from {it.host} {operation} on {on}"


def _word(kind: type[Titled], number: int) -> str:
    """As the client sent it, where it means nothing."""
    return kind(number).name if number in {*kind} else str(number)
