"""Why partitions are neither produced to nor read, said while others are."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import click

from odradek.cli.brokers.sick import Sick
from odradek.cli.reaching.patience import SILENT_SECONDS
from odradek.cli.records.leaderless import NEXT, all_leaderless, text_of
from odradek.cli.words.failing import Failed
from odradek.cli.words.options import options
from odradek.client.cluster import Cluster
from odradek.client.records.producer import Producer
from odradek.client.records.reader import Reader
from odradek.model.causes import CauseKind
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.model.units import SECOND, Millis

SILENT_MS: Final = Millis(int(SILENT_SECONDS * SECOND))


class Telling:
    """Says of each partition once that it has no leader and why; the others go on."""

    def __init__(self, cluster: Cluster, say: Callable[[str], None] | None = None) -> None:
        self.lost: dict[TopicPartition, str] = {}  # no election mends these: why
        self._cluster = cluster
        self._say = say or (lambda text: click.echo(f"odradek: {text}", err=True))
        self._told: set[TopicPartition] = set()

    async def look(self, silent: Iterable[TopicPartition]) -> None:
        """At those that have not answered for a while."""
        wanted = set(silent)
        self.lost = {}
        try:
            found = await all_leaderless(self._cluster) if wanted else []
        except (BrokerError, TimeoutError):  # the next look is soon
            return
        without: set[TopicPartition] = set()
        for it in found:
            mine = {at for at in wanted if at.partition in it.partitions.get(at.topic, ())}
            without |= mine
            if it.kind is CauseKind.NO_STATE:
                self.lost.update(dict.fromkeys(mine, it.cause))
            if mine - self._told:
                self._say(text_of(_of(it, mine)))
        self._told = without

    async def while_producing(self, producer: Producer) -> None:
        """Gives up what is under way to lost partitions, until it is cancelled."""
        while True:
            if not self._told.intersection(producer.under_way):  # else it is known what to ask
                await self._rest()
            await self.look(producer.under_way)
            for it in producer.under_way:
                if it in self.lost:
                    producer.give_up(it)
            if self._told:
                await self._rest()

    async def while_reading(self, reader: Reader) -> None:
        """Until it is cancelled."""
        while True:
            await self._rest()
            await self.look(reader.silent(SILENT_MS))

    def refuse_the_rest(self, reader: Reader, rest: Iterable[TopicPartition]) -> None:
        """Who is to end at the end does not wait for what does not come."""
        late = set(reader.silent(Millis(int(options().seconds * SECOND))))
        unread = sorted(rest)
        if all(it in self.lost or it in late for it in unread):
            why = self.lost.get(unread[0], "no broker leads it")
            raise Failed(f"not read to its end: {unread[0]}: {why}", NEXT)

    async def _rest(self) -> None:
        clock = self._cluster.world.clock
        await clock.sleep_until(Millis(clock.monotonic() + SILENT_MS))


async def flushed(producer: Producer, telling: Telling) -> list[tuple[TopicPartition, int]]:
    """As `flush`, without what has no leader and gets none."""
    async with beside(telling.while_producing(producer)):
        return await producer.flush()


@asynccontextmanager
async def beside(watch: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """It goes on until the block ends."""
    failed: Exception | None = None
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(watch)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised again, where no group wraps it
            failed = error
        task.cancel()
    if failed is not None:
        raise failed


def _of(it: Sick, these: Iterable[TopicPartition]) -> Sick:
    partitions: dict[str, list[int]] = {}
    for at in sorted(these):
        partitions.setdefault(at.topic, []).append(at.partition)
    return it._replace(partitions=partitions)
