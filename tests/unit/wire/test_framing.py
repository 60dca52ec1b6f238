"""Frames out of bytes: however they arrive, and whatever they claim."""

import tracemalloc

import pytest

from odradek.model.errors import ErrorCode, MalformedRequest
from odradek.ports import FileRange
from odradek.wire.framing import Framer, InvalidFrame, Scratch, framed


def frame(content: bytes) -> bytes:
    """As it goes over the wire."""
    return len(content).to_bytes(4, "big") + content


def fault(data: bytes) -> str:
    """What is said about a connection that begins like this."""
    framer = Framer(Scratch())
    assert framer.feed(data) == []
    assert framer.fault is not None
    return str(framer.fault)


FRAMES = [b"first frame", bytes(100), b"abcd", bytes(range(256)) * 3, b"last"]
STREAM = b"".join(map(frame, FRAMES))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 64, 500, len(STREAM)])
def test_frames_do_not_depend_on_how_they_arrive(size: int) -> None:
    """A byte at a time or all at once: the same frames come out in the same order."""
    framer = Framer(Scratch(64))
    frames = []
    for start in range(0, len(STREAM), size):
        frames += framer.feed(STREAM[start : start + size])
    assert frames == FRAMES
    assert framer.announced == 0


def test_one_read_may_bring_many_frames() -> None:
    """Small frames share a read, and each leaves the shared buffer at once."""
    scratch = Scratch()
    framer = Framer(scratch)
    scratch.data[: len(STREAM)] = STREAM
    frames = framer.received(len(STREAM))
    scratch.data[:] = b"\xff" * len(scratch.data)  # another connection reads
    assert frames == FRAMES
    assert all(type(item) is bytearray for item in frames), "offsets are written into them"


def test_connections_share_a_scratch_buffer() -> None:
    """What one has begun to read is not in the way of another."""
    scratch = Scratch()
    one, other = Framer(scratch), Framer(scratch)
    data, more = frame(b"hello world"), frame(bytes(500))
    assert one.feed(data[:3]) == []
    assert other.feed(more[:2]) == []
    assert one.feed(data[3:]) == [b"hello world"]
    assert other.feed(more[2:]) == [bytes(500)]


def test_a_large_frame_is_received_in_place() -> None:
    """Once begun, its bytes are read where they stay, and nothing behind it is read with it."""
    framer = Framer(Scratch(64))
    content = bytes(range(256)) * 4
    assert framer.feed(frame(content)[:50]) == []
    assert framer.announced == len(content)
    room = framer.buffer()
    assert len(room) == len(content) - 46
    room[:] = content[46:]
    (received,) = framer.received(len(room))
    assert received == content
    assert received is room.obj, "no copy was made"


def test_memory_follows_what_has_come() -> None:
    """Four bytes can promise a hundred megabytes; they get a page, and real bytes get more."""
    framer = Framer(Scratch())
    tracemalloc.start()
    try:
        framer.feed((100 << 20).to_bytes(4, "big"))
        assert framer.announced == 100 << 20
        assert len(framer.buffer()) == 4 << 10
        assert tracemalloc.get_traced_memory()[1] < 10_000
        framer.feed(bytes(4 << 10))
        assert len(framer.buffer()) == (128 << 10) - (4 << 10)
        framer.feed(bytes(124 << 10))
        assert len(framer.buffer()) == (2 << 20) - (128 << 10), "a full batch, from here on"
        framer.feed(bytes((2 << 20) - (128 << 10)))
        assert len(framer.buffer()) == 2 << 20, "as much again as has come"
        assert tracemalloc.get_traced_memory()[1] < 7 << 20
    finally:
        tracemalloc.stop()


def test_a_full_batch_is_received_in_one_piece() -> None:
    """The first read of a client in good faith brings enough to be trusted with the rest."""
    framer = Framer(Scratch())
    content = bytes((1 << 20) + 100)
    assert framer.feed(frame(content)[: 64 << 10]) == []
    assert len(framer.buffer()) == len(content) + 4 - (64 << 10)


def test_a_frame_above_the_eager_size_is_whole_nevertheless() -> None:
    """Its memory doubles until it has come; the bytes stay in order."""
    content = bytes(range(256)) * 1000
    framer = Framer(Scratch(64), eager=1000)
    frames = []
    for start in range(0, len(content) + 4, 10_000):
        frames += framer.feed(frame(content)[start : start + 10_000])
    assert frames == [content]


def test_the_limit_itself_is_allowed() -> None:
    """socket.request.max.bytes is the largest frame, not the first that is too large."""
    framer = Framer(Scratch(), limit=1000)
    assert framer.feed(frame(bytes(1000))) == [bytes(1000)]
    framer.feed(frame(bytes(1001)))
    assert isinstance(framer.fault, InvalidFrame)
    assert "1001 bytes; it has 4 to 1000" in str(framer.fault)


def test_frames_before_a_fault_are_delivered() -> None:
    """Pipelined requests that were whole are answered before the connection is closed."""
    framer = Framer(Scratch())
    assert framer.feed(STREAM + b"\xff\xff\xff\xff") == FRAMES
    assert framer.fault is not None


def test_nothing_is_read_after_a_fault() -> None:
    """There is no way to find the next frame; to go on is our mistake."""
    framer = Framer(Scratch())
    framer.feed(b"\xff\xff\xff\xff")
    with pytest.raises(AssertionError):
        framer.buffer()


@pytest.mark.parametrize("length", [0, 1, 2, 3, -1, -(1 << 31), (1 << 31) - 1, (100 << 20) + 1])
def test_a_length_that_no_frame_has_is_refused(length: int) -> None:
    """Zero, negative, too small for a correlation id, above the limit: before any allocation."""
    tracemalloc.start()
    try:
        text = fault(length.to_bytes(4, "big", signed=True))
        assert tracemalloc.get_traced_memory()[1] < 100_000, "the scratch buffer and little more"
    finally:
        tracemalloc.stop()
    assert f"a frame of {length} bytes" in text


@pytest.mark.parametrize(
    ("start", "protocol"),
    [
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"POST /topics HTTP/1.1\r\n", "HTTP"),
        (b"HTTP/1.1 200 OK\r\n", "HTTP"),
        (b"PRI * HTTP/2.0\r\n", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01", "TLS"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH"),
        (b"PROXY TCP4 ", "the PROXY protocol"),
        (b"\r\n\r\n\x00\r\nQUIT\n", "the PROXY protocol"),
        (b"ruok", "ZooKeeper's commands"),
        (b"AMQP\x00\x00\x09\x01", "AMQP"),
        (b"EHLO example.org\r\n", "text"),
    ],
)
def test_a_foreign_protocol_is_named(start: bytes, protocol: str) -> None:
    """Whoever called the wrong port reads in one sentence which one it was."""
    text = fault(start)
    assert f"This looks like {protocol};" in text
    assert text.endswith("the port speaks Kafka's protocol")


def test_a_fault_is_a_malformed_request() -> None:
    """Whoever catches those need not know of frames."""
    assert issubclass(InvalidFrame, MalformedRequest)
    assert InvalidFrame.code is ErrorCode.INVALID_REQUEST


def test_a_small_answer_is_one_piece_and_records_stay_apart() -> None:
    """One `send` for what is small; records are never copied, nor is what is still in a file."""
    assert framed(b"head", [b"body"]) == [b"\0\0\0\x08headbody"]
    records = memoryview(bytes(5000))
    assert framed(b"head", [b"body", records]) == [b"\0\0\x13\x90head", b"body", records]
    in_file = FileRange(None, 0, 70_000)  # type: ignore[arg-type]
    assert framed(b"", [b"12", in_file])[0] == (70_002).to_bytes(4, "big")
