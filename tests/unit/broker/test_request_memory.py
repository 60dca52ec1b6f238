"""Memory of requests: bounded while they arrive, bounded while they are open, and given back."""

import tracemalloc
from itertools import pairwise

import pytest

from odradek.broker.network.request_memory import ARRIVING_MICROS_MAX, RequestMemory
from odradek.model.units import MIB, Bytes, Micros
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.unit.broker.test_dispatch import Client, Desk

NOW = Micros(0)


class Sender:
    """A connection, as the memory sees it."""

    def __init__(self) -> None:
        self.told = 0
        self.reasons: list[str] = []

    def look_at_bounds(self) -> None:
        """Noted."""
        self.told += 1

    def hang_up(self, reason: str) -> None:
        """Noted."""
        self.reasons.append(reason)


def begin(client: Client, size: int, sent: int) -> None:
    """Part of a request."""
    client.send_raw(size.to_bytes(4, "big") + bytes(sent))


def test_a_closed_connection_keeps_nothing_of_the_request_that_had_begun() -> None:
    """Whoever still knows the connection does not keep its buffer alive."""
    desk = Desk()
    client = Client(desk)
    tracemalloc.start()
    try:
        begin(client, 8 * MIB, 4 * MIB)
        assert tracemalloc.get_traced_memory()[0] > 4 * MIB
        client.connection.closed(None)
        assert tracemalloc.get_traced_memory()[0] < MIB
    finally:
        tracemalloc.stop()


def test_a_large_request_waits_until_others_were_answered() -> None:
    """Requests of all connections share `queued.max.request.bytes`; what is beyond is not read."""
    desk = Desk(memory=100_000)
    rich, poor = Client(desk), Client(desk)
    rich.send(HeartbeatRequest("g" * 32_000), 2, 1)
    rich.send(HeartbeatRequest("g" * 32_000), 2, 2)
    rich.send(HeartbeatRequest("g" * 32_000, member_id="m" * 9_000), 2, 3)
    begin(poor, 90_000, 5)
    assert poor.hands.paused
    for pending in desk.open:
        pending.answer(HeartbeatResponse())
    assert not poor.hands.paused


def test_requests_that_wait_do_not_keep_each_other_waiting() -> None:
    """Only what was granted counts: two that wait must not fill the memory they wait for."""
    memory = RequestMemory(Bytes(100))
    senders = [Sender() for _ in range(4)]
    granted = [memory.claim(sender, 10, 100, NOW) for sender in senders]
    assert granted == [True, False, False, False]
    for sender, heir in pairwise(senders):
        memory.release(sender)
        assert heir.told == 1


def test_a_claim_that_is_given_up_is_given_back() -> None:
    """The client is gone while its request arrives, or while it waits."""
    memory = RequestMemory(Bytes(100))
    first, second, third = Sender(), Sender(), Sender()
    memory.claim(first, 10, 100, NOW)
    memory.claim(second, 10, 100, NOW)
    memory.claim(third, 10, 100, NOW)
    memory.release(second)
    memory.release(first)
    assert (second.told, third.told) == (0, 1)


def test_what_arrives_is_bounded_without_any_setting() -> None:
    """Parts of requests from nobody knows whom share a bound; the next ones are not read."""
    memory = RequestMemory(None, arriving_bytes_max=Bytes(100))
    first, second, third = Sender(), Sender(), Sender()
    assert memory.claim(first, 60, 1_000, NOW)
    assert memory.claim(second, 40, 1_000, NOW)
    assert not memory.claim(third, 1, 1_000, NOW)
    memory.release(second)
    assert third.told == 1


def test_the_oldest_request_always_gets_its_memory() -> None:
    """If all that have begun waited for each other, none would ever be whole."""
    memory = RequestMemory(None, arriving_bytes_max=Bytes(100))
    first, second = Sender(), Sender()
    assert memory.claim(first, 50, 1_000, NOW)
    assert memory.claim(second, 50, 1_000, NOW)
    assert not memory.claim(second, 100, 1_000, NOW)
    assert memory.claim(first, 1_000, 1_000, NOW)
    memory.release(first)
    assert second.told == 1


@pytest.mark.parametrize("others_wait", [False, True])
def test_a_request_that_arrives_too_slowly_is_given_up_if_others_wait(*, others_wait: bool) -> None:
    """A slow network alone is no reason."""
    memory = RequestMemory(None, arriving_bytes_max=Bytes(100))
    slow, quick = Sender(), Sender()
    memory.claim(slow, 100, 1_000, NOW)
    if others_wait:
        memory.claim(quick, 1, 1_000, ARRIVING_MICROS_MAX)
    memory.give_up_slow(Micros(ARRIVING_MICROS_MAX + 1))
    assert bool(slow.reasons) is others_wait
    assert not quick.reasons
