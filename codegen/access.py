"""The page of what each request needs, from the table of handlers and that of OdradekAdmin."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from odradek.broker.access.need import REFUSALS, Each, Need, Served, Whole
from odradek.broker.apis import OFFERED
from odradek.broker.handlers.operations.table import OPERATIONS
from odradek.model.access import ResourceType
from odradek.wire.apis import APIS

PATH: Final = Path("docs/access.md")
HEAD: Final = """# What a request needs

Generated from the table of handlers by `./dev fix`. Operations and resources are those of Kafka's
access rules. A request that is refused as a whole is not served at all; where rows are refused, the
others are served. Without an authorizer nothing of this is asked ([security](security.md)).

| request | operation | on | refused |
|---|---|---|---|
"""
OWN: Final = """
## OdradekAdmin

All of them are decided on the cluster, also those that act on one broker.

| operation | acts on | needs |
|---|---|---|
"""


def render() -> str:
    """The text of the page."""
    rows = [line for key in sorted(OFFERED, key=_name) for line in _lines(key)]
    own = [
        f"| `{name}` | {it.contract.resource.name.lower()} | {it.contract.permission.title} |"
        for name, it in sorted(OPERATIONS.items())
    ]
    return HEAD + "\n".join(rows) + "\n" + OWN + "\n".join(own) + "\n"


def _name(key: int) -> str:
    return APIS[key].name


def _lines(key: int) -> Iterator[str]:
    needs = OFFERED[key].needs
    if not needs:
        yield f"| {_name(key)} | | | never |"
    for need in needs:
        yield f"| {_name(key)} | {need.operation.title} | {_resource(need)} | {_refused(need)} |"


def _resource(need: Need) -> str:
    on = need.resource.title
    if isinstance(need, Each):
        each = f"each {on}"
        return each if need.instead is None else f"{each}, or {need.instead.title} on the Cluster"
    return f"the {on}" if need.resource is ResourceType.CLUSTER else on


def _refused(need: Need) -> str:
    match need:
        case Whole():
            return f"as a whole: {REFUSALS[need.resource].name}"
        case Each():
            return f"that row: {REFUSALS[need.resource].name}"
        case Served():
            return need.otherwise
