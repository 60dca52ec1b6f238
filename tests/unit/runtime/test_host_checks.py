"""What a host lacks for a broker with certain settings."""

import os
import resource
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.config.broker import Layers, read
from odradek.config.findings import Given, Severity
from odradek.config.sources import examine
from odradek.runtime.host_checks import examine_host
from tests.samples.certificate_files import certificates
from tests.unit.security.tokens_of_tests import key_set, token


def found(directory: Path, **settings: str) -> list[tuple[Severity, str]]:
    """All findings about a broker that keeps its logs there."""
    said = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(directory / "logs"),
        "zookeeper.embedded.port": "0",
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    config, wrong = read(Layers(static={name: Given(it, "here") for name, it in said.items()}))
    assert not wrong
    every = [(it.severity, it.sentence) for it in examine_host(config)]
    return [it for it in every if "ulimit" not in it[1] and "temporary" not in it[1]]


def test_nothing_is_said_where_nothing_is_wrong(tmp_path: Path) -> None:
    """A loopback listener on a free port, and a directory that can be made."""
    assert not found(tmp_path)


def test_a_port_that_is_taken_or_cannot_be_had(tmp_path: Path) -> None:
    """The one may be the running broker itself; an address of another host can never be had."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ((severity, sentence), *_) = found(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port}")
    assert severity is Severity.WARNING
    assert "another process listens there now" in sentence
    ((severity, _), *_) = found(tmp_path, listeners="PLAINTEXT://192.0.2.1:9092")
    assert severity is Severity.ERROR


def test_clients_that_would_be_sent_to_themselves(tmp_path: Path) -> None:
    """The commonest mistake with Kafka in containers; and a listener without access control."""
    told = found(
        tmp_path,
        listeners="PLAINTEXT://0.0.0.0:0",
        advertised_listeners="PLAINTEXT://localhost:9092",
    )
    assert any("which is themselves" in it for _, it in told)
    assert any(one is Severity.NOTE and "no access control" in it for one, it in told)
    assert not any("themselves" in it for _, it in found(tmp_path, advertised_listeners="auto"))
    unknown = "PLAINTEXT://no-such-host.invalid:9092"
    assert any(
        "no address is found" in it for _, it in found(tmp_path, advertised_listeners=unknown)
    )


def test_a_listener_with_rules_is_open_to_nobody(tmp_path: Path) -> None:
    """With an authorizer its rules decide; without, whoever can reach a port may do everything."""
    rules = "kafka.security.authorizer.AclAuthorizer"
    told = found(tmp_path, listeners="PLAINTEXT://0.0.0.0:0", authorizer_class_name=rules)
    assert not any("no access control" in it for _, it in told)


def test_a_certificate_that_has_ended(tmp_path: Path) -> None:
    """A broker would start with it, and nobody who looks at it would connect."""
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,CERT://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CERT:SSL",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    told = found(tmp_path, **settings, **{"ssl.keystore.location": certificates("old.pem")})
    ended = "the certificate of listener CERT has ended 2021-01-01T00:00:00+00:00"
    assert told == [(Severity.WARNING, ended)]
    assert not found(tmp_path, **settings, **{"ssl.keystore.location": certificates("broker.pem")})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "jaas.conf: No such file or directory"),
        (
            "Client { };",
            "plain.PlainLoginModule in section KafkaServer of ",
        ),
        ("KafkaServer {", "section KafkaServer has no end"),
    ],
)
def test_a_jaas_file_without_what_is_needed(tmp_path: Path, content: str | None, says: str) -> None:
    """A start would end with the same sentence."""
    file = tmp_path / "jaas.conf"
    if content is not None:
        file.write_text(content)
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,LOGIN://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "java.security.auth.login.config": str(file),
    }
    told = [text for severity, text in found(tmp_path, **settings) if severity is Severity.ERROR]
    assert any(says in it for it in told), told


def test_an_ensemble_that_does_not_answer(tmp_path: Path) -> None:
    """A broker would wait for it; with a majority it starts."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        good = f"127.0.0.1:{server.getsockname()[1]}"
        assert not [it for it in found(tmp_path, zookeeper_connect=good) if "zookeeper" in it[1]]
        some = f"{good},{good},127.0.0.1:1/path"
        ((_, sentence), *_) = found(tmp_path, zookeeper_connect=some)
        assert sentence.endswith("; a majority answers")
    ((_, sentence), *_) = found(tmp_path, zookeeper_connect="127.0.0.1:1")
    assert "the broker waits until one does" in sentence


def test_a_log_dir_that_is_a_file(tmp_path: Path) -> None:
    """Nothing can be made below it."""
    (tmp_path / "file").touch()
    ((severity, sentence), *_) = found(tmp_path, log_dirs=f"{tmp_path}/file/logs")
    assert severity is Severity.ERROR
    assert sentence.endswith("file is no directory")


@contextmanager
def as_another_user() -> Iterator[None]:
    """Whom the system does not let do everything: root stays root only as the one in effect."""
    if os.geteuid() != 0:
        yield
        return
    os.setreuid(65_534, 0)
    try:
        yield
    finally:
        os.setreuid(0, 0)


@pytest.mark.parametrize(
    ("said", "number", "expected"),
    [
        ("version=0\nbroker.id=4\n", "4", None),
        ("version=0\n", "1", None),
        ("version=0\nbroker.id=4\n", "-1", None),
        ("version=0\nbroker.id=4\n", "1", "belongs to broker 4, not 1"),
        ("version=1\nnode.id=4\n", "4", "version 1 is not known"),
    ],
)
def test_a_log_dir_of_another_broker(
    tmp_path: Path, said: str, number: str, expected: str | None
) -> None:
    """The broker would not start, or not with this dir: a file with another's number, often."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "meta.properties").write_text(said)
    told = found(tmp_path, broker_id=number)
    assert [severity for severity, _ in told] == ([Severity.ERROR] if expected else [])
    assert expected is None or expected in told[0][1]


def test_a_log_dir_that_this_user_may_not_write_to(tmp_path: Path) -> None:
    """An error in its place among the others, for one that is there and one that is not."""
    with tempfile.TemporaryDirectory() as folder:  # others may not enter the test's own
        closed = Path(folder)
        closed.chmod(0o555)
        with as_another_user():
            told = found(tmp_path, log_dirs=f"{closed},{closed / 'logs'}")
    assert [severity for severity, _ in told] == [Severity.ERROR] * 2
    ((_, there), (_, missing)) = told
    assert there.startswith(f"log.dirs: {closed} is not writable for user ")
    assert missing.startswith(f"log.dirs: {closed / 'logs'} cannot be made in {closed} for user ")


def test_too_few_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hard limit counts: the broker raises the soft one by itself."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, 4_096))
    config, _ = read(Layers(static={"log.dirs": Given(str(tmp_path), "here")}))
    assert any("may open 4,096 files" in it.sentence for it in examine_host(config))


def test_a_log_dir_that_cannot_be_looked_at_is_a_finding(tmp_path: Path) -> None:
    """The other settings are looked at all the same."""
    unreachable = tmp_path / ("x" * 300)
    told = found(tmp_path, log_dirs=f"{unreachable},{tmp_path / 'logs'}")
    sentence = f"log.dirs: {unreachable} cannot be looked at: File name too long"
    assert told == [(Severity.WARNING, f"{sentence}; it is offline from the start")]
    assert found(tmp_path, log_dirs=str(unreachable)) == [(Severity.ERROR, sentence)]


def test_a_log_dir_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    """The dir that was meant is named, not only the file."""
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "logs"
    ((severity, sentence),) = found(tmp_path, log_dirs=str(below))
    assert severity is Severity.ERROR
    assert sentence == f"log.dirs: {below} cannot be made: {tmp_path / 'file'} is no directory"


def test_names_in_zookeeper_that_would_keep_a_broker_from_starting(tmp_path: Path) -> None:
    """Each says which setting, which file and what is wrong with it; what is right says nothing."""
    module = "org.apache.zookeeper.server.auth.DigestLoginModule required"
    jaas = tmp_path / "jaas.conf"

    def told(**settings: str) -> list[tuple[Severity, str]]:
        return found(tmp_path, java_security_auth_login_config=str(jaas), **settings)

    ((severity, sentence),) = told()
    assert severity is Severity.ERROR
    assert sentence == f"java.security.auth.login.config={jaas}: No such file or directory"
    jaas.write_text(f'Client {{ {module} username="kafka" password="secret"; }};')
    assert not told(zookeeper_set_acl="true")
    jaas.write_text(f'Client {{ {module} username="kafka"; }};')
    ((_, sentence),) = told()
    assert sentence.endswith("section Client must have a username and a password")
    jaas.write_text("Client { com.sun.security.auth.module.Krb5LoginModule required; };")
    ((_, sentence),) = told()
    assert "Kerberos and other classes of Java are not run here" in sentence
    jaas.write_text("KafkaServer { some.Module required; };")
    ((_, sentence),) = told(zookeeper_set_acl="true")
    assert "znodes have no owner" in sentence
    ((_, sentence),) = told(
        zookeeper_ssl_client_enable="true", zookeeper_ssl_truststore_location="/nowhere.pem"
    )
    assert sentence == "zookeeper.ssl.truststore.location=/nowhere.pem: No such file or directory"


def test_brokers_that_show_tokens_need_one(tmp_path: Path) -> None:
    """It is asked for as at a start; what the issuer has given is not shown."""
    keys, shown = tmp_path / "keys.json", tmp_path / "token"
    keys.write_bytes(key_set())
    settings = {
        "listeners": "BROKERS://127.0.0.1:0",
        "listener.security.protocol.map": "BROKERS:SASL_PLAINTEXT",
        "inter.broker.listener.name": "BROKERS",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": f"file:{keys}",
        "sasl.oauthbearer.unchecked": "issuer,audience",
        "sasl.oauthbearer.token.endpoint.url": f"file:{shown}",
        "log.dirs": str(tmp_path),
    }

    def said() -> list[str]:
        given = {name: Given(text, "here") for name, text in settings.items()}
        config, findings = examine(given)
        assert not [it for it in findings if it.severity is Severity.ERROR]
        name = "sasl.oauthbearer.token.endpoint.url"
        return [str(it) for it in examine_host(config) if it.names == (name,)]

    (sentence,) = said()
    assert "No such file" in sentence
    shown.write_text(token())
    assert said() == []


def test_a_password_that_zookeeper_may_have(tmp_path: Path) -> None:
    """Where passwords can be set at run time a store that cannot be opened is a warning."""
    settings = {
        "listeners": "CERT://127.0.0.1:0",
        "listener_security_protocol_map": "CERT:SSL",
        "ssl_keystore_location": certificates("broker.p12"),
    }
    ((severity, sentence), *_) = found(tmp_path, **settings)
    assert severity is Severity.ERROR
    encoder = {"password_encoder_secret": "encoder-7331"}
    ((severity, told), *_) = found(tmp_path, **settings, **encoder)
    assert severity is Severity.WARNING
    assert told.startswith(f"{sentence}; a broker can start if ZooKeeper has")
    wrong = {**encoder, "password_encoder_key_length": "136"}
    ((severity, told), *_) = found(tmp_path, **settings, **wrong)
    assert (severity, told) == (Severity.ERROR, "password.encoder: AES has no keys of 136 bits")
