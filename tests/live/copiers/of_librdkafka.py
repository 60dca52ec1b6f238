"""Copies by librdkafka: consumes, and produces what it has consumed, in transactions.

python -m tests.live.copiers.of_librdkafka BOOTSTRAP SOURCE TARGET LEDGER GROUP NAME [--leave-open]

A refusal that only the end of the transaction mends aborts it, and the records are read again. One
that ends the producer ends the process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.live.copiers.marks import NO_NUMBER, Fate, Mark, Transaction
from tests.live.copiers.orders import (
    ENDED,
    LEFT_MS,
    PARTITIONS,
    PATIENCE_SECONDS,
    RECORDS_MAX,
    REPLACED,
    SESSION_MS,
    TRANSACTION_MS,
    Orders,
    Said,
    Transactions,
    say,
)
from tests.live.workload import LOOKED_UP

COLLECTED_SECONDS: Final = 0.1
STATIC: Final = "static"
"""A copier with this in its name is a static member of its group."""


class Copier:
    """One process."""

    def __init__(self, orders: Orders, timeout_ms: int = TRANSACTION_MS) -> None:
        self._orders = orders
        self._transactions = Transactions(orders.name)
        self._batch: list[Message] = []
        self._producer = Producer(
            {
                "bootstrap.servers": orders.bootstrap,
                "transactional.id": orders.name,
                "transaction.timeout.ms": timeout_ms,
                "linger.ms": 0,
                "retry.backoff.ms": 20,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "socket.timeout.ms": 4_000,  # a broker that hangs answers nothing
            }
        )
        settings = {
            "bootstrap.servers": orders.bootstrap,
            "group.id": orders.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": SESSION_MS // 4,
            "reconnect.backoff.max.ms": 100,
        }
        if STATIC in orders.name:
            settings["group.instance.id"] = orders.name
        self._consumer = Consumer(settings)

    def run(self) -> None:
        """Until it is killed, or replaced."""
        _patiently(lambda: self._producer.init_transactions(PATIENCE_SECONDS))
        subscription = [self._orders.source]
        self._consumer.subscribe(subscription, on_revoke=self._taken, on_lost=self._taken)
        while True:
            self._collect()
            if self._batch:
                self._copy(self._transactions.next(len(self._batch)))

    def leave_open(self) -> None:
        """Writes to all partitions in a transaction that it does not end."""
        _patiently(lambda: self._producer.init_transactions(PATIENCE_SECONDS))
        self._producer.begin_transaction()
        transaction = self._transactions.named(PARTITIONS, Fate.LEFT)
        for partition in range(PARTITIONS):
            self._send(self._orders.target, partition, Mark(NO_NUMBER, transaction))
        self._send(self._orders.ledger, 0, Mark(NO_NUMBER, transaction))
        assert self._producer.flush(PATIENCE_SECONDS) == 0
        say(Said.OPEN, transaction)
        sys.stdin.read()  # it is killed meanwhile

    def _taken(self, *_: Any) -> None:
        """What comes from partitions of before is another's to copy now."""
        self._batch.clear()

    def _collect(self) -> None:
        self._batch.clear()
        until = monotonic() + COLLECTED_SECONDS
        while len(self._batch) < RECORDS_MAX and monotonic() < until:
            message = self._consumer.poll(COLLECTED_SECONDS)
            if message is None:
                continue
            error = message.error()
            if error is None:
                self._batch.append(message)
            elif error.fatal() or error.code() == KafkaError._FATAL:
                raise KafkaException(error)
            elif not error.retriable() and error.code() not in LOOKED_UP:
                print("passing:", error, flush=True)

    def _copy(self, transaction: Transaction) -> None:
        who = self._consumer.consumer_group_metadata()  # of the generation that gave the records
        self._producer.begin_transaction()
        try:
            for message in self._batch:
                partition, value = message.partition(), message.value()
                assert partition is not None
                assert value is not None
                self._send(self._orders.target, partition, Mark(int(value), transaction))
            ledger = self._transactions.ledger()
            self._send(self._orders.ledger, ledger, Mark(NO_NUMBER, transaction))
            self._commit_offsets(who)
            if transaction.fate is Fate.DROPPED:
                assert self._producer.flush(PATIENCE_SECONDS) == 0
                self._abort(transaction)
                return
            _patiently(lambda: self._producer.commit_transaction(PATIENCE_SECONDS))
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self._abort(transaction)
        else:
            say(Said.COMMITTED, transaction)

    def _send(self, topic: str, partition: int, mark: Mark) -> None:
        self._producer.produce(topic, mark.written(), partition=partition)

    def _commit_offsets(self, who: object) -> None:
        ends = {(it.topic(), it.partition()): (it.offset() or 0) + 1 for it in self._batch}
        where = [TopicPartition(str(topic), int(at or 0), end) for (topic, at), end in ends.items()]
        _patiently(lambda: self._producer.send_offsets_to_transaction(where, who, PATIENCE_SECONDS))

    def _abort(self, transaction: Transaction) -> None:
        _patiently(lambda: self._producer.abort_transaction(PATIENCE_SECONDS))
        say(Said.ABORTED, transaction)
        begins = {(it.topic(), it.partition()): it.offset() for it in reversed(self._batch)}
        for (topic, partition), offset in begins.items():
            with suppress(KafkaException):  # it is not assigned any more
                self._consumer.seek(TopicPartition(str(topic), int(partition or 0), offset or 0))


def _patiently(call: Callable[[], object]) -> None:
    """Again, as long as the client says that it may be asked again."""
    while True:
        try:
            call()
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


def main(arguments: list[str]) -> int:
    """Copies, or leaves a transaction open."""
    *orders, last = arguments
    try:
        if last == "--leave-open":
            Copier(Orders(*orders), LEFT_MS).leave_open()
        else:
            Copier(Orders(*arguments)).run()
    except KafkaException as error:
        reason: KafkaError = error.args[0]
        print(ENDED, reason, flush=True)
        return REPLACED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
