"""Turns the definitions into `docs/compatibility.md`: what we know, and who offers it."""

from pathlib import Path
from typing import Final

from codegen.definitions import Message, Module
from codegen.offered import KAFKA_3_9, ODRADEK, SERVED_FROM

PATH: Final = Path("docs/compatibility.md")

OPENING: Final = """\
# Compatibility

Written by `python -m codegen` from `codegen/messages` and `codegen/offered.py`; where the
definitions come from is told in [protocol-sources.md](protocol-sources.md).

## APIs

*Codec* is what our codec reads and writes, requests and responses, in both directions. *Flexible*
is the version from which lengths are compact and fields may be tagged (KIP-482). *Kafka 3.9* is
what a broker of that release offers when it is run with ZooKeeper. *Broker* is what our own broker
offers. All ranges begin at version 0, and so do the ones that we offer: clients before librdkafka
2.11.1 switch features off when a minimum is raised. *Served* is the lowest version that is
handled; older ones get an error. What each handler leaves out is told in the
first lines of its module, `src/odradek/broker/handlers/`; what is not offered belongs to
the consumer protocol of KIP-848, share groups or KRaft.
"""

RULES: Final = """
OdradekAdmin is ours: what Kafka has no request for, such as `cluster.health`. It names an operation
and the resource that it acts on, and carries arguments and results as JSON objects; operations are
listed in `src/odradek/model/admin_operations.py`.

Key 74 is called ListClientMetricsResources in Kafka 3.9; its version 0 is the same bytes.

ListTransactions is offered up to version 1, as Kafka 3.9 has it: in version 2 a client sends a
regular expression for the ids that it wants. Python's `re` takes a time for some that grows without
bound, in which a broker would serve nobody; an engine that takes linear time (google-re2) is no
dependency of ours. Clients that know version 2 send version 1 here, and filter what they get, or
say that the broker has no such filter. All other filters are served.

Where bytes are not what they should be, we do as Kafka does, with these exceptions, all of them on
the strict side:

| bytes | Kafka 3.9 | Odradek |
|---|---|---|
| a string that is not UTF-8 | bad bytes replaced | refused, but for the client id |
| a nullable length below -1 | null | refused |
| a length of more than 31 bits | the low 32 bits taken | refused |
| a tagged field we know, not of the size it says | the size not looked at | refused |
| array elements and tagged fields of a message | as many as memory holds | 2,097,152 in all |

Tolerated, as by Kafka: bytes behind a request, unknown tagged fields, tagged fields in any order,
the last of two with one tag, and lengths written with more bytes than they need.

A field that is set, in a version that does not have it, is dropped if Kafka's definition calls it
ignorable; otherwise the message is not sent, and UNSUPPORTED_VERSION says which field it was.
"""

RECORDS: Final = """
## Records of internal topics

A key begins with the number of its type, a value with the number of its version.
"""


def render(definitions: list[Module]) -> str:
    """The whole page."""
    apis = sorted(
        (module for module in definitions if module.key is not None),
        key=lambda module: module.key or 0,
    )
    lines = [
        OPENING,
        "| key | API | codec | flexible | Kafka 3.9 | broker | served |",
        "|---|---|---|---|---|---|---|",
        *(_api(module) for module in apis),
        RULES.rstrip(),
        RECORDS,
        "| topic | type | record | versions of the value | flexible |",
        "|---|---|---|---|---|",
        *sorted(_records(definitions)),
    ]
    return "\n".join(lines) + "\n"


def _api(module: Module) -> str:
    request = module.messages[0]
    key = module.key
    assert key is not None
    cells = (key, module.api, request.versions, _flexible(request), _up_to(KAFKA_3_9.get(key)))
    served = SERVED_FROM.get(key)
    ours = (_up_to(ODRADEK.get(key)), "-" if served is None else f"{served}+")
    return "| " + " | ".join(map(str, (*cells, *ours))) + " |"


def _records(definitions: list[Module]) -> list[str]:
    return [
        f"| {module.topic} | {value.number:2} | {value.name.removesuffix('Value')} "
        f"| {value.versions} | {_flexible(value)} |"
        for module in definitions
        for value in module.messages
        if value.kind == "value"
    ]


def _flexible(message: Message) -> str:
    return "-" if message.flexible_from is None else f"{message.flexible_from}+"


def _up_to(last: int | None) -> str:
    if last is None:
        return "-"
    return f"0-{last}" if last else "0"
