"""The core of a connection: which answer belongs to which request, and when none will come."""

import pytest

from odradek.model.limits import FRAME_BYTES_MAX
from odradek.model.units import Millis
from odradek.peers.errors import MalformedAnswer, TimedOut, UnexpectedAnswer
from odradek.peers.requests import RequestsInFlight, encode_request
from odradek.ports import Chunk, size_of
from odradek.wire.framing import Framer, Scratch
from odradek.wire.headers import read_request, response_frame
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.schema import Response

LATER = Millis(1_000)


def joined(chunks: list[Chunk]) -> bytes:
    """As they lie on the wire."""
    return b"".join(chunks)  # type: ignore[arg-type]  # none is from a file


def receive(flight: RequestsInFlight[str], data: bytes) -> list[tuple[str, Response]]:
    """As a shell reads it."""
    found = []
    while data and flight.fault is None:
        room = flight.buffer()
        count = min(len(room), len(data))
        room[:count] = data[:count]
        found += [tuple(it) for it in flight.received(count)]
        data = data[count:]
    return found


def ask(flight: RequestsInFlight[str], ticket: str, deadline: Millis = LATER) -> bytes:
    """One heartbeat."""
    request = encode_request(HeartbeatRequest("shop", 1, ticket), 4)
    return joined(flight.send(request, deadline, ticket))


def answer(number: int, error: int = 0, version: int = 4) -> bytes:
    """To one heartbeat."""
    return joined(response_frame(HeartbeatResponse(0, error), version, number))


def test_answers_go_to_the_requests_in_their_order() -> None:
    """However the bytes are cut, with the ticket that came with the request."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    for ticket in "abc":
        ask(flight, ticket)
    data = answer(0, 1) + answer(1, 2) + answer(2, 3)
    found = [pair for at in range(len(data)) for pair in receive(flight, data[at : at + 1])]
    assert [(ticket, it.error_code) for ticket, it in found] == [("a", 1), ("b", 2), ("c", 3)]  # type: ignore[attr-defined]
    assert len(flight) == 0


def test_a_request_is_encoded_once_for_many_connections() -> None:
    """Each gets a header of its own before the same body."""
    topics = None
    request = encode_request(MetadataRequest(topics=topics), 9)
    frames = []
    for name in ("first", "second"):
        flight: RequestsInFlight[str] = RequestsInFlight(name)
        ask(flight, "before")
        frames.append(joined(flight.send(request, LATER, "x")))
    heads = [read_request(Framer(Scratch()).feed(frame)[0])[0] for frame in frames]
    assert [it.client_id for it in heads] == ["first", "second"]
    assert [it.correlation_id for it in heads] == [1, 1]


def test_large_bodies_are_shared_not_copied() -> None:
    """Of a request of 200 KB a connection makes only the header anew."""
    records = bytes(200_000)
    topics = [TopicProduceData("orders", partition_data=[PartitionProduceData(0, records)])]
    request = encode_request(ProduceRequest(None, -1, 1, topics), 9)
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    frame = flight.send(request, LATER, "x")
    assert any(chunk is records for chunk in frame)
    assert size_of(frame[0]) < 100


@pytest.mark.parametrize("number", [1, 7, -1])
def test_an_answer_that_nobody_asked_for_ends_the_connection(number: int) -> None:
    """Also one to a later request than the oldest: what follows cannot be believed either."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    ask(flight, "a")
    ask(flight, "b")
    assert receive(flight, answer(number) + answer(0)) == []
    assert isinstance(flight.fault, UnexpectedAnswer)
    assert flight.abandon() == ["a", "b"]


def test_an_answer_when_nothing_is_in_flight_ends_the_connection() -> None:
    """There is nothing that it could belong to."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    assert receive(flight, answer(0)) == []
    assert isinstance(flight.fault, UnexpectedAnswer)


def test_answers_before_a_fault_are_given_out() -> None:
    """Only what comes behind it is lost."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    ask(flight, "a")
    ask(flight, "b")
    data = answer(0) + b"\xff\xff\xff\xff"
    assert [ticket for ticket, _ in receive(flight, data)] == ["a"]
    assert isinstance(flight.fault, MalformedAnswer)
    assert flight.abandon() == ["b"]


def test_an_answer_may_be_larger_than_any_request() -> None:
    """A broker with another limit took the batch that is in it; memory follows what has come."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    ask(flight, "a")
    assert receive(flight, (FRAME_BYTES_MAX + 1).to_bytes(4, "big") + bytes(8)) == []
    assert flight.fault is None
    assert len(flight.buffer()) < FRAME_BYTES_MAX // 100


def test_an_answer_that_cannot_be_read_ends_the_connection_by_name() -> None:
    """The request stays in flight, and fails with the connection."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    ask(flight, "a")
    assert receive(flight, b"\x00\x00\x00\x05\x00\x00\x00\x00\x00") == []
    assert isinstance(flight.fault, MalformedAnswer)
    assert "Heartbeat v4" in str(flight.fault)
    assert flight.abandon() == ["a"]


def test_one_overdue_request_is_the_end_of_all() -> None:
    """Answers come in order: the ones behind it cannot be on time."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    assert flight.deadline() is None
    ask(flight, "patient", Millis(500))
    ask(flight, "hasty", Millis(100))
    assert flight.deadline() == 100
    assert flight.overdue(Millis(99)) is None
    assert isinstance(flight.overdue(Millis(100)), TimedOut)


def test_a_request_without_an_answer_takes_a_number_too() -> None:
    """The next answer has the number behind it."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    flight.post(encode_request(HeartbeatRequest("shop", 1, "x"), 4))
    ask(flight, "a")
    assert [ticket for ticket, _ in receive(flight, answer(1))] == ["a"]


def test_numbers_begin_anew_before_they_are_negative() -> None:
    """An int32 on the wire."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    flight._next_id = (1 << 31) - 1
    ask(flight, "last")
    ask(flight, "first")
    data = answer((1 << 31) - 1) + answer(0)
    assert [ticket for ticket, _ in receive(flight, data)] == ["last", "first"]


def test_metadata_of_another_version_is_read_as_that_version() -> None:
    """The version belongs to the request in flight."""
    flight: RequestsInFlight[str] = RequestsInFlight("us")
    flight.send(encode_request(MetadataRequest(topics=None), 1), LATER, "old")
    frame = joined(response_frame(MetadataResponse(controller_id=3), 1, 0))
    ((ticket, response),) = receive(flight, frame)
    assert (ticket, response.controller_id) == ("old", 3)  # type: ignore[attr-defined]
