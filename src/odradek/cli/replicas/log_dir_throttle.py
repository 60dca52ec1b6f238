"""The bound on what a broker copies between its log dirs: it belongs to the verb that sets it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import click

from odradek.cli.reaching.naming import brokers_that_answer
from odradek.cli.replicas import throttle
from odradek.cli.replicas.throttle import LIFT, LOG_DIRS_RATE, Bound
from odradek.cli.words.failing import Failed
from odradek.cli.words.options import pasted
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.model.ids import BrokerId
from odradek.peers.errors import ConnectionGone
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest


@asynccontextmanager
async def between_log_dirs(
    cluster: Cluster, broker: int, rate: int | None, *, ends: bool
) -> AsyncIterator[Bound]:
    """What this broker copies between its log dirs is bounded; what was set before comes back.

    One that was left behind is named before, and can be taken away.
    """
    bound = Bound()
    before = (await throttle.rates(cluster)).log_dirs.get(broker)
    if before is not None and throttle.is_unwanted(throttle.told_of_log_dirs({broker: before})):
        await throttle.drop_log_dirs_rate(cluster, broker)
        before = None
    if rate is None:
        yield bound
        if ends and before is None:  # what `partition throttle` has set meanwhile
            await _drop_if_idle(cluster, broker)
        return
    await _set(cluster, broker, rate)
    try:
        yield bound
    except BaseException as error:
        if bound.goes_on and not isinstance(error, Failed):  # the broker goes on by itself
            _tell_that_it_stays()
        else:
            await _set(cluster, broker, before)
        raise
    if ends:
        await _set(cluster, broker, before)
    else:
        _tell_that_it_stays()


async def change_between_log_dirs(cluster: Cluster, brokers: Sequence[int], rate: int) -> None:
    """Of what these copy; where a copy has ended meanwhile no other command takes it away."""
    before = (await throttle.rates(cluster)).log_dirs
    for broker in brokers:
        await _set(cluster, broker, rate)
        if broker not in before:
            await _drop_if_idle(cluster, broker)


async def brokers_that_copy(cluster: Cluster) -> list[int]:
    """Those of which a replica is on its way to another log dir."""
    brokers = await brokers_that_answer(cluster, ())
    return [it for it in brokers if await copies(cluster, it)]


async def copies(cluster: Cluster, broker: int) -> bool:
    """Whether it copies a replica from one of its log dirs to another."""
    try:
        answer = await (await cluster.broker(BrokerId(broker))).ask(DescribeLogDirsRequest(None))
    except ConnectionGone:
        return False
    rows = (row for it in answer.results for topic in it.topics for row in topic.partitions)
    return any(row.is_future_key for row in rows)


async def _drop_if_idle(cluster: Cluster, broker: int) -> None:
    is_set = broker in (await throttle.rates(cluster)).log_dirs
    if is_set and not await copies(cluster, broker):
        await throttle.drop_log_dirs_rate(cluster, broker)


async def _set(cluster: Cluster, broker: int, rate: int | None) -> None:
    if rate is None:
        await throttle.drop_log_dirs_rate(cluster, broker)
        return
    to = {LOG_DIRS_RATE: str(rate)}
    await admin.alter_settings(cluster, admin.BROKER, str(broker), to=to)


def _tell_that_it_stays() -> None:
    click.echo(pasted(f"the throttle stays; once the move is over: {LIFT}"), err=True)
