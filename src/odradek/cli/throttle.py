"""The bound on what reassignments copy: it belongs to the verb that sets it, and ends with it.

Brokers have a rate, topics name the replicas that it holds for. A verb that died leaves both: then
every later move is bounded by them until somebody takes them away.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import click

from odradek.cli.printing import Size, cell
from odradek.client import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.client.placement_admin import reassignments
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
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
LIFT: Final = "odradek partition throttle none"

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
            self.fail("with a rate of 0 nothing would be copied; leave it out for none", param, ctx)
        return rate


RATE: Final = Rate()


def text_of(rate: int) -> str:
    """For people."""
    return f"{cell(Size(rate), for_people=True)}/s"


async def rates(cluster: Cluster) -> dict[int, int]:
    """The lowest that was set at run time, by broker."""
    await cluster.refresh([])
    found: dict[int, int] = {}
    for broker in sorted(cluster.brokers):
        resource = DescribeConfigsResource(admin.BROKER, str(broker), list(RATES))
        try:
            answer = await (await cluster.broker(broker)).ask(DescribeConfigsRequest([resource]))
            (result,) = answer.results
            check(result.error_code, result.error_message)
        except BrokerError:
            continue
        values = [int(it.value) for it in result.configs if it.config_source == DYNAMIC_BROKER]
        if values:
            found[broker] = min(values)
    return found


def told(found: Mapping[int, int]) -> str:
    """A sentence's beginning; `found` is not empty."""
    many = "broker" if len(found) == 1 else "brokers"
    names = ", ".join(map(str, found))
    return f"a throttle of {text_of(min(found.values()))} is set on {many} {names}"


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
    involved = {
        broker for them in (whole, targets) for it in targets for broker in them.get(it, ())
    }
    await set_rate(cluster, involved, rate)


async def set_rate(cluster: Cluster, brokers: Iterable[int], rate: int) -> None:
    """Of those that are there."""
    for broker in sorted(set(brokers) & set(cluster.brokers)):
        await admin.alter_settings(
            cluster, admin.BROKER, str(broker), to=dict.fromkeys(RATES, str(rate))
        )


async def lift(cluster: Cluster, whole: Assignments, targets: Assignments) -> None:
    """Of these partitions; the rates go with the last reassignment, whoever began it."""
    there = {topic.name for topic in (await cluster.refresh(None)).topics}
    for topic, names in _replicas(whole, targets).items():
        if topic in there:
            await admin.alter_list(cluster, admin.TOPIC, topic, names, take=True)
            await _drop_empty(cluster, topic)
    if not await reassignments(cluster):
        await _drop_rates(cluster)


async def lift_all(cluster: Cluster) -> tuple[list[int], list[str]]:
    """Whatever was left behind: of which brokers and topics it was taken."""
    brokers = list(await rates(cluster))
    names = [topic.name or "" for topic in (await cluster.refresh(None)).topics]
    resources = [DescribeConfigsResource(admin.TOPIC, name, list(REPLICAS)) for name in names]
    topics: list[str] = []
    if resources:
        answer = await (await cluster.any()).ask(DescribeConfigsRequest(resources))
        topics = [
            result.resource_name
            for result in answer.results
            if any(it.config_source == DYNAMIC_TOPIC for it in result.configs)
        ]
    for topic in topics:
        await admin.alter_settings(cluster, admin.TOPIC, topic, to={}, delete=REPLICAS)
    await _drop_rates(cluster)
    return brokers, topics


async def _drop_empty(cluster: Cluster, topic: str) -> None:
    settings = await admin.describe_settings(cluster, admin.TOPIC, topic)
    empty = [it.name for it in settings if it.name in REPLICAS and not it.value]
    if empty:
        await admin.alter_settings(cluster, admin.TOPIC, topic, to={}, delete=empty)


async def _drop_rates(cluster: Cluster) -> None:
    for broker in await rates(cluster):
        await admin.alter_settings(cluster, admin.BROKER, str(broker), to={}, delete=RATES)


@asynccontextmanager
async def between_log_dirs(
    cluster: Cluster, broker: int, rate: int | None, *, ends: bool
) -> AsyncIterator[None]:
    """What this broker copies between its log dirs is bounded; what was set before comes back."""
    if rate is None:
        yield
        return
    settings = await admin.describe_settings(cluster, admin.BROKER, str(broker))
    before = [
        it.value
        for it in settings
        if it.name == LOG_DIRS_RATE and it.config_source == DYNAMIC_BROKER
    ]
    await admin.alter_settings(cluster, admin.BROKER, str(broker), to={LOG_DIRS_RATE: str(rate)})
    try:
        yield
    except asyncio.CancelledError:
        ends = False
        raise
    finally:
        if ends:
            to = {LOG_DIRS_RATE: before[0] or ""} if before else {}
            delete = () if before else (LOG_DIRS_RATE,)
            await admin.alter_settings(cluster, admin.BROKER, str(broker), to=to, delete=delete)
        else:
            call = f"odradek config alter broker {broker} -d {LOG_DIRS_RATE}"
            click.echo(f"the throttle stays; once the move is over: {call}", err=True)
