"""Copies by our own client, whose transactions are those of version 2.

python -m tests.live.copiers.of_our_client BOOTSTRAP SOURCE TARGET LEDGER GROUP NAME
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from odradek.client.addresses import addresses
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.records.group_offsets import (
    Committer,
    check_committed,
    committed_request,
    read_committed,
)
from odradek.client.records.member import REJOIN, Member
from odradek.client.records.reader import Found, Reader
from odradek.client.records.transactional_producer import V2, TransactionalProducer
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis
from odradek.records.record import Record
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from tests.live.copiers.marks import NO_NUMBER, Fate, Mark, Transaction
from tests.live.copiers.orders import (
    ENDED,
    RECORDS_MAX,
    REPLACED,
    SESSION_MS,
    TRANSACTION_MS,
    Orders,
    Said,
    Transactions,
    say,
)

POLL_MS: Final = 100


class Copier:
    """One process."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._clock = SystemClock()
        world = ClientDeps(SystemNetwork(), self._clock)
        self._cluster = Cluster(world, addresses(orders.bootstrap), orders.name)
        timeout, session = Millis(TRANSACTION_MS), Millis(SESSION_MS)
        self._producer = TransactionalProducer(self._cluster, orders.name, V2, timeout)
        self._member = Member(self._cluster, orders.group, [orders.source], session_timeout=session)
        self._transactions = Transactions(orders.name)

    async def run(self) -> None:
        """Until it is killed, or replaced."""
        await self._producer.begin()
        while True:
            assigned = await self._member.join()
            while await self._member.still_belongs():
                if not await self._copy_from(await self._positions(assigned)):
                    break

    async def _positions(self, assigned: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """As they are once no transaction is open that may move them."""
        request = committed_request(self._orders.group, assigned, stable=True)
        answer = await self._cluster.ask_coordinator(
            self._orders.group, request, checked=check_committed
        )
        return dict.fromkeys(assigned, 0) | {
            partition: position.offset for partition, position in read_committed(answer).items()
        }

    async def _copy_from(self, positions: dict[TopicPartition, int]) -> bool:
        """Until a transaction is aborted, or the generation ends; whether it goes on."""
        reader = Reader(self._cluster, positions, committed=True)
        while await self._member.still_belongs():
            # what lags most comes first: on a slow machine one of two would wait for ever
            found = sorted(await reader.poll(POLL_MS), key=lambda it: positions[it[0]])
            for batch in _batches(iter(found)):
                transaction = self._transactions.next(len(batch))
                try:
                    await self._copy(batch, transaction)
                except BrokerError as error:
                    if error.code not in REJOIN:
                        raise
                    await self._abort(transaction)
                    return False
                if transaction.fate is Fate.DROPPED:
                    return True
        return False

    async def _copy(self, batch: Sequence[Found], transaction: Transaction) -> None:
        records: dict[TopicPartition, list[Record]] = {}
        positions: dict[TopicPartition, int] = {}
        for (_, number), record in batch:
            target = TopicPartition(self._orders.target, number)
            mark = Mark(int(record.value or b""), transaction)
            records.setdefault(target, []).append(self._record(mark))
            positions[TopicPartition(self._orders.source, number)] = record.offset + 1
        ledger = TopicPartition(self._orders.ledger, self._transactions.ledger())
        records[ledger] = [self._record(Mark(NO_NUMBER, transaction))]
        await self._producer.send(records)
        who = Committer(self._member.generation, self._member.member_id)
        await self._producer.commit_offsets(self._orders.group, positions, who)
        if transaction.fate is Fate.DROPPED:
            await self._abort(transaction)
            return
        await self._producer.commit()
        say(Said.COMMITTED, transaction)

    async def _abort(self, transaction: Transaction) -> None:
        await self._producer.abort()
        say(Said.ABORTED, transaction)

    def _record(self, mark: Mark) -> Record:
        return Record(0, self._clock.wall(), None, mark.written())


def _batches(found: Iterator[Found]) -> Iterator[list[Found]]:
    while batch := list(islice(found, RECORDS_MAX)):
        yield batch


def main(arguments: list[str]) -> int:
    """Copies."""
    try:
        asyncio.run(Copier(Orders(*arguments)).run())
    except BrokerError as error:
        print(ENDED, error, flush=True)
    return REPLACED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
