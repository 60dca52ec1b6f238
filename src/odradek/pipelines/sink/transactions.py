"""The driver's half of a sink that writes exactly once: one transaction for each micro-batch.

For each attempt the driver asks for a new epoch (InitProducerId). That aborts what another driver,
or an attempt before, has left open, waits for what was decided already, and fences all that they
may send yet. Only then it reads what the last transaction has noted: positions of a group that is
named like the transactional id, committed in the same transaction as the records. So a batch that
is begun again after its transaction was committed is recognised, wherever the driver died.

Tasks write with the identity that they are handed, each in partitions of its own, with sequence
numbers from 0. Numbers that two attempts of a task count would be taken for repeats. So no attempt
but the first sends anything (`AttemptedTwice`): the driver aborts and begins the batch again.

Version 1 of transactions is spoken, which every Kafka knows. Its hole, a late EndTxn that ends the
next transaction, is none here, for each transaction has its own epoch.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from time import sleep
from typing import Final

from odradek.client.blocking.transactional_producer import BlockingTransactionalProducer
from odradek.client.records.group_offsets import Note
from odradek.client.records.transaction_requests import V1, TransactionalIdentity
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.pipelines.connections import new_client, told
from odradek.pipelines.errors import PipelineError, error_of
from odradek.pipelines.sink.options import SinkOptions

PAUSES: Final = (0.0, 0.5, 2.0)
"""Seconds between attempts."""
INTERRUPTED: Final = "java.lang.InterruptedException"

Notes = Mapping[TopicPartition, Note]
Attempt = Callable[[Notes, TransactionalIdentity], Notes | None]
"""Sends a batch under this identity, and says what is to be noted; None: there is nothing to do."""

log = logging.getLogger("odradek.pipelines")


class AttemptedTwice(PipelineError):
    """Spark ran a sending task again: which of its records are there nobody knows."""


class Transactions:
    """Those of one driver, one after the other."""

    def __init__(self, options: SinkOptions) -> None:
        assert options.transactional_id is not None
        self.options = options
        self.client = new_client(options.client)
        self._name = options.transactional_id
        self._producer = self._new_producer()

    def once(self, noted_at: Collection[TopicPartition], attempt: Attempt) -> bool:
        """Has one batch sent in one transaction; false: there was nothing to do.

        PipelineError where another attempt would not mend it.
        """
        for pause in (*PAUSES, None):
            notes = self._begin(noted_at)
            try:
                done = attempt(notes, self._producer.hand_on())
            except Exception as error:
                self._abort()
                if pause is None or not _may_pass(error):
                    raise
                log.warning("a batch is aborted and begins again: %s", _line(error))
                sleep(pause)
                continue
            if done is not None:
                self._commit(done)
            return done is not None
        raise AssertionError

    def close(self) -> None:
        """Closes its connections."""
        self.client.close()

    def _new_producer(self) -> BlockingTransactionalProducer:
        timeout = self.options.transaction_timeout_ms
        return self.client.transactional_producer(self._name, V1, timeout=timeout)

    def _begin(self, noted_at: Collection[TopicPartition]) -> Notes:
        self._producer = self._new_producer()
        try:
            self._producer.begin()
            return self.client.notes(self._name, noted_at)
        except BrokerError as error:
            raise told(error, self.options.client) from error

    def _commit(self, notes: Notes) -> None:
        by_text: dict[str, dict[TopicPartition, int]] = {}
        for partition, (position, text) in notes.items():
            by_text.setdefault(text, {})[partition] = position
        try:
            for text, positions in by_text.items():
                self._producer.commit_offsets(self._name, positions, metadata=text)
            self._producer.commit()
        except BrokerError as error:
            raise told(error, self.options.client) from error

    def _abort(self) -> None:
        """So that readers need not wait; if it fails, the next `begin` does it."""
        with suppress(BrokerError):
            self._producer.abort()


def _may_pass(error: Exception) -> bool:
    """Whether another attempt may succeed: not where somebody stops the query."""
    ours = error_of(error)
    if ours is not None:
        return isinstance(ours, AttemptedTwice)
    return INTERRUPTED not in str(error)


def _line(error: Exception) -> str:
    return str(error_of(error) or error).split("\n", 1)[0]
