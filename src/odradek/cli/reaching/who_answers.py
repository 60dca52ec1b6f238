"""Whether who answers at a broker's address is that broker: advertised.listeners may be wrong.

Kafka's own requests do not say for whom they are, so what one broker has would be taken for what
another has. Ours name the broker and are refused by any other; Kafka's brokers cannot be asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import click

from odradek.cli.reaching.naming import brokers_that_answer
from odradek.client.addresses import written
from odradek.client.admin.operations import Wanted, operate_on
from odradek.client.cluster import Cluster
from odradek.client.connection import Connection
from odradek.client.errors import Refused
from odradek.model.admin_operations import CERTIFICATES_DESCRIBE
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.peers.errors import ConnectionGone

T = TypeVar("T")


class LeadsElsewhere(BrokerError):
    """A broker advertises an address at which another one answers."""

    code = ErrorCode.INVALID_REQUEST


@contextmanager
def told_apart(cluster: Cluster, broker: BrokerId) -> Iterator[None]:
    """While something is asked that only this broker answers: a refusal names the setting."""
    try:
        yield
    except Refused as error:
        if error.code is not ErrorCode.INVALID_REQUEST:
            raise
        where = written(cluster.brokers[broker].address) if broker in cluster.brokers else "it"
        text = (
            f"broker {broker} advertises {where}, and who answers there says: {error.told}; "
            f"correct advertised.listeners of broker {broker}"
        )
        raise LeadsElsewhere(text) from error


async def itself(cluster: Cluster, broker: BrokerId) -> Connection:
    """To this broker and no other, before it is asked what any would answer."""
    connection = await cluster.broker(broker)
    with told_apart(cluster, broker):
        try:
            await operate_on(connection, Wanted(CERTIFICATES_DESCRIBE, resource=str(broker)))
        except ConnectionGone:
            raise
        except BrokerError as error:
            if error.code is ErrorCode.INVALID_REQUEST:
                raise
            # it is Kafka's, or older, or we may not ask that: what is asked next says what we may
    return connection


async def of_each(
    cluster: Cluster, named: Iterable[int], ask: Callable[[BrokerId], Awaitable[Iterable[T]]]
) -> tuple[list[T], bool]:
    """What each of these tells, and whether one was left out: without names, of all that answer.

    One whose address leads to another is told on stderr, and the others are asked all the same.
    """
    brokers = list(named)

    async def told(broker: BrokerId) -> Iterable[T] | LeadsElsewhere:
        try:
            with told_apart(cluster, broker):
                return await ask(broker)
        except LeadsElsewhere as error:
            if brokers:
                raise
            return error

    answers = await asyncio.gather(*map(told, await brokers_that_answer(cluster, brokers)))
    found: list[T] = []
    is_left_out = False
    for it in answers:
        if isinstance(it, LeadsElsewhere):
            click.echo(f"odradek: {it}", err=True)
            is_left_out = True
        else:
            found += it
    return found, is_left_out
