"""What one request costs a broker in things that can be counted: the same on every machine.

Calls of Python functions and of built-in ones, blocks of memory that are kept, system calls, turns
of the loop, threads that were woken: of a warm broker with real sockets, in requests one after the
other, whatever else it does meanwhile included. `python benchmarks/counts.py [CASE ...]`;
`--functions` shows what is called most, `--json` prints what tests compare.
"""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count, islice, repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.broker import raw_answer, raw_frame
from benchmarks.counted_broker import PRINTED
from odradek.client.coordinators import COORDINATOR_VERSION, find_coordinator
from odradek.records.batch import read_header
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.headers import read_response
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.wire.schema import Request
from tests.compat.broker_process import eventually
from tests.external import tools
from tests.live.cluster import ClusterBroker, LiveCluster

REQUESTS: Final = 1_000
TOPICS: Final = 10
GROUP: Final = "counted"
ROUNDS: Final = 3  # warm, counted, and under strace
FOLLOWER: Final = 2
ONE_BATCH: Final = 200  # bytes: not two
FETCH: Final = 11
FETCH_BY_NAME: Final = 12
JOIN_GROUP: Final = 0
SETTINGS: Final = {"min.insync.replicas": "1", "offsets.topic.replication.factor": "1"}
CALLS: Final = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", re.MULTILINE)
TURNS: Final = ("epoll_wait", "epoll_pwait")
WOKEN: Final = "futex"


class CountedBroker(ClusterBroker):
    """It counts when it is told to."""

    def _command(self, file: Path) -> list[str]:
        return [
            sys.executable,
            str(tools.ROOT / "benchmarks/counted_broker.py"),
            "serve",
            str(file),
        ]

    def begin(self) -> None:
        """From now on."""
        os.kill(self.pid, signal.SIGUSR1)

    def end(self) -> dict[str, Any]:
        """What it has counted."""
        before = self.log().count(PRINTED)
        os.kill(self.pid, signal.SIGUSR2)
        eventually(lambda: self.log().count(PRINTED) > before and self.log().endswith("\n"))
        said = next(it for it in reversed(self.log().splitlines()) if it.startswith(PRINTED))
        found: dict[str, Any] = json.loads(said.removeprefix(PRINTED))
        return found


class CountedCluster(LiveCluster):
    """Its brokers count."""

    kind = CountedBroker


def ask(sock: socket.socket, request: Request, version: int) -> bytearray:
    """The answer."""
    sock.sendall(raw_frame(request, version))
    return raw_answer(sock)


def produce(_: socket.socket, topic: str) -> Iterator[bytes]:
    """A record of 100 B, acks=all."""
    batch = build_batch([Record(0, 1_700_000_000_000, None, bytes(100))])
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
    return repeat(raw_frame(ProduceRequest(None, -1, 30_000, data), 7))


def fetch(sock: socket.socket, topic: str) -> Iterator[bytes]:
    """Of a session, at the end of a log: nothing is there, and nothing is waited for."""
    wanted = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
    whole = FetchRequest(
        min_bytes=0, session_epoch=0, topics=[FetchTopic(topic, partitions=[wanted])]
    )
    answer = read_response(FetchResponse, FETCH, ask(sock, whole, FETCH))[1]
    for epoch in count(1):
        again = FetchRequest(min_bytes=0, session_id=answer.session_id, session_epoch=epoch)
        yield raw_frame(again, FETCH)


def follower_fetch(sock: socket.socket, topic: str) -> Iterator[bytes]:
    """Of the next record of 100 B, as the other replica asks for it."""
    for frame in islice(produce(sock, topic), ROUNDS * REQUESTS + 1):
        sock.sendall(frame)
        raw_answer(sock)
    asked = FetchRequest(
        replica_id=FOLLOWER, min_bytes=1, max_bytes=1 << 20, session_epoch=0, topics=[at(topic, 0)]
    )
    version = FETCH_BY_NAME
    answer = read_response(FetchResponse, version, ask(sock, asked, version))[1]
    records = answer.responses[0].partitions[0].records
    assert isinstance(records, memoryview), answer
    epoch = read_header(records).leader_epoch
    for number in count(1):
        asked.session_id, asked.session_epoch = answer.session_id, number
        asked.topics = [at(topic, number, epoch)]
        yield raw_frame(asked, version)


def at(topic: str, offset: int, epoch: int = -1) -> FetchTopic:
    """The batch there, which is the first that this leader epoch has or one behind it."""
    wanted = FetchPartition(
        0, epoch, offset, epoch, log_start_offset=0, partition_max_bytes=ONE_BATCH
    )
    return FetchTopic(topic, partitions=[wanted])


def heartbeat(sock: socket.socket, _: str) -> Iterator[bytes]:
    """Of the only member of a group."""
    join = JoinGroupRequest(
        GROUP,
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"")],
    )

    joined = JoinGroupResponse()

    def is_joined() -> bool:
        nonlocal joined
        ask(sock, find_coordinator(GROUP), COORDINATOR_VERSION)  # makes the topic of groups
        joined = read_response(JoinGroupResponse, JOIN_GROUP, ask(sock, join, JOIN_GROUP))[1]
        return not joined.error_code

    eventually(is_joined)
    generation, member = joined.generation_id, joined.member_id
    assignments = [SyncGroupRequestAssignment(member, b"")]
    ask(sock, SyncGroupRequest(GROUP, generation, member, assignments=assignments), 0)
    return repeat(raw_frame(HeartbeatRequest(GROUP, generation, member), 0))


def metadata(_: socket.socket, topic: str) -> Iterator[bytes]:
    """Of ten topics."""
    topics = [MetadataRequestTopic(name=f"{topic}-{number}") for number in range(TOPICS)]
    return repeat(raw_frame(MetadataRequest(topics), 8))


class Case(NamedTuple):
    """One request, again and again, to the leader."""

    frames: Callable[[socket.socket, str], Iterator[bytes]]
    replicas: int = 1
    topics: int = 0  # beside the one that is led
    is_follower: bool = False  # the frames are those of the second broker, which is stopped


CASES: Final = {
    "produce": Case(produce),
    "produce-3": Case(produce, replicas=3),
    "fetch": Case(fetch),
    "follower-fetch": Case(follower_fetch, replicas=2, is_follower=True),
    "heartbeat": Case(heartbeat),
    "metadata": Case(metadata, topics=TOPICS),
}


def count_case(name: str, folder: Path) -> list[dict[str, Any]]:
    """What each broker counted for a request, the leader first."""
    case = CASES[name]
    with CountedCluster(folder, case.replicas, SETTINGS) as cluster:
        cluster.place(name, list(cluster.brokers), **{"min.insync.replicas": "1"})
        for number in range(case.topics):
            cluster.place(f"{name}-{number}", list(cluster.brokers))
        if case.is_follower:
            cluster.brokers.pop(FOLLOWER).stop()
            cluster.await_gone(FOLLOWER, name)
        brokers = [it for it in cluster.brokers.values() if isinstance(it, CountedBroker)]
        leader = brokers[0]
        with socket.create_connection((leader.host, leader.port)) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            frames = case.frames(sock, name)
            drive(sock, frames)  # warm
            for broker in brokers:
                broker.begin()
            drive(sock, frames)
            found = [broker.end() for broker in brokers]
            with ExitStack() as traces:
                traced = shutil.which("strace") is not None
                systems = [traces.enter_context(SystemCalls(it.pid)) for it in brokers if traced]
                drive(sock, frames)
    for mine, system in zip(found, systems, strict=False):
        mine.update(system.counts)
    return found


def drive(sock: socket.socket, frames: Iterator[bytes]) -> None:
    """One after the other."""
    for frame in islice(frames, REQUESTS):
        sock.sendall(frame)
        raw_answer(sock)


class SystemCalls:
    """Those of a process and its threads, as strace counts them."""

    def __init__(self, pid: int) -> None:
        self.counts: dict[str, int] = {}
        self._pid = pid

    def __enter__(self) -> Self:
        command = ["strace", "-f", "-c", "-p", str(self._pid)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        while "attached" not in self._process.stderr.readline():
            pass
        return self

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(signal.SIGINT)
        said = self._process.communicate()[1]
        calls = {name: int(times) for times, name in CALLS.findall(said) if name != "total"}
        self.counts = {
            "system calls": sum(calls.values()),
            "turns of the loop": sum(calls.get(it, 0) for it in TURNS),
            "threads woken": calls.get(WOKEN, 0),
        }


def main() -> None:
    """Prints a table, in counts for one request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []])
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    print(f"Python {platform.python_version()}; for one request:")
    for name in chosen.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            rows = count_case(name, Path(folder) / "cluster")
        for place, row in zip(("leader", "follower", "follower"), rows, strict=False):
            functions = row.pop("functions")
            counts = {what: round(number / REQUESTS, 2) for what, number in row.items()}
            print(
                json.dumps({"case": name, "broker": place, **counts})
                if chosen.json
                else f"{name:>10} {place:>8}  "
                + "  ".join(f"{it} {n:g}" for it, n in counts.items())
            )
            if chosen.functions:
                for where, times in functions:
                    print(f"{times / REQUESTS:>12.2f}  {where}")


if __name__ == "__main__":
    main()
