"""Quotas of users, clients and addresses, described and altered (KIP-546)."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.quotas.changes import ADDRESS, CLIENT, USER, AnyName, Name, Parts
from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)
from odradek.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

EXACT: Final = 0
DEFAULT: Final = 1
ANY: Final = 2


class Quota(NamedTuple):
    """What is set for an entity."""

    parts: Parts
    values: Mapping[str, float]


async def describe(
    cluster: Cluster, names: Mapping[str, Name], *, is_strict: bool = False
) -> list[Quota]:
    """Of the entities with these parts; strictly: with no others."""
    components = [_component(kind, name) for kind, name in names.items()]
    request = DescribeClientQuotasRequest(components, strict=is_strict)
    answer = await (await cluster.any()).ask(request)
    check(answer.error_code, answer.error_message)
    return [
        Quota(
            {it.entity_type: it.entity_name for it in entry.entity},
            {it.key: it.value for it in entry.values},
        )
        for entry in answer.entries or ()
    ]


def _component(kind: str, name: Name) -> ComponentData:
    if isinstance(name, AnyName):
        return ComponentData(kind, ANY, None)
    return ComponentData(kind, DEFAULT if name is None else EXACT, name)


async def alter(
    cluster: Cluster, parts: Parts, to: Mapping[str, float], gone: Sequence[str] = ()
) -> None:
    """All of it, or nothing."""
    entity = [EntityData(kind, name) for kind, name in parts.items()]
    ops = [OpData(name, value, remove=False) for name, value in to.items()]
    ops += [OpData(name, 0, remove=True) for name in gone]
    request = AlterClientQuotasRequest([RequestEntryData(entity, ops)])
    answer = await (await cluster.any()).ask(request)
    for row in answer.entries:
        check(row.error_code, row.error_message, about=in_words(parts))


WORDS: Final = {USER: "user", CLIENT: "client", ADDRESS: "address"}


def in_words(parts: Parts, words: Mapping[str, str] = WORDS, default: str = "every other") -> str:
    """`user 'alice', every other client`."""
    named = ((words[kind], parts[kind]) for kind in words if kind in parts)
    return ", ".join(
        f"{default} {word}" if name is None else f"{word} '{name}'" for word, name in named
    )
