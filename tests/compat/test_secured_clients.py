"""Clients of other people's prove their names in each way there is, each client in one process.

PLAIN, both kinds of SCRAM and tokens, with TLS and without, and a certificate: each sends a record
and reads it again.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.external.tools import COPIERS
from tests.live.programs import JVM, SECONDS_MAX
from tests.live.secured import MECHANISMS, PASSWORD, Secured, java_settings
from tests.samples.certificate_files import certificates
from tests.unit.security.tokens_of_tests import AUDIENCE, ISSUER, claims, key_set, token

OAUTHBEARER: Final = "OAUTHBEARER"
OF_KAFKA: Final = "org.apache.kafka.common.security.oauthbearer"
WAYS: Final = [
    *((protocol, it) for protocol in ("SASL_PLAINTEXT", "SASL_SSL") for it in MECHANISMS),
    ("SASL_PLAINTEXT", OAUTHBEARER),
    ("SASL_SSL", OAUTHBEARER),
    ("SSL", ""),
]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker that takes all of them."""
    folder = tmp_path_factory.mktemp("secured")
    keys = folder / "keys.json"
    keys.write_bytes(key_set())
    tokens = {
        "sasl.enabled.mechanisms": ",".join((*MECHANISMS, OAUTHBEARER)),
        "sasl.oauthbearer.jwks.endpoint.url": f"file:{keys}",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
    }
    broker = Secured(folder / "broker", **tokens)
    broker.start()
    broker.add_alice()
    yield broker
    broker.stop()
    assert "Traceback" not in broker.log()


def alices_token() -> str:
    """Good from now on."""
    now = int(time.time())
    return token(claims(now * 1_000, iat=now, scope="kafka"))


def names(client: str) -> list[str]:
    """Of the cases, and of their topics."""
    return [f"{client}-{protocol}-{mechanism or 'certificate'}" for protocol, mechanism in WAYS]


def cases(client: str, secured: Secured, folder: Path) -> str:
    """A file of them, for programs that read JSON."""
    found = [
        {
            "name": name,
            "bootstrap": secured.at(protocol),
            "mechanism": mechanism,
            "user": "alice",
            "password": PASSWORD,
            "token": alices_token(),
            "authority": certificates("trusted.crt") if protocol.endswith("SSL") else "",
            "certificate": certificates("client.pem") if protocol == "SSL" else "",
        }
        for name, (protocol, mechanism) in zip(names(client), WAYS, strict=True)
    ]
    file = folder / "cases.json"
    file.write_text(json.dumps(found))
    return str(file)


def all_are_proven(client: str, command: Sequence[str]) -> None:
    """What the program says of each case."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    said = [line for line in done.stdout.splitlines() if line.startswith(f"{client}-")]
    assert sorted(said) == sorted(f"{name} ok" for name in names(client)), done


def test_franz_go(secured: Secured, franz: str, tmp_path: Path) -> None:
    """With its own SASL and Go's TLS."""
    all_are_proven("franz", [franz, "secured", cases("franz", secured, tmp_path)])


def test_kafkajs(secured: Secured, kafkajs: str, tmp_path: Path) -> None:
    """With its own SASL and OpenSSL."""
    program = Path(kafkajs).with_name("secured.js")
    all_are_proven("js", ["node", str(program), cases("js", secured, tmp_path)])


def test_java(secured: Secured, kafka_classpath: str, javac: str, tmp_path: Path) -> None:
    """Kafka's own producer and consumer, nine pairs in one JVM."""
    assert javac, "asked for, so that it is installed"
    shown, folder = tmp_path / "token", tmp_path / "cases"
    shown.write_text(alices_token())
    folder.mkdir()
    for name, (protocol, mechanism) in zip(names("java"), WAYS, strict=True):
        settings = java_settings(protocol, mechanism)
        settings |= {"bootstrap.servers": secured.at(protocol)}
        settings |= {f"ssl.{it}store.type": "PEM" for it in ("key", "trust")}
        if mechanism == OAUTHBEARER:
            handler = f"{OF_KAFKA}.secured.OAuthBearerLoginCallbackHandler"
            settings |= {
                "sasl.jaas.config": f"{OF_KAFKA}.OAuthBearerLoginModule required;",
                "sasl.login.callback.handler.class": handler,
                "sasl.oauthbearer.token.endpoint.url": shown.as_uri(),
            }
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        (folder / name).write_text(text)
    program = str(COPIERS / "Secured.java")
    all_are_proven("java", ["java", *JVM, "-cp", kafka_classpath, program, str(folder)])
