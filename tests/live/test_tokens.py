"""OAUTHBEARER: clients that show tokens, of their own making or of an endpoint."""

import json
import shutil
import ssl
import threading
import time
import warnings
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.compat.broker_process import OdradekBroker, eventually
from tests.compat.hostile import Raw
from tests.compat.java_clients import Java
from tests.compat.odradek_shell import Shell
from tests.external.oracle import Oracle
from tests.external.ports import free_port
from tests.live.secured import TLS
from tests.samples.certificate_files import certificates
from tests.unit.security.tokens_of_tests import (
    AUDIENCE,
    ISSUER,
    RSA_KEY,
    STRANGER,
    claims,
    key_set,
    row,
    token,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaProducer
    from kafka.net.sasl.oauth import AbstractTokenProvider

HANDLER = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"
LOGIN_HANDLER = (
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
)
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SECRET = "secret-of-the-client"
TRUSTED = certificates("trusted.crt")


def now_token(seconds: float = 3_600, **other: Any) -> str:
    """Of alice, good from now on."""
    now = int(time.time())
    return token(claims(now * 1_000, exp=now + seconds, **other))


class TokenBroker(OdradekBroker):
    """Believes an issuer whose keys are in a file."""

    host = "localhost"

    def __init__(self, directory: Path) -> None:
        self.keys = directory.parent / "keys.json"
        self.keys.write_bytes(key_set())
        self.plain = free_port()
        super().__init__(
            directory,
            **{
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TOKENS:SASL_SSL",
                "inter.broker.listener.name": "PLAINTEXT",
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                "listener.name.tokens.sasl.oauthbearer.jwks.endpoint.url": f"file:{self.keys}",
                "listener.name.tokens.oauthbearer.sasl.server.callback.handler.class": HANDLER,
                "sasl.oauthbearer.expected.issuer": ISSUER,
                "sasl.oauthbearer.expected.audience": AUDIENCE,
                "connection.failed.authentication.delay.ms": "5",
                "audit.log": str(directory.parent / "audit.log"),
                "audit.log.allowed": "true",
                **TLS,
            },
        )
        own = f"TOKENS://localhost:{self.port},PLAINTEXT://localhost:{self.plain}"
        self._settings["listeners"] = own


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenBroker]:
    """One for all tests."""
    broker = TokenBroker(tmp_path_factory.mktemp("tokens") / "broker")
    broker.start()
    yield broker
    broker.stop()
    said = broker.log() + (broker.directory.parent / "audit.log").read_text()
    assert "Traceback" not in said
    assert "eyJ" not in said  # how every token begins
    assert SECRET not in said


def librdkafka(broker: TokenBroker, shown: str, seconds: float = 3_600) -> dict[str, Any]:
    """Its settings."""
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "ssl.ca.location": TRUSTED,
        "oauth_cb": lambda _: (shown, time.time() + seconds),
        "log_level": 0,
    }


def refusals(broker: TokenBroker, port: int) -> int:
    """How many of this client are in the audit log."""
    lines = (broker.directory.parent / "audit.log").read_text().splitlines()
    return sum(f':{port}"' in it and '"outcome": "refused"' in it for it in lines)


@pytest.mark.parametrize("has_name", [False, True])
@pytest.mark.parametrize("reads_why", [False, True])
def test_a_refused_token_is_told_once(
    broker: TokenBroker, *, has_name: bool, reads_why: bool
) -> None:
    """Also where its client does not wait for the reason; at a login, and when it proves again.

    It comes from an address of its own: of one that others were refused from, no more is told.
    """
    context = ssl.create_default_context(cafile=TRUSTED)
    with Raw(broker, "127.0.0.1", of="127.0.0.2") as client:
        port = client.socket.getsockname()[1]
        client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
        for shown in [now_token()] * has_name + [now_token(aud="else")]:
            client.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
            message = b"n,,\x01auth=Bearer %s\x01\x01" % shown.encode()
            answer = client.ask(SaslAuthenticateRequest(message), 1)
        assert answer.auth_bytes
        if reads_why:
            assert client.ask(SaslAuthenticateRequest(b"\x01"), 1).error_code
    eventually(lambda: refusals(broker, port), what="it is told")
    assert refusals(broker, port) == 1


def test_librdkafka(broker: TokenBroker) -> None:
    """There and back; the principal is the name in the token."""
    settings = librdkafka(broker, now_token())
    producer = Producer(settings)
    producer.produce("rd", b"hello")
    assert producer.flush(20) == 0
    consumer = Consumer({**settings, "group.id": "rd", "auto.offset.reset": "earliest"})
    consumer.subscribe(["rd"])
    message = next(filter(None, (consumer.poll(1) for _ in range(30))))
    assert message.value() == b"hello"
    consumer.close()
    audit = broker.directory.parent / "audit.log"
    eventually(lambda: '"principal": "User:alice"' in audit.read_text(), what="alice is named")


def test_librdkafka_shows_its_token_again(broker: TokenBroker) -> None:
    """A connection lives as long as the token, and longer if another is shown (KIP-368)."""
    shown: list[float] = []

    def fresh(_: str) -> tuple[str, float]:
        shown.append(time.time())
        return now_token(4), time.time() + 4

    producer = Producer({**librdkafka(broker, ""), "oauth_cb": fresh})
    last = time.monotonic() + 9
    while time.monotonic() < last:
        producer.produce("again", b"x")
        assert producer.flush(20) == 0
    assert len(shown) > 1


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (lambda: now_token(-60), "has ended"),
        (lambda: now_token(aud="else"), "another audience"),
        (lambda: token(claims(int(time.time() * 1_000)), key=STRANGER), "signature"),
    ],
)
def test_a_token_that_is_refused(broker: TokenBroker, shown: Any, says: str) -> None:
    """The client is told why, after a delay."""
    errors: list[str] = []
    settings = {**librdkafka(broker, shown()), "error_cb": lambda it: errors.append(it.str())}
    producer = Producer(settings)
    with pytest.raises(KafkaException):
        producer.list_topics(timeout=3)
    producer.poll(1)
    assert any(says in it for it in errors), errors


def test_java(broker: TokenBroker, kafka_in_java: Oracle, tmp_path: Path) -> None:
    """Kafka's own producer, with its own settings."""
    file = tmp_path / "token"
    file.write_text(now_token(iat=int(time.time()), scope="kafka"))
    how = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{MODULE} required;",
        "sasl.login.callback.handler.class": LOGIN_HANDLER,
        "sasl.oauthbearer.token.endpoint.url": file.as_uri(),
        "ssl.truststore.location": certificates("trusted.p12"),
        "ssl.truststore.password": "trust-secret",
    }
    assert Java(kafka_in_java, broker).produce("java", ["hello"], **how) == [0]


class Provider(AbstractTokenProvider):  # type: ignore[misc]
    """Of kafka-python."""

    def __init__(self, **_: Any) -> None:
        pass

    def token(self) -> str:
        """A fresh one."""
        return now_token()


def test_kafka_python(broker: TokenBroker) -> None:
    """It asks its provider for a token, and sends a record."""
    producer = KafkaProducer(
        bootstrap_servers=broker.bootstrap,
        security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token_provider=Provider(),
        ssl_cafile=certificates("trusted.crt"),
    )
    assert producer.send("py", b"hello").get(timeout=20).offset == 0
    producer.close()


@pytest.fixture
def shell(
    broker: TokenBroker,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    """The command."""
    shell = Shell(capfdbinary, monkeypatch)
    shell.bootstrap = broker.bootstrap
    return shell


def said(tmp_path: Path, **other: str) -> tuple[str, str]:
    """A file of Kafka's settings."""
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "ssl.truststore.location": certificates("trusted.crt"),
        **{name.replace("_", "."): it for name, it in other.items()},
    }
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in settings.items()))
    return "--command-config", str(file)


def test_the_command_with_a_token_in_a_file(
    broker: TokenBroker, shell: Shell, tmp_path: Path
) -> None:
    """And in the same words as any other refusal, if it is not believed."""
    file = tmp_path / "token"
    file.write_text(now_token() + "\n")
    by = said(tmp_path, sasl_oauthbearer_token_endpoint_url=f"file:{file}")
    shell("topic", "create", "by-command", "-p", "1", *by)
    assert "by-command" in shell("topic", "list", *by).out
    file.write_text(now_token(iss="https://stranger.example"))
    assert "another issuer" in shell.fails("topic", "list", *by)
    file.write_text("two words")
    assert "is no token" in shell.fails("topic", "list", *by)


class Endpoint(BaseHTTPRequestHandler):
    """Gives a token to who knows the secret."""

    def do_POST(self) -> None:
        """The only request."""
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        pair = b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        if pair != f"billing:{SECRET}" or "grant_type=client_credentials" not in form:
            self.send_error(401)
            return
        body = json.dumps({"access_token": now_token(), "expires_in": 3_600}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not here."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    """Its address."""
    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates("broker.pem"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"https://localhost:{server.server_port}/token"
        server.shutdown()
        thread.join()


def test_the_command_with_a_token_of_an_endpoint(
    shell: Shell, tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its id and its secret, which is never shown; the endpoint proves who it is."""
    module = f'{MODULE} required clientId="billing" clientSecret="{SECRET}" scope="kafka";'
    url = {"sasl_oauthbearer_token_endpoint_url": endpoint}
    by = said(tmp_path, sasl_jaas_config=module, **url)
    refused = shell.fails("topic", "list", *by)
    assert "CERTIFICATE_VERIFY_FAILED" in refused
    assert SECRET not in refused
    monkeypatch.setenv("SSL_CERT_FILE", certificates("trusted.crt"))
    shell("topic", "list", *by)
    by = said(tmp_path, sasl_jaas_config=module.replace(SECRET, "wrong"), **url)
    assert "it answers 401" in shell.fails("topic", "list", *by)


def test_a_key_is_exchanged(broker: TokenBroker, shell: Shell, tmp_path: Path) -> None:
    """The first token with it is refused, and has the keys read; then it is believed."""
    file = tmp_path / "token"
    now = int(time.time() * 1_000)
    file.write_text(token(claims(now), key=STRANGER, kid="three"))
    by = said(tmp_path, sasl_oauthbearer_token_endpoint_url=f"file:{file}")
    fresh = broker.keys.with_name("fresh.json")
    fresh.write_bytes(key_set(row(RSA_KEY, "one"), row(STRANGER, "three")))
    shutil.move(fresh, broker.keys)
    assert "a key that is not known" in shell.fails("topic", "list", *by)
    eventually(lambda: "tokens.keys_read" in broker.log(), what="the keys are read again")
    shell("topic", "list", *by)
