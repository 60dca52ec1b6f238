"""All brokers restarted, one at a time; how one is restarted is not known here.

That a broker has restarted is seen by its registration, which is a new one. Before each one every
partition must be led and in sync, and partitions must keep as many replicas in sync as
min.insync.replicas asks for. Somebody else may restart brokers meanwhile: one that has registered
since the roll began is done, whoever did it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import click

from odradek.cli.brokers.cluster_health import WARNINGS, sick
from odradek.cli.showing.progress import REST_SECONDS_MAX, Pace
from odradek.cli.words.failing import Failed
from odradek.client.admin import admin
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.model.admin_operations import CONTROLLER_DESCRIBE
from odradek.model.errors import BrokerError
from odradek.model.ids import BrokerId
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

POLL_SECONDS: Final = 0.5
LOOKS_MIN: Final = 10
"""So often it is looked before patience ends."""
PASSING_SECONDS: Final = 10.0
"""What ends by itself within this time holds nothing up."""
MIN_ISR: Final = "min.insync.replicas"

Restart = Callable[[int, str], Awaitable[int]]
"""Restarts a broker, of this number, on this host; answers with the exit code of its command."""


async def registrations(cluster: Cluster) -> dict[int, int]:
    """The epoch of each broker's registration: a later one has a higher epoch."""
    found = await operate(cluster, Wanted(CONTROLLER_DESCRIBE))
    return {int(broker): epoch for broker, epoch in found["registrations"].items()}


async def in_the_way(cluster: Cluster) -> str | None:
    """What is wrong and would be worse with a broker less; None: nothing."""
    try:
        found = next((it for it in await sick(cluster) if it.problem not in WARNINGS), None)
    except BrokerError as error:  # who was asked is restarted, by the roll or by somebody else
        return str(error)
    return None if found is None else f"{found.cause}: {found.problem}"


@dataclass(frozen=True, slots=True)
class Roll:
    """One run: `began` is the latest registration before it, `again` the call that goes on."""

    cluster: Cluster
    restart: Restart
    began: int
    again: str
    patience: float
    below_min_isr: bool = False

    async def run(self, order: Sequence[int]) -> list[int]:
        """Those that it has restarted."""
        restarted = []
        for number, broker in enumerate(order, 1):
            place = f"broker {broker} ({number} of {len(order)})"
            if await self._is_done(broker, place):
                continue
            await self._check(broker)
            if await self._is_done(broker, place):  # while something was waited for
                continue
            click.echo(f"{place}: restarting", err=True)
            await self._restart(broker)
            await self._await_health(broker)
            restarted.append(broker)
        return restarted

    @property
    def _next_step(self) -> str:
        return f"once that is mended: {self.again}"

    async def _is_done(self, broker: int, place: str) -> bool:
        """By hand, or by another roll."""
        now = (await registrations(self.cluster)).get(broker, 0)
        if now <= self.began:
            return False
        click.echo(f"{place}: left out, somebody else has restarted it meanwhile", err=True)
        return True

    async def _check(self, broker: int) -> None:
        """Refuses to restart it now; what passes within seconds is waited for."""
        pace = Pace(POLL_SECONDS, PASSING_SECONDS / LOOKS_MIN)
        last = pace.now + PASSING_SECONDS
        while found := await in_the_way(self.cluster):
            if pace.now >= last:
                raise Failed(f"the cluster is not healthy: {found}", self._next_step)
            await pace.rest()
        if not self.below_min_isr:
            await self.cluster.patiently(lambda: self._check_min_isr(broker))

    async def _check_min_isr(self, broker: int) -> None:
        answer = await self.cluster.refresh(None)
        minimums = await _minimums(self.cluster, [topic.name or "" for topic in answer.topics])
        for topic in answer.topics:
            for row in topic.partitions:
                others = len(set(row.isr_nodes) - {broker})
                is_wide = len(row.replica_nodes) > 1  # one replica is away with its broker anyway
                least = min(minimums[topic.name or ""], len(row.replica_nodes))
                if broker in row.isr_nodes and is_wide and others < least:
                    text = f"without broker {broker} {topic.name}-{row.partition_index} has"
                    text += f" {others} in sync, and {MIN_ISR} is {least}:"
                    text += " acks=all would be refused"
                    raise Failed(text, f"{self._next_step}; or with --below-min-isr")

    async def _restart(self, broker: int) -> None:
        """Returns once it has registered anew, however its command ends."""
        former = (await registrations(self.cluster)).get(broker)
        found = self.cluster.brokers.get(BrokerId(broker))
        if former is None or found is None:
            raise Failed(f"broker {broker} is not registered any more", self._next_step)
        async with asyncio.TaskGroup() as tasks:
            command = tasks.create_task(self._command(broker, found.address[0]))
            is_back = await self._is_new(broker, former)
            code = command.result() if command.done() else None
            command.cancel()
        if is_back:
            return
        why = f"the command ended with {code}" if code else "its events say why"
        if code is None:
            why = "the command has not ended"
        text = f"broker {broker} has not registered anew in {self.patience:g} s"
        raise Failed(text, f"{why}; {self._next_step}")

    async def _command(self, broker: int, host: str) -> int:
        if code := await self.restart(broker, host):
            click.echo(f"broker {broker}: the command ended with {code}", err=True)
        return code

    @property
    def _pace(self) -> Pace:
        return Pace(POLL_SECONDS, min(self.patience / LOOKS_MIN, REST_SECONDS_MAX))

    async def _is_new(self, broker: int, before: int) -> bool:
        pace = self._pace
        try:
            async with asyncio.timeout(self.patience):
                while True:
                    try:
                        now = (await registrations(self.cluster)).get(broker, before)
                    except BrokerError:  # it was the controller, or the broker that was asked
                        now = before
                    if now != before:
                        return True
                    await pace.rest()
        except TimeoutError:
            return False

    async def _await_health(self, broker: int) -> None:
        last: str | None = ""
        pace = self._pace
        try:
            async with asyncio.timeout(self.patience):
                while last := await in_the_way(self.cluster):
                    await pace.rest()
        except TimeoutError:
            text = f"broker {broker} is back, and after {self.patience:g} s there is still: {last}"
            raise Failed(text, self._next_step) from None


async def _minimums(cluster: Cluster, topics: list[str]) -> Mapping[str, int]:
    resources = [DescribeConfigsResource(admin.TOPIC, name, [MIN_ISR]) for name in topics]
    if not resources:
        return {}
    answer = await (await cluster.any()).ask(DescribeConfigsRequest(resources))
    return {
        result.resource_name: int(next((it.value for it in result.configs), None) or 1)
        for result in answer.results
    }
