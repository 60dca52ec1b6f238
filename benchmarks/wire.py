"""How fast messages are read and written, beside kio and kafka-python.

Each round times all of them, one behind the other, on the same bytes; a ratio is theirs over ours
within a round, so a slow moment of the machine touches both. Bars: encoding at least 10 times kio
and 6 times kafka-python, decoding at least 1.3 times kafka-python.
"""

import gc
import io
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from kafka.protocol.consumer.fetch import FetchRequest as KafkaPythonFetchRequest
from kafka.protocol.consumer.fetch import FetchResponse as KafkaPythonFetchResponse
from kafka.protocol.metadata.metadata import MetadataResponse as KafkaPythonMetadataResponse
from kafka.protocol.producer.produce import ProduceRequest as KafkaPythonProduceRequest
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from odradek.wire import decoder, encoder
from odradek.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.schema import Message

ROUNDS = 15
TRIES = 5  # in a round, of which the best counts: what else runs on the machine only adds
SECONDS_PER_TRY = 0.004


def fetch_response() -> FetchResponse:
    """One topic of 100 partitions, 1 KiB of records each."""
    partitions = [
        PartitionData(
            partition_index=number,
            high_watermark=1000,
            last_stable_offset=1000,
            log_start_offset=0,
            aborted_transactions=[],
            records=memoryview(bytes(1024)),
        )
        for number in range(100)
    ]
    return FetchResponse(responses=[FetchableTopicResponse("orders", partitions=partitions)])


def metadata_response() -> MetadataResponse:
    """Three brokers, one topic of 1,000 partitions, three replicas each."""
    partitions = [
        MetadataResponsePartition(0, number, number % 3, 5, (0, 1, 2), (0, 1, 2), ())
        for number in range(1000)
    ]
    brokers = [MetadataResponseBroker(number, f"broker-{number}", 9092) for number in range(3)]
    topic = MetadataResponseTopic(0, "orders", bytes(range(16)), partitions=partitions)
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=[topic])


def produce_request() -> ProduceRequest:
    """One topic of 10 partitions, 16 KiB of records each."""
    partitions = [PartitionProduceData(number, bytes(16384)) for number in range(10)]
    return ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData("orders", partition_data=partitions)],
    )


def fetch_request() -> FetchRequest:
    """One topic of 100 partitions."""
    partitions = [
        FetchPartition(number, 5, 1000, log_start_offset=0, partition_max_bytes=1 << 20)
        for number in range(100)
    ]
    topic = FetchTopic("orders", partitions=partitions)
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic])


def decoding(message: Message, version: int, theirs: Any) -> dict[str, Callable[[], Any]]:
    """The same bytes, read by each."""
    data = b"".join(encoder(type(message), version)(message))  # type: ignore[arg-type]
    frame = bytearray(data)
    ours = decoder(type(message), version)
    kio = entity_reader(load_request_schema(message.KEY, version))  # type: ignore[attr-defined]
    return {
        "odradek": lambda: ours(frame, 0),
        "kio": lambda: kio(data, 0),
        "kafka-python": lambda: theirs.decode(data, version=version),
    }


def encoding(message: Message, version: int, theirs: Any) -> dict[str, Callable[[], Any]]:
    """The same content, as an object of each, to one piece of bytes."""
    ours = encoder(type(message), version)
    data = b"".join(ours(message))  # type: ignore[arg-type]
    schema = load_response_schema(message.KEY, version)  # type: ignore[attr-defined]
    kio_object = entity_reader(schema)(data, 0)[0]
    kio_write = entity_writer(schema)
    kafka_python_object = theirs.decode(data, version=version)
    kafka_python_object._header = None  # noqa: SLF001 - its encoder asks for one

    def kio() -> bytes:
        out = io.BytesIO()
        kio_write(out, kio_object)
        return out.getvalue()

    assert kio() == data == bytes(kafka_python_object.encode(version=version))
    return {
        "odradek": lambda: b"".join(ours(message)),  # type: ignore[arg-type]
        "kio": kio,
        "kafka-python": lambda: kafka_python_object.encode(version=version),
    }


def microseconds(function: Callable[[], Any], loops: int) -> float:
    """The time of one call, as the mean of so many."""
    start = time.perf_counter()
    for _ in range(loops):
        function()
    return (time.perf_counter() - start) / loops * 1e6


def compare(title: str, functions: dict[str, Callable[[], Any]]) -> None:
    """Prints our time, and for each of the others how many times slower it is."""
    loops = {
        name: max(1, int(SECONDS_PER_TRY * 1e6 / min(microseconds(function, 1) for _ in range(3))))
        for name, function in functions.items()
    }
    rounds = []
    for _ in range(ROUNDS):
        tries = [
            {name: microseconds(function, loops[name]) for name, function in functions.items()}
            for _ in range(TRIES)
        ]
        rounds.append({name: min(times[name] for times in tries) for name in functions})
    print(title)
    times = [times["odradek"] for times in rounds]
    print(f"    odradek        {spread(times)} µs")
    for other in functions:
        if other != "odradek":
            ratios = [times[other] / times["odradek"] for times in rounds]
            print(f"    / {other:12} {spread(ratios)} times as long")


def spread(values: list[float]) -> str:
    """The least, the middle and the most."""
    return f"{min(values):8.2f} /{statistics.median(values):8.2f} /{max(values):8.2f}"


def main() -> None:
    """All of them; figures are min / median / max."""
    gc.disable()
    print(f"Python {sys.version.split()[0]}; min / median / max of {ROUNDS} rounds")
    compare(
        "encode FetchResponse v12, 100 partitions of 1 KiB",
        encoding(fetch_response(), 12, KafkaPythonFetchResponse),
    )
    compare(
        "encode MetadataResponse v12, 1,000 partitions",
        encoding(metadata_response(), 12, KafkaPythonMetadataResponse),
    )
    compare(
        "decode ProduceRequest v9, 10 partitions of 16 KiB",
        decoding(produce_request(), 9, KafkaPythonProduceRequest),
    )
    compare(
        "decode FetchRequest v12, 100 partitions",
        decoding(fetch_request(), 12, KafkaPythonFetchRequest),
    )


if __name__ == "__main__":
    main()
