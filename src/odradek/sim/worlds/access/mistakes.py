"""Rules of access turned into wrong ones, each of which the promises must notice."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from odradek.access import decisions
from odradek.access.decisions import Caller, Decisions
from odradek.access.rule_book import RuleBook
from odradek.broker.access.access_rules import AccessRules
from odradek.broker.access.authorizer import Authorizer
from odradek.broker.fetching import pending_fetch
from odradek.model.access import Effect, Operation, Pattern, PatternType, Resource, Rule
from odradek.sim.simulation import Knob

_may, _decide = Authorizer.may, Decisions._decide  # noqa: SLF001
_about, _look, _replace = RuleBook.about, AccessRules.look, Decisions.replace
_right = pending_fetch._right  # noqa: SLF001


def _quick_path_unchecked(authorizer: Any, client: Any, operation: Any, *about: Any) -> bool:
    """Only the quick path of Produce asks in this way about writing."""
    return operation is Operation.WRITE or _may(authorizer, client, operation, *about)


def _rows_unchecked(authorizer: Any, client: Any, request: Any, needs: Any) -> Any:
    """What a request needs is looked at, and nothing is taken out of it."""
    del authorizer, client, request, needs
    yield from ()


def _allow_first(it: Any, caller: Caller, operation: Operation, resource: Resource) -> bool:
    about, has = it.book.about(resource), decisions._has  # noqa: SLF001
    if has(about, caller, (Operation.ALL, operation), Effect.ALLOW):
        return True
    return bool(_decide(it, caller, operation, resource))


def _one_for_all(authorizer: Any, client: Any) -> Caller:
    """A client at an address is the first that asked from it."""
    found = authorizer._callers.setdefault(client.peer[0], None)  # noqa: SLF001
    if found is None:
        found = Caller(str(client.principal), client.peer[0])
        authorizer._callers[client.peer[0]] = found  # noqa: SLF001
    return found  # type: ignore[no-any-return]


def _without_prefixes(book: Any, resource: Resource) -> Any:
    """Rules for names that begin alike are passed over."""
    literal = RuleBook()
    for pattern, rules in book.of_type(resource.type):
        if pattern.type is PatternType.LITERAL:
            literal.replace(pattern, rules)
    return _about(literal, resource)


def _longer_prefixes(book: Any, resource: Resource) -> Any:
    """A prefix is about names that it begins, and about those that begin it."""
    more = RuleBook()
    for pattern, rules in book.of_type(resource.type):
        how, name = pattern.type, pattern.name
        if how is PatternType.PREFIXED and not resource.name.startswith(name[:1]):
            continue
        cut = name[:1] if how is PatternType.PREFIXED else name
        place = Pattern(resource.type, how, cut)
        more.replace(place, more.of(place) | rules)
    return _about(more, resource)


def _only_more(it: Any, pattern: Pattern, rules: Iterable[Rule]) -> None:
    """What is read is added to what was known."""
    _replace(it, pattern, {*rules, *it.book.of(pattern)})


async def _deaf(rules: Any, changed: Iterable[str], *, everything: str) -> None:
    """A change is read only when all is read."""
    if everything in frozenset(changed):
        await _look(rules, frozenset(changed), everything=everything)


def _decided_once(*about: Any) -> Any:
    """A right that is taken away while a fetch waits counts all the same."""
    return cache(_right(*about))


def _open(it: Any, caller: Caller, operation: Operation, resource: Resource) -> bool:
    """What no rule is about is everybody's."""
    return not it.book.about(resource) or bool(_decide(it, caller, operation, resource))


MISTAKES: Final[Mapping[str, tuple[Knob, ...]]] = {
    "quick-path-unchecked": (Knob(Authorizer, "may", _quick_path_unchecked),),
    "rows-unchecked": (Knob(Authorizer, "take_out", _rows_unchecked),),
    "cache-not-cleared": (Knob(Decisions, "_forget", lambda _: None),),
    "deny-after-allow": (Knob(Decisions, "_decide", _allow_first),),
    "one-caller-for-an-address": (Knob(Authorizer, "_caller", _one_for_all),),
    "prefixes-passed-over": (Knob(RuleBook, "about", _without_prefixes),),
    "prefixes-cut-short": (Knob(RuleBook, "about", _longer_prefixes),),
    "deleted-rules-stay": (Knob(Decisions, "replace", _only_more),),
    "changes-not-heard": (Knob(AccessRules, "look", _deaf),),
    "waiting-fetches-decided-once": (Knob(pending_fetch, "_right", _decided_once),),
    "anybody-is-everybody": (Knob(decisions, "ANY_USER", "User:nobody"),),
    "open-without-rules": (Knob(Decisions, "_decide", _open),),
}
"""By name."""
