"""Other people's clients log in to a live broker, by each mechanism, with TLS and without.

One broker has a listener for each protocol; alice has a password of each kind, and a certificate.
"""

import asyncio
import socket
import ssl
import struct
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import closing, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.helpers import create_ssl_context
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from odradek.client.blocking.client import BlockingClient
from odradek.client.blocking.connection import BlockingConnection
from odradek.client.blocking.security import BlockingSecurity
from odradek.client.blocking.wire import now
from odradek.model.units import Millis
from odradek.peers.errors import NotAuthenticated, TlsFailed
from odradek.wire.headers import read_response, request_frame
from odradek.wire.messages.metadata import MetadataRequest
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.compat.broker_process import OdradekBroker, eventually
from tests.compat.odradek_shell import Shell
from tests.live.secured import (
    LISTENERS,
    MECHANISMS,
    PASSWORD,
    Secured,
    java_settings,
    login,
)
from tests.samples.certificate_files import certificates

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaProducer

CASES = [
    *(("SASL_PLAINTEXT", mechanism) for mechanism in MECHANISMS),
    *(("SASL_SSL", mechanism) for mechanism in MECHANISMS),
    ("SSL", ""),
]
USER = f"user_alice={PASSWORD}"
SESSION_MS = 2_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """One for all tests; alice has her passwords."""
    broker = Secured(tmp_path_factory.mktemp("secured") / "broker")
    broker.start()
    broker.add_alice()
    yield broker
    broker.stop()
    said = broker.log()
    assert "Traceback" not in said, said[-4_000:]
    assert PASSWORD not in said
    assert "request.failed" not in said


@pytest.fixture
def shell(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command."""
    return Shell(capfdbinary, monkeypatch)


def librdkafka(broker: Secured, protocol: str, mechanism: str) -> dict[str, Any]:
    """Its settings."""
    settings: dict[str, Any] = {
        "bootstrap.servers": broker.at(protocol),
        "security.protocol": protocol,
        "log_level": 0,
    }
    if mechanism:
        settings |= {"sasl.mechanism": mechanism, "sasl.username": "alice"}
        settings |= {"sasl.password": PASSWORD}
    if protocol.endswith("SSL"):
        settings["ssl.ca.location"] = certificates("trusted.crt")
    if protocol == "SSL":
        pem = certificates("client.pem")
        settings |= {"ssl.certificate.location": pem, "ssl.key.location": pem}
    return settings


@pytest.mark.parametrize(("protocol", "mechanism"), CASES)
def test_librdkafka(broker: Secured, protocol: str, mechanism: str) -> None:
    """A record larger than a record of TLS, there and back."""
    settings, topic = librdkafka(broker, protocol, mechanism), f"rd-{protocol}-{mechanism}"
    producer = Producer(settings)
    payload = bytes(range(256)) * 400
    producer.produce(topic, payload)
    assert producer.flush(20) == 0
    consumer = Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = next(filter(None, (consumer.poll(1) for _ in range(30))))
    assert message.error() is None
    assert message.value() == payload
    consumer.close()


def python_settings(broker: Secured, protocol: str, mechanism: str) -> dict[str, Any]:
    """Of both clients in Python."""
    settings: dict[str, Any] = {
        "bootstrap_servers": broker.at(protocol),
        "security_protocol": protocol,
    }
    if mechanism:
        settings |= {"sasl_mechanism": mechanism, "sasl_plain_username": "alice"}
        settings |= {"sasl_plain_password": PASSWORD}
    if protocol.endswith("SSL"):
        pem = certificates("client.pem") if protocol == "SSL" else None
        settings["ssl_context"] = create_ssl_context(
            cafile=certificates("trusted.crt"), certfile=pem, keyfile=pem
        )
    return settings


@pytest.mark.parametrize(("protocol", "mechanism"), CASES)
def test_aiokafka(broker: Secured, protocol: str, mechanism: str) -> None:
    """There and back, with the client of asyncio."""
    topic = f"aio-{protocol}-{mechanism}"

    async def talk() -> None:
        settings = python_settings(broker, protocol, mechanism)
        async with AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait(topic, b"hello")
        consumer = AIOKafkaConsumer(topic, auto_offset_reset="earliest", **settings)
        async with consumer:
            assert (await consumer.getone()).value == b"hello"

    asyncio.run(talk())


@pytest.mark.parametrize(("protocol", "mechanism"), CASES)
def test_kafka_python(broker: Secured, protocol: str, mechanism: str) -> None:
    """It reads its own settings, and sends a record."""
    producer = KafkaProducer(**python_settings(broker, protocol, mechanism))
    sent = producer.send(f"py-{protocol}-{mechanism}", b"hello").get(timeout=20)
    assert sent.offset == 0
    producer.close()


@pytest.mark.parametrize(("protocol", "mechanism"), CASES)
def test_our_blocking_client(broker: Secured, protocol: str, mechanism: str) -> None:
    """On a plain socket and on one with TLS."""
    security = java_settings(protocol, mechanism)
    with BlockingClient(broker.at(protocol), security=security) as client:
        assert len(client.cluster().brokers) == 1


@pytest.mark.parametrize("case", CASES)
def test_the_command(broker: Secured, case: tuple[str, str], shell: Shell, tmp_path: Path) -> None:
    """With a file of Kafka's settings."""
    protocol, mechanism = case
    file = tmp_path / "client.properties"
    settings = java_settings(protocol, mechanism)
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    shell.bootstrap = broker.at(protocol)
    assert "alice" in shell("user", "list", "--command-config", str(file)).out


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password(broker: Secured, mechanism: str) -> None:
    """Our client says so at once, and does not try again."""
    security = java_settings("SASL_PLAINTEXT", mechanism)
    security["sasl.jaas.config"] = login(mechanism, password="wrong")
    client = BlockingClient(broker.at("SASL_PLAINTEXT"), security=security)
    with client, pytest.raises(NotAuthenticated, match=r"nvalid"):
        client.cluster()


@pytest.mark.parametrize(
    ("store", "says"), [("stranger.crt", "self-signed|issuer"), (None, "self-signed|issuer")]
)
def test_a_broker_that_is_not_believed(broker: Secured, store: str | None, says: str) -> None:
    """Its certificate is of another authority, or of none that the system knows."""
    security = java_settings("SASL_SSL", "PLAIN")
    del security["ssl.truststore.location"]
    if store is not None:
        security["ssl.truststore.location"] = certificates(store)
    client = BlockingClient(broker.at("SASL_SSL"), security=security, patience_ms=Millis(1))
    with client, pytest.raises(TlsFailed, match=says):
        client.cluster()


def test_a_broker_under_another_name(broker: Secured) -> None:
    """The name is checked, unless that is switched off."""
    context = ssl.create_default_context(cafile=certificates("trusted.crt"))
    with (
        socket.create_connection(("localhost", broker.ports["SASL_SSL"])) as plain,
        pytest.raises(ssl.SSLCertVerificationError, match="elsewhere"),
    ):
        context.wrap_socket(plain, server_hostname="elsewhere")


@pytest.mark.parametrize("pem", [None, "impostor.pem", "old.pem"])
def test_a_client_whose_certificate_is_not_believed(broker: Secured, pem: str | None) -> None:
    """It has none, one of another authority with alice's name, or one that has ended."""
    context = ssl.create_default_context(cafile=certificates("trusted.crt"))
    if pem is not None:
        context.load_cert_chain(certificates(pem))
    with socket.create_connection(("localhost", broker.ports["SSL"])) as plain:
        secured = context.wrap_socket(plain, server_hostname="localhost")
        with secured, pytest.raises((ssl.SSLError, ConnectionResetError)):
            secured.recv(1)


def test_older_versions_of_tls(broker: Secured) -> None:
    """TLS 1.1 has no handshake here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certificates("trusted.crt"))
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection(("localhost", broker.ports["SASL_SSL"])) as plain,
        pytest.raises(ssl.SSLError),
    ):
        context.wrap_socket(plain, server_hostname="localhost")


def test_a_store_that_cannot_be_used_is_refused(broker: Secured, shell: Shell) -> None:
    """`kafka-configs` is told why, and clients are served by the certificate of before."""
    shell.bootstrap = broker.bootstrap
    setting = f"listener.name.both.ssl.keystore.location={certificates('trusted.crt')}"
    which = ("--entity-type", "brokers", "--entity-name", "1")
    refused = shell.run("kafka-configs", "--alter", *which, "--add-config", setting)
    assert refused.code != 0
    assert "listener BOTH" in refused.err
    assert "a certificate, and its key" in refused.err
    security = java_settings("SASL_SSL", "PLAIN")
    with BlockingClient(broker.at("SASL_SSL"), security=security) as client:
        assert len(client.cluster().brokers) == 1


def test_a_handshake_is_not_repeated(broker: Secured) -> None:
    """Renegotiation, which TLS 1.2 had, costs a server more than a client: it is refused."""
    where = f"localhost:{broker.ports['SASL_SSL']}"
    openssl = ["openssl", "s_client", "-connect", where, "-tls1_2"]
    with subprocess.Popen(
        [*openssl, "-CAfile", certificates("trusted.crt")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as client:
        assert client.stdin is not None
        assert client.stderr is not None
        client.stdin.write(b"R\n")
        client.stdin.flush()
        said = client.stderr.read()
    assert b"RENEGOTIATING" in said
    assert b"no renegotiation" in said


def test_records_that_are_read_from_files(broker: Secured) -> None:
    """After a restart nothing is in memory: ranges of files are read, and encrypted in order."""
    settings = librdkafka(broker, "SASL_SSL", "PLAIN")
    producer = Producer(settings)
    values = [bytes([number]) * 60_000 for number in range(200)]
    for value in values:
        producer.produce("files", value)
    assert producer.flush(30) == 0
    broker.stop()
    broker.start()
    consumer = Consumer({**settings, "group.id": "files", "auto.offset.reset": "earliest"})
    consumer.subscribe(["files"])
    found: list[bytes] = []
    while len(found) < len(values):
        (message,) = consumer.consume(1, 20)
        assert message.error() is None
        found.append(message.value())
    consumer.close()
    assert found == values


def frame(request: Any, version: int) -> bytes:
    """A request as it goes over the wire."""
    return b"".join(bytes(it) for it in request_frame(request, version, 1, "stranger"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sent",
    [
        frame(MetadataRequest(), 1),
        struct.pack(">i", 600_000),
        struct.pack(">i", -1),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
    ],
    ids=["metadata", "large", "negative", "http", "tls"],
)
def test_a_stranger_is_not_answered(broker: Secured, sent: bytes) -> None:
    """Whatever is asked before the name is known, the connection is closed."""
    with socket.create_connection(("localhost", broker.ports["SASL_PLAINTEXT"])) as stranger:
        stranger.sendall(sent)
        with suppress(ConnectionResetError):
            assert not stranger.recv(1)


def test_a_mechanism_that_is_not_offered(broker: Secured) -> None:
    """The client is told which are, and the connection is closed."""
    with socket.create_connection(("localhost", broker.ports["SASL_PLAINTEXT"])) as stranger:
        stranger.sendall(frame(SaslHandshakeRequest("GSSAPI"), 1))
        (size,) = struct.unpack(">i", stranger.recv(4, socket.MSG_WAITALL))
        answer = read_response(SaslHandshakeResponse, 1, stranger.recv(size, socket.MSG_WAITALL))[1]
        assert list(answer.mechanisms) == list(MECHANISMS)
        assert not stranger.recv(1)


def test_a_user_is_told_apart_from_nobody_by_the_api_alone(broker: Secured) -> None:
    """Credentials are described without a salt and without a key."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    found = admin.describe_user_scram_credentials(["alice"])["alice"].result(20)
    assert [it.iterations for it in found.scram_credential_infos] == [4_096, 4_096]
    with pytest.raises(KafkaException, match="does not exist"):
        admin.describe_user_scram_credentials(["nobody"])["nobody"].result(20)


def test_when_certificates_end(broker: Secured, shell: Shell) -> None:
    """Those of all listeners that have one; and without an authorizer everybody may everything."""
    shell.bootstrap = broker.bootstrap
    found = shell("security", "check", "--json").json
    with_tls = {name for protocol, name in LISTENERS.items() if protocol.endswith("SSL")}
    assert {it["listener"] for it in found} == {*with_tls, "admin.listener"}
    file = shell("security", "check", "--file", str(broker.directory / "server.properties"))
    assert {it[2] for it in file.rows} == {str(it["ends"]) for it in found}
    assert "admin.listener" in {it[1] for it in file.rows}
    rights = shell("security", "check", "--principal", "User:x", "--topic", "orders", "--json").json
    assert {(it["allowed"], it["because"]) for it in rights} == {
        (True, "the broker has no authorizer")
    }


def test_metrics_over_tls_with_a_token(broker: Secured) -> None:
    """Who speaks plain HTTP is answered nothing; who has no token learns that the broker lives."""
    trusted = ssl.create_default_context(cafile=certificates("trusted.crt"))

    def get(path: str, **head: str) -> int:
        connection = HTTPSConnection("localhost", broker.admin_port, timeout=20, context=trusted)
        with closing(connection):
            connection.request("GET", path, headers=head)
            return connection.getresponse().status

    assert get("/health/live") == HTTPStatus.OK
    assert get("/metrics") == HTTPStatus.UNAUTHORIZED
    assert get("/metrics", Authorization=f"Bearer {PASSWORD}") == HTTPStatus.OK
    with closing(HTTPConnection("localhost", broker.admin_port, timeout=20)) as plain:
        plain.request("GET", "/health/live")
        with pytest.raises((HTTPException, ConnectionError)):
            plain.getresponse()


def test_a_name_is_proven_again_on_the_same_connection(tmp_path: Path) -> None:
    """Before its time is over, also behind requests that were not answered yet (KIP-368)."""
    named = OdradekBroker(
        tmp_path / "broker",
        **{
            "listener.security.protocol.map": "NAMED:SASL_PLAINTEXT",
            "inter.broker.listener.name": "NAMED",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.named.plain.sasl.jaas.config": f"{login('PLAIN')[:-1]} {USER};",
            "connections.max.reauth.ms": str(SESSION_MS),
        },
    )
    named._settings["listeners"] = f"NAMED://localhost:{named.port}"
    named.start()
    security = BlockingSecurity(java_settings("SASL_PLAINTEXT", "PLAIN"))
    try:
        connection = BlockingConnection(("localhost", named.port), "blocking", security)
        third = now() + 3 * SESSION_MS
        with closing(connection):

            def is_in_its_fourth_session() -> bool:
                asked = [connection.send(MetadataRequest(topics=[])) for _ in range(3)]
                assert [len(it.wait().brokers) for it in asked] == [1, 1, 1]
                return now() > third

            eventually(is_in_its_fourth_session, what="its connection outlives three sessions")
    finally:
        named.stop()
