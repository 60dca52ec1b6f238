"""What security costs: our broker beside Apache Kafka 3.9 with the same certificates, in turns.

As `broker`, with listeners for TLS and SASL:
`python benchmarks/security.py [--pairs N] [CASE ...]`.
With security off nothing is compared: requests are counted (`counts.py`), and
`tests/live/test_counts.py` has the ceilings.

Bars: produce and consume 1 KB over TLS 1.3: 1.3 and 1.2 times the messages, CPU at most 0.7. 200
new connections a second, each with TLS (P-256) and SCRAM: CPU at most 0.6, p99 of others at most 2
times. A decision among 10,000 rules: at most 1 us remembered, 10 us not; a Produce of ten topics
at most 3 % slower with them. 10,000 strangers who announce 512 KiB and send a byte, and 1,000
handshakes that stall: at most 100 MB more, p99 of others at most 2 times; Kafka is not asked, whose
heap holds all that is announced. A client that has ten times its quota to send: within 10 % of it,
p99 of others at most 1.2 times.

Connections and strangers take processors for themselves: those who make them run on this machine.
So each storm comes a second time while the others ask a bystander, a broker that nobody attacks:
what it costs them there is the machine's share.
"""

import argparse
import compileall
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, sleep, thread_time
from types import MappingProxyType
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from benchmarks.broker import Server, consume, make, produce, quantiles, raw_answer, raw_frame, used
from benchmarks.in_turns import Figures, in_turns, told
from odradek.access.decisions import Caller, Decisions
from odradek.client.blocking.connection import BlockingConnection
from odradek.client.blocking.security import BlockingSecurity
from odradek.model import access
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.security.mechanisms.scram import Scram
from odradek.wire.headers import read_response
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.compat.broker_process import OdradekBroker
from tests.compat.zookeeper_ours import OurZookeeper
from tests.external import tools
from tests.external.kafka import RealKafka
from tests.external.ports import free_port
from tests.live.secured import PASSWORD, SCRAM_MODULE, login
from tests.samples.certificate_files import certificates

MESSAGES: Final = 200_000  # of 1 KB
MECHANISM: Final = "SCRAM-SHA-256"
LISTENERS: Final = {"SSL": "CERTIFIED", "SASL_PLAINTEXT": "NAMED", "SASL_SSL": "BOTH"}
QUIET_SECONDS: Final = 3
CONNECTIONS_A_SECOND: Final = 200
CONNECTION_SECONDS: Final = 6
CONNECTION_THREADS: Final = 8
OTHERS_PAUSE: Final = 0.005
STRANGERS: Final = 10_000
STRANGERS_FROM: Final = 20  # addresses
STALLED: Final = 1_000
ANNOUNCED: Final = (512 * 1_024).to_bytes(4, "big") + b"\0"
HELLO: Final = b"\x16\x03\x01\x02\x00\x01"  # the first bytes of one: a handshake that stalls
RULES: Final = 10_000
RULES_OF_A_TOPIC: Final = 10
TOPICS: Final = 10
REQUESTS: Final = 2_000
QUOTA: Final = 1_000_000
OVER: Final = 10
QUOTA_WARM_SECONDS: Final = 12  # what an idle client may use at once is used up
QUOTA_SECONDS: Final = 30
KAFKA_OPTIONS: Final = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
PEM_TYPES: Final = {"ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM"}


NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
P99: Final = "others' p99 ms"
Storm = Callable[[Server, Server, str], Figures]
"""On a server, while others ask it or a bystander about a topic: what it cost, and their `P99`."""


class Listening(NamedTuple):
    """The ports of a broker's listeners by protocol, and the settings that make them."""

    ports: dict[str, int]
    settings: dict[str, str]


def listening(plain: int) -> Listening:
    """Those of both."""
    ports = {protocol: free_port() for protocol in LISTENERS}
    own = [f"{LISTENERS[it]}://localhost:{port}" for it, port in ports.items()]
    mapped = [f"{name}:{protocol}" for protocol, name in LISTENERS.items()]
    settings = {
        "listeners": ",".join((f"PLAINTEXT://localhost:{plain}", *own)),
        "listener.security.protocol.map": ",".join(("PLAINTEXT:PLAINTEXT", *mapped)),
        "sasl.enabled.mechanisms": MECHANISM,
        "ssl.keystore.location": certificates("broker.pem"),
        "ssl.truststore.location": certificates("trusted.crt"),
        "num.partitions": "6",
    }
    return Listening(ports, settings)


class Ours(OdradekBroker):
    """Our broker with all of them."""

    host = "localhost"

    def __init__(self, directory: Path, more: Mapping[str, str] = NOTHING) -> None:
        super().__init__(directory)
        self.ports, settings = listening(self.port)
        self._settings |= {**settings, **more}


SCRAM_LOGIN: Final = {
    f"listener.name.{LISTENERS[it].lower()}.{MECHANISM.lower()}.sasl.jaas.config": (
        f"{SCRAM_MODULE} required;"
    )
    for it in ("SASL_PLAINTEXT", "SASL_SSL")
}
"""Kafka wants a login module, though nothing is in it."""


class Kafkas(RealKafka):
    """Kafka with all of them, on our ZooKeeper server."""

    host = "localhost"
    options = KAFKA_OPTIONS

    def __init__(self, directory: Path) -> None:
        port = free_port()
        self.ports, settings = listening(port)
        (directory / "zookeeper").mkdir(parents=True)
        self._keeper = OurZookeeper(directory / "zookeeper")
        self._keeper.start()
        where = "{}:{}".format(*self._keeper.address)
        how = settings | PEM_TYPES | SCRAM_LOGIN
        super().__init__(tools.kafka_classpath(), directory / "kafka", where, 1, settings=how)
        self.port = port


def at(server: Server, protocol: str) -> dict[str, Any]:
    """What librdkafka needs for a listener."""
    port = server.broker.ports[protocol]  # type: ignore[attr-defined]  # one of the two above
    return {
        "bootstrap.servers": f"localhost:{port}",
        "security.protocol": protocol,
        "ssl.ca.location": certificates("trusted.crt"),
    }


# Others, and who disturbs them


def produce_frame(topics: list[str]) -> bytes:
    """A request with a record of 100 B for the first partition of each."""
    batch = build_batch([Record(0, 1_700_000_000_000, None, bytes(100))])
    data = [TopicProduceData(it, partition_data=[PartitionProduceData(0, batch)]) for it in topics]
    return raw_frame(ProduceRequest(None, 1, 30_000, data), 7)


@contextmanager
def plain_socket(server: Server) -> Iterator[socket.socket]:
    """On the listener without security."""
    port = int(server.broker.bootstrap.rpartition(":")[2])
    with socket.create_connection(("localhost", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield sock


def others(server: Server, topic: str, seconds: float) -> float:
    """p99 in milliseconds of 200 small requests a second, one after the other."""
    took: list[float] = []
    frame, end = produce_frame([topic]), perf_counter() + seconds
    with plain_socket(server) as sock:
        while (began := perf_counter()) < end:
            sock.sendall(frame)
            raw_answer(sock)
            took.append(perf_counter() - began)
            sleep(max(0.0, OTHERS_PAUSE - took[-1]))
    return quantiles(took, "ms")["p99 ms"]


def case_apart(storm: Storm, bystander: Server, server: Server, topic: str) -> Figures:
    """What a storm costs, and others: first those of the attacked one, then the bystander's."""
    here, there = (server, topic), (bystander, f"{topic}-{server.name}")
    for each, name in (here, there):
        make(each, name, 1)
    quiet = others(*here, QUIET_SECONDS), others(*there, QUIET_SECONDS)
    figures = storm(server, *here)
    apart = storm(server, *there)
    p99 = figures.pop(P99), apart[P99]
    return {**figures, **compared(quiet[0], p99[0]), "bystander's p99 times": p99[1] / quiet[1]}


def compared(quiet: float, meanwhile: float) -> Figures:
    """What it was for others before, and while somebody disturbed them."""
    return {
        "others' p99 ms quiet": quiet,
        P99: meanwhile,
        "others' p99 times": meanwhile / quiet,
    }


@contextmanager
def beside(work: Callable[..., None], *about: Any) -> Iterator[Connection]:
    """In a process of its own, until it is told to end; it has begun when this returns."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=work, args=(there, *about))
    process.start()
    here.recv()
    try:
        yield here
    finally:
        process.join(30)
        process.kill()


def connect(told_by: Connection, port: int) -> None:
    """So many connections a second, each with TLS and SCRAM; says how many there were."""
    security = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": login(MECHANISM),
        "ssl.truststore.location": certificates("trusted.crt"),
    }
    Scram.salted = cache(Scram.salted)  # type: ignore[method-assign]  # RFC 5802 lets clients keep it
    numbers, end = count(), threading.Event()
    made: list[int] = []
    began = perf_counter()

    def connect_in_turn() -> None:
        mine = BlockingSecurity(security)
        for number in numbers:
            if end.wait(max(0.0, began + number / CONNECTIONS_A_SECOND - perf_counter())):
                return
            BlockingConnection(("localhost", port), "new", mine).close()
            made.append(number)

    threads = [threading.Thread(target=connect_in_turn) for _ in range(CONNECTION_THREADS)]
    for thread in threads:
        thread.start()
    told_by.send("begun")
    told_by.recv()
    end.set()
    told_by.send(len(made))


def stand_about(told_by: Connection, plain: int, with_tls: int) -> None:
    """Strangers who announce and do not send, and handshakes that stall."""
    socks = []
    told_by.send("begun")
    for number in range(STRANGERS + STALLED):
        port, said = (plain, ANNOUNCED) if number < STRANGERS else (with_tls, HELLO)
        own = (f"127.0.1.{1 + number % STRANGERS_FROM}", 0)
        sock = socket.create_connection(("127.0.0.1", port), 30, own)
        with suppress(ConnectionError):  # the oldest are sent away
            sock.sendall(said)
        socks.append(sock)
    told_by.send("all")
    told_by.recv()


# The cases


def case_produce(server: Server, topic: str) -> Figures:
    """By librdkafka over TLS 1.3."""
    make(server, topic)
    how = at(server, "SSL")
    return used(server, lambda: produce(server, topic, 1_000, MESSAGES, **how), "message")


def case_consume(server: Server, topic: str) -> Figures:
    """From the page cache, over TLS 1.3; it was produced without."""
    make(server, topic)
    produce(server, topic, 1_000, MESSAGES)
    how = at(server, "SSL")
    return used(server, lambda: consume(server, topic, MESSAGES, **how), "message")


def storm_of_connections(server: Server, asked: Server, topic: str) -> Figures:
    """New ones, and what the requests of somebody else take meanwhile, here or elsewhere."""
    add_alice(server)
    with beside(connect, server.broker.ports["SASL_SSL"]) as pipe:  # type: ignore[attr-defined]
        began, cpu = perf_counter(), sum(server.cpu())
        meanwhile = others(asked, topic, CONNECTION_SECONDS)
        pipe.send("end")
        made = pipe.recv()
        took, spent = perf_counter() - began, sum(server.cpu()) - cpu
    return {
        "connections/s": made / took,
        "CPU ms/connection": spent / made * 1_000,
        P99: meanwhile,
    }


def add_alice(server: Server) -> None:
    """Her password."""
    admin = AdminClient({"bootstrap.servers": server.broker.bootstrap})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4_096)
    wanted = UserScramCredentialUpsertion("alice", info, PASSWORD.encode())
    admin.alter_user_scram_credentials([wanted])["alice"].result(20)


def storm_of_strangers(server: Server, asked: Server, topic: str) -> Figures:
    """What memory and time they take, and the requests of somebody else, here or elsewhere."""
    before, cpu = server.rss(), sum(server.cpu())
    ports = server.broker.ports  # type: ignore[attr-defined]
    with beside(stand_about, ports["SASL_PLAINTEXT"], ports["SSL"]) as pipe:
        meanwhile = others(asked, topic, QUIET_SECONDS)
        assert pipe.recv() == "all"
        more, spent = server.rss() - before, sum(server.cpu()) - cpu
        meanwhile = max(meanwhile, others(asked, topic, QUIET_SECONDS))
        more = max(more, server.rss() - before)
        pipe.send("end")
    return {
        "RSS MB more": more,
        "CPU us/stranger": spent / (STRANGERS + STALLED) * 1e6,
        P99: meanwhile,
    }


def case_quota(server: Server, topic: str) -> Figures:
    """What is acknowledged to a client that has ten times as much to send as it may."""
    make(server, topic, 1)
    make(server, f"{topic}-flood", 1)
    quota = ("set", "--client", "flood", f"producer_byte_rate={QUOTA}")
    command = [sys.executable, "-m", "odradek", "quota", *quota, "-b", server.broker.bootstrap]
    path = {**os.environ, "PYTHONPATH": str(tools.ROOT / "src")}
    subprocess.run(command, check=True, capture_output=True, env=path)
    quiet = others(server, topic, QUIET_SECONDS)
    with beside(flood, server.broker.bootstrap, f"{topic}-flood") as pipe:
        sleep(QUOTA_WARM_SECONDS)
        pipe.send("how much")
        before, began = pipe.recv(), perf_counter()
        meanwhile = others(server, topic, QUOTA_SECONDS)
        pipe.send("how much")
        share = (pipe.recv() - before) / (perf_counter() - began) / QUOTA
        pipe.send("end")
    return {"share of the quota": share, **compared(quiet, meanwhile)}


def flood(told_by: Connection, bootstrap: str, topic: str) -> None:
    """As much as ten quotas, or as much of it as the queue takes; how many bytes were taken."""
    how = {"bootstrap.servers": bootstrap, "client.id": "flood", "acks": 1, "linger.ms": 5}
    producer = Producer({**how, "queue.buffering.max.kbytes": 2_048})
    taken = 0

    def on_delivery(error: object, message: Any) -> None:
        nonlocal taken
        taken += 0 if error else len(message.value())

    value, began, question = os.urandom(1_000), perf_counter(), ""
    told_by.send("begun")
    for number in count():
        while perf_counter() < began + number * len(value) / (OVER * QUOTA):
            producer.poll(0.001)
        with suppress(BufferError):
            producer.produce(topic, value, on_delivery=on_delivery)
        if told_by.poll():
            question = told_by.recv()
            if question == "end":
                os._exit(0)  # what waits in the queue is of no interest
            told_by.send(taken)


def case_decisions(_: Server, __: str) -> Figures:
    """In this process: the first question about a topic, and the same one again."""
    decisions = Decisions()
    for number in range(RULES // RULES_OF_A_TOPIC):
        kind, name = access.ResourceType.TOPIC, f"topic-{number}"
        rules = [
            access.Rule(f"User:{it}", access.ANY_HOST, access.Operation.WRITE, access.Effect.ALLOW)
            for it in range(RULES_OF_A_TOPIC)
        ]
        decisions.replace(access.Pattern(kind, access.PatternType.LITERAL, name), rules)
    caller, kind = Caller("User:7", "127.0.0.1"), access.ResourceType.TOPIC
    names = [f"topic-{number}" for number in range(RULES // RULES_OF_A_TOPIC)]
    took = []
    for _ in range(2):
        began = thread_time()  # not what others take of the core
        allowed = [decisions.answers(caller, access.Operation.WRITE, kind)[it] for it in names]
        took.append((thread_time() - began) / len(names) * 1e6)
        assert all(allowed)
    return {"first us": took[0], "again us": took[1]}


def case_rules(server: Server, topic: str) -> Figures:
    """A Produce of ten topics, one request after the other."""
    admin = AdminClient({"bootstrap.servers": server.broker.bootstrap})
    topics = [f"{topic}-{number}" for number in range(TOPICS)]
    for future in admin.create_topics([NewTopic(it, 1, 1) for it in topics]).values():
        future.result(30)
    frame = produce_frame(topics)
    with plain_socket(server) as sock:
        sock.sendall(frame)
        answer = read_response(ProduceResponse, 7, raw_answer(sock))[1]
        assert not any(row.partition_responses[0].error_code for row in answer.responses), answer

        def drive() -> float:
            for _ in range(REQUESTS):
                sock.sendall(frame)
                raw_answer(sock)
            return REQUESTS

        return used(server, drive, "request")


def add_rules(server: Server) -> None:
    """So many, of users who do not ask, and one by which everybody may do what the case does."""
    admin = AdminClient({"bootstrap.servers": server.broker.bootstrap})
    literal, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
    allow, write = AclPermissionType.ALLOW, AclOperation.WRITE
    rules = [
        AclBinding(ResourceType.TOPIC, f"t{number}", literal, f"User:{it}", "*", write, allow)
        for number in range(RULES // RULES_OF_A_TOPIC)
        for it in range(RULES_OF_A_TOPIC)
    ]
    everybody = ("User:*", "*", AclOperation.ALL, allow)
    rules.append(AclBinding(ResourceType.TOPIC, "rules-", prefixed, *everybody))
    for future in admin.create_acls(rules, request_timeout=120).values():
        future.result(120)


Case = Callable[[Server, str], Figures]
COMPARED: Final[dict[str, Case]] = {
    "produce": case_produce,
    "consume": case_consume,
    "quota": case_quota,
}
STORMS: Final[dict[str, Storm]] = {
    "connections": storm_of_connections,
    "strangers": storm_of_strangers,
}
RULED: Final = "rules"
CASES: Final = (*COMPARED, *STORMS, "decisions", RULED)
OF_KAFKA: Final = {*COMPARED, "connections"}


def main() -> None:
    """In turns; our bytecode is there, as where it was installed."""
    compileall.compile_dir(str(tools.ROOT / "src"), quiet=1)
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="without Kafka beside us")
    chosen = parser.parse_args()
    cases = chosen.cases or list(CASES)
    with tempfile.TemporaryDirectory() as directory, ExitStack() as running:

        def start(name: str, broker: Any) -> Server:
            broker.start()
            running.callback(broker.stop)
            return Server(name, broker)

        root = Path(directory)
        ours = start("odradek", Ours(root / "odradek"))
        theirs = None
        if not chosen.alone and not OF_KAFKA.isdisjoint(cases):
            theirs = start("kafka", Kafkas(root / "kafka"))
        known = {**COMPARED, "decisions": case_decisions}
        if not STORMS.keys().isdisjoint(cases):
            bystander = start("bystander", Ours(root / "bystander"))
            known |= {it: partial(case_apart, storm, bystander) for it, storm in STORMS.items()}
        for name in cases:
            if name in known:
                turn = partial(_turn, known[name], ours, name)
                other = (
                    partial(_turn, known[name], theirs, name)
                    if name in OF_KAFKA and theirs
                    else None
                )
                show(name, (turn, other, "kafka"), chosen.pairs)
            else:
                settings = {
                    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
                    "allow.everyone.if.no.acl.found": "true",  # of the cluster there is none
                }
                ruled = start("ruled", Ours(root / "ruled", settings))
                add_rules(ruled)
                turns = (partial(_turn, case_rules, it, name) for it in (ruled, ours))
                show(name, (*turns, "without"), chosen.pairs)


def _turn(case: Case, server: Server, name: str, number: int) -> Figures:
    return case(server, f"{name}-{number}")


def show(name: str, sides: tuple[Any, Any, str], pairs: int) -> None:
    """One case: the figures of both, and the ratios of ours to the other's."""
    ours, theirs, who = sides
    print("\n" + told(name, in_turns(ours, theirs, pairs), ("ours", who)), flush=True)


if __name__ == "__main__":
    main()
