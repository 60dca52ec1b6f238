"""The commonest request by hand: it says what the compiled codec says, or declines."""

from typing import cast

import pytest

from odradek.model.errors import MalformedRequest
from odradek.wire.codec import decode, encoded
from odradek.wire.headers import response_frame
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.wire.quick import one_batch_answer, read_one_batch

VERSIONS = range(3, 12)


def body(version: int, batch: bytes = b"batch", name: str = "orders", **how: object) -> bytearray:
    """A request with one batch."""
    request = ProduceRequest(
        cast("str | None", how.get("transactional_id")),
        1,
        30_000,
        [TopicProduceData(name, partition_data=[PartitionProduceData(7, batch)])],
    )
    return bytearray(encoded(request, version))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [1, 126, 127, 128, 20_000])
def test_one_batch_is_read_as_the_codec_reads_it(version: int, size: int) -> None:
    """At every version, and at every length of the varint before the batch."""
    data = bytearray(b"head") + body(version, bytes(size))
    found = read_one_batch(data, 4, version)
    assert found is not None
    request, _ = decode(ProduceRequest, version, data, 4)
    partition = request.topic_data[0].partition_data[0]
    assert found == (
        request.acks,
        request.timeout_ms,
        request.topic_data[0].name.encode(),
        partition.index,
        cast("memoryview", partition.records),
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_other_shapes_are_declined(version: int) -> None:
    """They are the codec's affair: two partitions, a transactional id, no batch, a long name."""
    two = [PartitionProduceData(0, b"a"), PartitionProduceData(1, b"b")]
    topic = [TopicProduceData("t", partition_data=two)]
    shapes = [
        bytearray(encoded(ProduceRequest(None, 1, 1, topic), version)),
        bytearray(encoded(ProduceRequest(None, 1, 1, []), version)),
        body(version, transactional_id="shop"),
        body(version, b""),
        body(version) + b"\0",
    ]
    assert [read_one_batch(shape, 0, version) for shape in shapes] == [None] * len(shapes)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_cut_off_is_declined_at_every_byte(version: int) -> None:
    """The codec then says what is wrong with it."""
    whole = body(version)
    for size in range(len(whole)):
        assert read_one_batch(whole[:size], 0, version) is None
        with pytest.raises(MalformedRequest):
            decode(ProduceRequest, version, whole[:size])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_is_the_codecs_to_the_byte(version: int) -> None:
    """Whichever of the two wrote it, a client cannot tell."""
    row = PartitionProduceResponse(7, 0, 1_000_000, 1_700_000_000_000, 5)
    response = ProduceResponse([TopicProduceResponse("orders", partition_responses=[row])])
    where = (1_000_000, 1_700_000_000_000, 5)
    compiled = b"".join(cast("list[bytes]", response_frame(response, version, 42)))
    assert one_batch_answer(version, 42, (b"orders", 7), where) == compiled
