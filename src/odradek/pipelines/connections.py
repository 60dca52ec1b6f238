"""One client of a cluster in each process, kept between tasks and micro-batches; and its errors.

A worker of Spark runs task after task: connections and what is known of leaders stay. A process
that was forked begins with none.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from odradek.client.blocking.client import BlockingClient
from odradek.client.blocking.fetch import EndNotReached
from odradek.client.errors import DataLost, NoLeader, Refused
from odradek.model.errors import BrokerError, CorruptBatch, ErrorCode, InvalidSetting
from odradek.model.units import SECOND
from odradek.peers.errors import ConnectionGone, NotAuthenticated
from odradek.pipelines.client_options import ClientOptions
from odradek.pipelines.errors import (
    CorruptData,
    DataLoss,
    Fenced,
    InvalidOption,
    PipelineError,
    Unreachable,
)

KEPT_MAX: Final = 4

_clients: dict[tuple[int, ClientOptions], BlockingClient] = {}


def client_of(options: ClientOptions) -> BlockingClient:
    """The client of this process for these options."""
    key = os.getpid(), options
    found = _clients.get(key)
    if found is None:
        if len(_clients) >= KEPT_MAX:
            for (pid, _), client in _clients.items():
                if pid == key[0]:
                    client.close()
            _clients.clear()
        found = _clients[key] = new_client(options)
    return found


def new_client(options: ClientOptions) -> BlockingClient:
    """One of the caller's own, who closes it: of threads each needs its own."""
    try:
        return BlockingClient(
            options.bootstrap,
            client_id=options.client_id,
            patience_ms=options.patience_ms,
            security=options.secured.revealed(),
        )
    except (InvalidSetting, OSError) as error:  # a store that is not there, a password
        raise InvalidOption(f"the connection to {options.bootstrap}: {error}") from error


@contextmanager
def sentences(options: ClientOptions) -> Iterator[None]:
    """Errors of the client become those that a user of a pipeline is told."""
    try:
        yield
    except BrokerError as error:
        raise told(error, options) from error


def told(error: BrokerError, options: ClientOptions) -> PipelineError:
    """What a user of a pipeline is told instead."""
    seconds = options.patience_ms / SECOND
    match error:
        case DataLost():
            return DataLoss(str(error))
        case CorruptBatch():
            return CorruptData(str(error))
        case NotAuthenticated():
            return PipelineError(f"the broker refused the login: {error}")
        case ConnectionGone():
            return Unreachable(
                f"no broker of {options.bootstrap} could be reached for {seconds:g} s: {error}"
            )
        case NoLeader():
            return Unreachable(f"{error}, for {seconds:g} s")
        case EndNotReached():
            return DataLoss(f"{error} came for {seconds:g} s: the log ends earlier than it did")
        case Refused():
            return _refused(error)
    return PipelineError(str(error))


def _refused(error: Refused) -> PipelineError:
    match error.code:
        case ErrorCode.PRODUCER_FENCED | ErrorCode.INVALID_PRODUCER_EPOCH:
            return Fenced(
                "another run with the same transactional id has taken over, or the transaction "
                f"was open for longer than kafka.transaction.timeout.ms: {error}"
            )
        case ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            return PipelineError(
                "kafka.transaction.timeout.ms is longer than the brokers allow "
                "(transaction.max.timeout.ms)"
            )
        case ErrorCode.MESSAGE_TOO_LARGE:
            return PipelineError(
                f"{error}: a record is larger than the topic takes (max.message.bytes), or "
                "option kafka.batch.size is"
            )
    return PipelineError(f"the broker refused: {error}")
