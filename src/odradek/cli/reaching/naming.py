"""Finding what people name: topics, groups, brokers, by their names or by patterns.

A name with `*`, `?` or `[` is a pattern as in a shell; no topic's name can hold these. A name that
is unknown is refused with the nearest one that is known.
"""

import asyncio
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from odradek.cli.words.failing import FAILED, UNREADABLE, Failed, reason, unknown
from odradek.cli.words.options import options, pasted
from odradek.client.admin import admin
from odradek.client.admin.admin import ListedGroups
from odradek.client.cluster import Cluster
from odradek.client.errors import UnreadableLog
from odradek.model.counting import counted
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.names import INTERNAL_TOPICS
from odradek.peers.errors import ConnectionGone
from odradek.wire.messages.metadata import MetadataResponse, MetadataResponseTopic

COMPLETION_SECONDS = 1.0
ANSWER_SECONDS: Final = 5.0


def is_pattern(name: str) -> bool:
    """Whether it may stand for several."""
    return any(letter in name for letter in "*?[")


def matching(names: Iterable[str], known: Iterable[str], kind: str, list_them: str) -> list[str]:
    """All that are meant, each once, in the order in which they were named."""
    every = sorted(known)
    found: dict[str, None] = {}
    for name in names:
        if name in every:
            found[name] = None
        elif is_pattern(name):
            fitting = [it for it in every if fnmatchcase(it, name)]
            if not fitting:
                raise Failed(f"no {kind} matches {name!r}", list_them)
            found.update(dict.fromkeys(fitting))
        else:
            raise unknown(kind, name, every, list_them)
    return list(found)


async def topics_named(
    cluster: Cluster, names: Sequence[str], *, internal: bool = False
) -> list[MetadataResponseTopic]:
    """Topics by name or pattern; without any all, of the internal ones only if asked for.

    A cluster may have very many: where names are whole only those are asked for.
    """
    if names and not any(map(is_pattern, names)):
        answer = await cluster.refresh(list(dict.fromkeys(names)))
        if all(topic.error_code == ErrorCode.NONE for topic in answer.topics):
            return topics_of(answer, names, internal=internal)
    return topics_of(await cluster.refresh(None), names, internal=internal)


def topics_of(
    answer: MetadataResponse, names: Sequence[str], *, internal: bool = False
) -> list[MetadataResponseTopic]:
    """Likewise, of those in an answer."""
    known = {topic.name: topic for topic in answer.topics if topic.name}
    if not names:
        shown = [name for name in sorted(known) if internal or name not in INTERNAL_TOPICS]
        return [known[name] for name in shown]
    return [known[name] for name in matching(names, known, "topic", "odradek topic list")]


async def topic_named(cluster: Cluster, name: str) -> MetadataResponseTopic:
    """Exactly one topic."""
    found = await topics_named(cluster, [name])
    if len(found) > 1:
        raise Failed(f"{name!r} matches {counted(len(found), 'topic')}; name one")
    return found[0]


async def groups_named(cluster: Cluster, names: Sequence[str]) -> list[str]:
    """Groups by name or pattern; without any all. All are known, or it is refused."""
    told = await groups_told(cluster)
    known = {group.group_id for group in told.groups}
    if told.unreadable and not (names and known.issuperset(names)):
        raise told.unreadable[0]
    return groups_among(told, names)


def groups_among(told: ListedGroups, names: Sequence[str]) -> list[str]:
    """Likewise, of those whose logs can be read; one that is named and not found may be another."""
    known = [group.group_id for group in told.groups]
    try:
        return matching(names, known, "group", "odradek group list") if names else known
    except Failed:
        if told.unreadable:
            raise told.unreadable[0] from None
        raise


def end_if_unreadable(unreadable: Sequence[UnreadableLog], names: Sequence[str]) -> None:
    """Says what was left out, in the exit code too; nothing is where all are named whole."""
    if not unreadable or (names and not any(map(is_pattern, names))):
        return
    for error in unreadable:
        click.echo(f"odradek: {error.told}: they are left out", err=True)
    click.echo(f"  next: {pasted(UNREADABLE)}", err=True)
    raise SystemExit(FAILED)


async def groups_told(cluster: Cluster) -> ListedGroups:
    """Those of the brokers that answer; the others are told."""

    async def attempt() -> ListedGroups:
        return await admin.groups_of(cluster, await brokers_that_answer(cluster, ()))

    return await cluster.patiently(attempt)


async def brokers_named(cluster: Cluster, numbers: Iterable[int]) -> list[BrokerId]:
    """Brokers by id; without any all."""
    await cluster.refresh([])
    for number in numbers:
        if number not in cluster.brokers:
            known = ", ".join(map(str, sorted(cluster.brokers)))
            text = f"there is no broker {number}; the cluster has {known}"
            raise Failed(text, "odradek broker list")
    return [BrokerId(it) for it in numbers] or sorted(cluster.brokers)


async def brokers_that_answer(cluster: Cluster, numbers: Iterable[int]) -> list[BrokerId]:
    """Brokers by id, which must answer; without any all that do, and the others are told.

    A broker that has died is listed for a while.
    """
    named = list(numbers)
    found = await brokers_named(cluster, named)
    if named:
        for broker in found:
            await cluster.broker(broker)
        return found
    answers = await asyncio.gather(*(_answers(cluster, broker) for broker in found))
    return [broker for broker, answered in zip(found, answers, strict=True) if answered]


def answer_seconds() -> float:
    """How long one broker's answer is waited for, where others are asked as well."""
    return min(ANSWER_SECONDS, options().seconds / 4)


def silence(error: Exception) -> str:
    """Why a broker did not answer; a time-out has no words of its own."""
    return reason(error) or f"nothing came back within {answer_seconds():g} s"


async def _answers(cluster: Cluster, broker: BrokerId) -> bool:
    """One that stands still has an open port, and is listed until its session is over."""
    try:
        async with asyncio.timeout(answer_seconds()):
            await cluster.broker(broker)
    except (ConnectionGone, TimeoutError) as error:
        click.echo(f"odradek: broker {broker} does not answer: {silence(error)}", err=True)
        return False
    return True


class Named(click.ParamType[str]):
    """A name that the shell completes from the cluster."""

    def __init__(self, kind: str) -> None:
        self.name = kind

    def convert(self, value: Any, _: click.Parameter | None, __: click.Context | None) -> str:
        """As it was typed."""
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names that begin so; none, if no cluster answers at once."""
        from odradek.cli.reaching.talking import talk
        from odradek.cli.words.options import META, Options

        ctx.meta.setdefault(META, Options()).timeout = COMPLETION_SECONDS
        try:
            with ctx:
                known = talk(_topics if self.name == "topic" else _groups)
        except Exception:  # noqa: BLE001 - a shell shows no errors while it completes
            return []
        del param
        return [CompletionItem(name) for name in known if name.startswith(incomplete)]


async def _topics(cluster: Cluster) -> list[str]:
    return [topic.name or "" for topic in await topics_named(cluster, ())]


async def _groups(cluster: Cluster) -> list[str]:
    return await groups_named(cluster, ())


TOPIC = Named("topic")
GROUP = Named("group")
