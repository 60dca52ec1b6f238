"""The bound on what a broker copies between its log dirs: it belongs to the verb that sets it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from odradek.cli import throttle
from odradek.cli.failing import Failed
from odradek.cli.options import pasted
from odradek.cli.throttle import LIFT, LOG_DIRS_RATE, Bound
from odradek.client import admin
from odradek.client.cluster import Cluster


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


async def _set(cluster: Cluster, broker: int, rate: int | None) -> None:
    if rate is None:
        await throttle.drop_log_dirs_rate(cluster, broker)
        return
    to = {LOG_DIRS_RATE: str(rate)}
    await admin.alter_settings(cluster, admin.BROKER, str(broker), to=to)


def _tell_that_it_stays() -> None:
    click.echo(pasted(f"the throttle stays; once the move is over: {LIFT}"), err=True)
