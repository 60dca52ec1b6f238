"""The bound on what reassignments copy: it belongs to the verb that sets it, and ends with it.

Brokers have a rate, topics name the replicas that it holds for. A verb that died leaves both: then
every later move is bounded by them until somebody takes them away.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import click

from odradek.cli.showing.cells import Size, cell
from odradek.cli.showing.confirming import can_ask
from odradek.cli.words.failing import MISUSED, Failed
from odradek.cli.words.options import pasted
from odradek.client.admin import admin
from odradek.client.admin.placement import reassignments
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused, check
from odradek.model.counting import counted
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
REPLICAS: Final = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
LOG_DIRS_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
DYNAMIC_BROKER: Final = 2
DYNAMIC_TOPIC: Final = 1
"""Where a setting is from, by the numbers of DescribeConfigs."""
UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
RATE_MAX: Final = (1 << 63) - 1
NAMED_MAX: Final = 4
"""More topics are only counted."""
LIFT: Final = "odradek partition throttle none"
RAISE: Final = "odradek partition throttle 50M"

Assignments = Mapping[TopicPartition, Sequence[int]]


class Rate(click.ParamType[int]):
    """Bytes in a second: 20000000, 20M, 20MB or 20MiB."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """At least one byte: with none nothing would ever be done."""
        found = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?(?:/s)?", str(value), re.IGNORECASE)
        if found is None:
            self.fail(f"{value!r} is no rate: 20000000 or 20M, in bytes a second", param, ctx)
        rate = int(found[1]) * UNITS[found[2].upper()]
        if not rate:
            text = "with a throttle of 0 nothing would be copied"
            raise Failed(text, f"leave it out for none; one that is set: {LIFT}", MISUSED)
        if rate > RATE_MAX:
            raise Failed(f"no broker counts so far as {rate}", "name a rate such as 20M", MISUSED)
        return rate


RATE: Final = Rate()


def text_of(rate: int) -> str:
    """For people."""
    return f"{cell(Size(rate), for_people=True)}/s"


async def _nothing() -> None:
    """There is no throttle to set again."""


@dataclass
class Bound:
    """What becomes of a throttle at the end: it must not go before what it bounds."""

    goes_on: bool = False  # moves are under way that need it
    is_left: bool = False  # an earlier call may have left one behind for these
    waiting: Collection[TopicPartition] = ()  # no command waits for them any longer
    renew: Callable[[], Awaitable[None]] = _nothing  # sets it again where somebody took it away


class Rates(NamedTuple):
    """What was set at run time for single brokers: the lowest rate of each."""

    moves: dict[int, int]  # between brokers
    log_dirs: dict[int, int]  # between the log dirs of a broker


async def rates(cluster: Cluster) -> Rates:
    """Of all brokers that answer."""
    await cluster.refresh([])
    return await rates_of(cluster, sorted(cluster.brokers))


async def rates_of(cluster: Cluster, brokers: Iterable[BrokerId]) -> Rates:
    """Of those of these that answer."""
    found = Rates({}, {})
    for broker in brokers:
        resource = DescribeConfigsResource(admin.BROKER, str(broker), [*RATES, LOG_DIRS_RATE])
        try:
            answer = await (await cluster.broker(broker)).ask(DescribeConfigsRequest([resource]))
            (result,) = answer.results
            check(result.error_code, result.error_message)
        except BrokerError:
            continue
        for it in result.configs:
            if it.config_source == DYNAMIC_BROKER and it.value is not None:
                kept = found.log_dirs if it.name == LOG_DIRS_RATE else found.moves
                kept[broker] = min(int(it.value), kept.get(broker, int(it.value)))
    return found


def told(found: Mapping[int, int], what: str = "a throttle") -> str:
    """A sentence's beginning; `found` is not empty."""
    return f"{what} of {text_of(min(found.values()))} is set on {among(found)}"


def among(brokers: Collection[int]) -> str:
    """By their numbers."""
    many = "broker" if len(brokers) == 1 else "brokers"
    return f"{many} {', '.join(map(str, brokers))}"


def told_of_topics(names: Collection[str]) -> str:
    """Likewise, of what topics say; `names` is not empty."""
    shown = ", ".join(sorted(names)[:NAMED_MAX])
    more = len(names) - NAMED_MAX
    many = "topic" if len(names) == 1 else "topics"
    rest = f" and {counted(more, 'more topic')}" if more > 0 else ""
    return f"throttled replicas are named by {many} {shown}{rest}"


def told_of_left(brokers: Mapping[int, int], topics: Collection[str]) -> str:
    """Of what a verb for moves between brokers has set; empty if there is nothing of it."""
    parts = [told(brokers)] if brokers else []
    return ", ".join(parts + ([told_of_topics(topics)] if topics else []))


def told_of_log_dirs(found: Mapping[int, int]) -> str:
    """Likewise, of what is copied within a broker."""
    return told(found, "a throttle between log dirs")


def _replicas(whole: Assignments, targets: Assignments) -> dict[str, dict[str, str]]:
    """By topic: who sends, and who fetches."""
    sending: dict[str, list[str]] = {}
    fetching: dict[str, list[str]] = {}
    for it, to in sorted(targets.items()):
        there = whole.get(it, ())
        added = [broker for broker in to if broker not in there]
        if added:
            sending.setdefault(it.topic, []).extend(f"{it.partition}:{one}" for one in there)
            fetching.setdefault(it.topic, []).extend(f"{it.partition}:{one}" for one in added)
    names = REPLICAS
    return {
        topic: {names[0]: ",".join(sending[topic]), names[1]: ",".join(fetching[topic])}
        for topic in sending
    }


async def limit(cluster: Cluster, whole: Assignments, targets: Assignments, rate: int) -> None:
    """What these partitions copy is bounded from now on."""
    for topic, names in _replicas(whole, targets).items():
        await admin.alter_list(cluster, admin.TOPIC, topic, names)
    await set_rate(cluster, involved(whole, targets), rate)


async def renew(cluster: Cluster, whole: Assignments, targets: Assignments, rate: int) -> None:
    """Another verb may have ended between `limit` and the move, and taken it for one that is left.

    Once the move has begun no verb does.
    """
    named = await named_replicas(cluster)
    lacks_names = any(topic not in named for topic in _replicas(whole, targets))
    wanted = involved(whole, targets) & set(cluster.brokers)
    if lacks_names or wanted - (await rates(cluster)).moves.keys():
        await limit(cluster, whole, targets, rate)


async def tell_of_other_rate(cluster: Cluster, brokers: Container[int], rate: int) -> None:
    """Brokers have one rate each: another operator's moves get this one, too."""
    there = (await rates(cluster)).moves
    others = {it: was for it, was in there.items() if it in brokers and was != rate}
    if others and await reassignments(cluster):
        text = f"{told(others)} for moves that are under way: {text_of(rate)} takes its place"
        click.echo(f"odradek: {text}", err=True)


def involved(whole: Assignments, targets: Assignments) -> set[int]:
    """The brokers that send or fetch."""
    return {broker for them in (whole, targets) for it in targets for broker in them.get(it, ())}


async def set_rate(cluster: Cluster, brokers: Iterable[int], rate: int) -> None:
    """Of those that are there."""
    for broker in sorted(set(brokers) & set(cluster.brokers)):
        await admin.alter_settings(
            cluster, admin.BROKER, str(broker), to=dict.fromkeys(RATES, str(rate))
        )


async def lift(cluster: Cluster, partitions: Collection[TopicPartition]) -> None:
    """Of these partitions; with the last reassignment all goes, whichever command began it.

    Also of replicas that an earlier target of theirs had.
    """
    there = {topic.name for topic in (await cluster.decided()).topics}
    for topic in sorted({it.topic for it in partitions} & there):
        numbers = {str(it.partition) for it in partitions if it.topic == topic}
        await _drop_replicas(cluster, topic, numbers)
    await lift_left(cluster)


async def lift_left(cluster: Cluster) -> tuple[list[int], list[str]]:
    """What bounds no move, for none is under way: of which brokers and topics it was taken.

    What is set behind these looks is of a move that is about to begin. One that began between the
    look at moves and the end has looked at its throttle too early: it gets it back.
    """
    found = (await rates(cluster)).moves
    named = await named_replicas(cluster)
    brokers, topics = sorted(found), topics_left(named)
    if await reassignments(cluster):
        return [], []
    await _drop_names(cluster, topics)
    await _drop_rates(cluster, brokers)
    if (brokers or topics) and await reassignments(cluster):
        for topic in topics:
            await admin.alter_list(cluster, admin.TOPIC, topic, named[topic])
        for broker in brokers:
            await set_rate(cluster, [broker], found[broker])
        return [], []
    return brokers, topics


async def end_left(cluster: Cluster) -> None:
    """For a verb that finds all done: an earlier call has left it, and none will call again."""
    taken = taken_from(*await lift_left(cluster))
    if taken:
        text = f"the throttle that an earlier call left is taken from {taken}"
        click.echo(f"odradek: {text}", err=True)


def taken_from(brokers: Collection[int], topics: Collection[str]) -> str:
    """Of how many; empty if of none."""
    rows = ((len(brokers), "broker"), (len(topics), "topic"))
    return ", ".join(counted(*it) for it in rows) if brokers or topics else ""


async def lift_all(cluster: Cluster) -> tuple[list[int], list[str]]:
    """Whatever was left behind, or set by hand: of which brokers and topics it was taken."""
    found = await rates(cluster)
    brokers = sorted({*found.moves, *found.log_dirs})
    topics = sorted(await named_replicas(cluster))
    await _drop_names(cluster, topics)
    await _drop_rates(cluster, sorted(found.moves))
    for broker in found.log_dirs:
        await drop_log_dirs_rate(cluster, broker)
    return brokers, topics


async def named_replicas(cluster: Cluster) -> dict[str, dict[str, str]]:
    """By topic: the lists of throttled replicas that were set for it."""
    names = [topic.name or "" for topic in (await cluster.decided()).topics]
    resources = [DescribeConfigsResource(admin.TOPIC, name, list(REPLICAS)) for name in names]
    if not resources:
        return {}
    answer = await (await cluster.any()).ask(DescribeConfigsRequest(resources))
    found = {
        result.resource_name: {
            it.name: it.value or "" for it in result.configs if it.config_source == DYNAMIC_TOPIC
        }
        for result in answer.results
    }
    return {topic: lists for topic, lists in found.items() if lists}


def topics_left(named: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Topics with lists as verbs and Kafka's script write them: `*` is a person's."""
    return sorted(
        topic for topic, lists in named.items() if not any("*" in it for it in lists.values())
    )


async def _drop_names(cluster: Cluster, topics: Iterable[str]) -> None:
    for topic in topics:
        try:
            await admin.alter_settings(cluster, admin.TOPIC, topic, to={}, delete=REPLICAS)
        except Refused as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # deleted, and its lists
                raise


async def drop_log_dirs_rate(cluster: Cluster, broker: int) -> None:
    """What this broker copies between its log dirs has no bound of its own any more."""
    await admin.alter_settings(cluster, admin.BROKER, str(broker), to={}, delete=[LOG_DIRS_RATE])


async def _drop_replicas(cluster: Cluster, topic: str, numbers: Container[str]) -> None:
    for it in await admin.describe_settings(cluster, admin.TOPIC, topic):
        is_set = it.name in REPLICAS and it.config_source == DYNAMIC_TOPIC
        named = [row for row in (it.value or "").split(",") if row] if is_set else []
        mine = [row for row in named if row.partition(":")[0] in numbers]
        if is_set and mine == named:
            await admin.alter_settings(cluster, admin.TOPIC, topic, to={}, delete=[it.name])
        elif mine:
            change = {it.name: ",".join(mine)}
            await admin.alter_list(cluster, admin.TOPIC, topic, change, take=True)


async def _drop_rates(cluster: Cluster, brokers: Iterable[int]) -> None:
    for broker in brokers:
        await admin.alter_settings(cluster, admin.BROKER, str(broker), to={}, delete=RATES)


def is_unwanted(text: str) -> bool:
    """Whether one that was left behind shall go first; without a terminal it is only named."""
    click.echo(f"odradek: {text}, and bounds this move, too", err=True)
    if can_ask():
        return click.confirm("Remove it first?", err=True)
    click.echo(f"  next: {pasted(LIFT)} takes it away", err=True)
    return False
