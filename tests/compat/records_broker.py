"""A broker just large enough for clients to produce to and to consume from: it keeps batches.

It has topics of one partition, believes no client, and checks every batch as the real broker does.
No groups, no replication, no transactions: what is under test is what stands in the batches.
"""

import socket
import socketserver
import threading
from collections.abc import Callable
from itertools import count
from types import TracebackType
from typing import Any, Final, Self

from odradek.model.errors import ErrorCode
from odradek.ports import FileRange
from odradek.records.batch import place, read_header
from odradek.records.legacy import convert_up
from odradek.records.validate import check_produced, check_records
from odradek.wire.framing import Framer, Scratch
from odradek.wire.headers import read_request, response_frame
from odradek.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.wire.schema import Request, Response

VERSIONS: Final = {0: 9, 1: 12, 2: 7, 3: 12, 10: 3, 18: 3, 22: 4}
"""The newest version of each API that is offered; all are offered from 0.

FindCoordinator is among them because librdkafka takes its version 0 for the sign of a broker that
knows lz4.
"""

EARLIEST: Final = -2


class RecordsBroker:
    """`logs` has the batches of each topic, as they are stored; `sent`, each set as it came."""

    def __init__(self, versions: dict[int, int] | None = None) -> None:
        self.versions = VERSIONS | (versions or {})
        self.logs: dict[str, list[bytes]] = {}
        self.sent: dict[str, list[bytes]] = {}
        self._appended = threading.Condition()
        self._producer_ids = count(1000)
        self._server = _Server(("127.0.0.1", 0), _Connection)
        self._server.broker = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.address = "{}:{}".format(*self._server.server_address)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def append(self, topic: str, *batches: bytes | bytearray) -> None:
        """Puts batches behind those that are there; their offsets must go on from them."""
        with self._appended:
            self.logs.setdefault(topic, []).extend(bytes(batch) for batch in batches)
            self._appended.notify_all()

    def answer(self, request: Request, version: int) -> Response | None:
        """What this request gets; None if its client waits for nothing."""
        return _ANSWERS[request.KEY](self, request, version)

    def end_offset(self, topic: str) -> int:
        """Where the next batch goes."""
        log = self.logs.get(topic)
        return read_header(log[-1]).next_offset if log else 0

    def produce(self, request: ProduceRequest, version: int) -> Response | None:
        """Checks what was sent, gives it its offsets and keeps it."""
        topics = [
            TopicProduceResponse(
                topic.name,
                partition_responses=[
                    PartitionProduceResponse(
                        part.index, base_offset=self._take(topic.name, part.records, version)
                    )
                    for part in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
        return ProduceResponse(topics) if request.acks else None

    def _take(self, topic: str, records: Any, version: int) -> int:
        data = bytes(records)
        self.sent.setdefault(topic, []).append(data)
        batch = bytearray(data) if version >= 3 else convert_up(data)
        check_records(batch, check_produced(batch, version=version))
        base_offset = self.end_offset(topic)
        place(batch, 0, base_offset, leader_epoch=0)
        self.append(topic, batch)
        return base_offset

    def fetch(self, request: FetchRequest, version: int) -> Response:
        """The batches from the one that holds the offset; waits a little for the first."""
        with self._appended:
            found = self._found(request)
            if not any(part.records for topic in found for part in topic.partitions):
                self._appended.wait(min(request.max_wait_ms, 100) / 1000)
                found = self._found(request)
        return FetchResponse(responses=found)

    def _found(self, request: FetchRequest) -> list[FetchableTopicResponse]:
        return [
            FetchableTopicResponse(
                topic.topic,
                partitions=[
                    PartitionData(
                        part.partition,
                        high_watermark=self.end_offset(topic.topic),
                        last_stable_offset=self.end_offset(topic.topic),
                        log_start_offset=0,
                        records=b"".join(
                            batch
                            for batch in self.logs.get(topic.topic, [])
                            if read_header(batch).next_offset > part.fetch_offset
                        ),
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]

    def list_offsets(self, request: ListOffsetsRequest, version: int) -> Response:
        """The earliest or the end; clients here ask for nothing else."""
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    topic.name,
                    [
                        ListOffsetsPartitionResponse(
                            part.partition_index,
                            offset=0 if part.timestamp == EARLIEST else self.end_offset(topic.name),
                            leader_epoch=0,
                        )
                        for part in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def metadata(self, request: MetadataRequest, version: int) -> Response:
        """This broker leads whatever is asked for."""
        host, port = self._server.server_address[:2]
        names = [topic.name or "" for topic in request.topics or ()] or sorted(self.logs)
        part = MetadataResponsePartition(
            leader_id=1, leader_epoch=0, replica_nodes=[1], isr_nodes=[1]
        )
        return MetadataResponse(
            brokers=[MetadataResponseBroker(1, str(host), port)],
            cluster_id="records",
            controller_id=1,
            topics=[MetadataResponseTopic(name=name, partitions=[part]) for name in names],
        )

    def api_versions(self, request: ApiVersionsRequest, version: int) -> Response:
        """All that is offered."""
        rows = [ApiVersion(key, 0, last) for key, last in self.versions.items()]
        return ApiVersionsResponse(api_keys=rows)

    def find_coordinator(self, request: FindCoordinatorRequest, version: int) -> Response:
        """There is none; who asks has a group's name, but no group."""
        return FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def init_producer_id(self, request: InitProducerIdRequest, version: int) -> Response:
        """The next producer that counts."""
        return InitProducerIdResponse(
            error_code=ErrorCode.NONE, producer_id=next(self._producer_ids), producer_epoch=0
        )


_ANSWERS: Final[dict[int, Callable[[RecordsBroker, Any, int], Response | None]]] = {
    0: RecordsBroker.produce,
    1: RecordsBroker.fetch,
    2: RecordsBroker.list_offsets,
    3: RecordsBroker.metadata,
    10: RecordsBroker.find_coordinator,
    18: RecordsBroker.api_versions,
    22: RecordsBroker.init_producer_id,
}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    broker: RecordsBroker


class _Connection(socketserver.BaseRequestHandler):
    request: socket.socket
    server: _Server

    def handle(self) -> None:
        framer = Framer(Scratch())
        while data := self._received():
            for frame in framer.feed(data):
                header, request = read_request(frame)
                version = header.request_api_version
                response = self.server.broker.answer(request, version)
                if response is not None:
                    chunks = response_frame(response, version, header.correlation_id)
                    self.request.sendall(
                        b"".join(c for c in chunks if not isinstance(c, FileRange))
                    )
            assert framer.fault is None, framer.fault

    def _received(self) -> bytes:
        """What came; nothing once the client has left, however it did."""
        try:
            return self.request.recv(1 << 16)
        except ConnectionError:
            return b""
