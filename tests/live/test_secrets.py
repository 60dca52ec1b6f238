"""A secret of its own in every setting that has one, and then a search for all of them.

Whatever a broker or the command says is looked through: events, answers, pages, files.
"""

import subprocess
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from odradek.client.blocking.client import BlockingClient
from odradek.config.findings import Given
from odradek.config.kinds import Secret
from odradek.config.sources import examine
from odradek.config.table import BROKER_SETTINGS
from odradek.peers.errors import NotAuthenticated
from tests.compat.broker_process import OdradekBroker
from tests.compat.odradek_shell import Shell
from tests.external.ports import free_port
from tests.live.secured import PLAIN_MODULE, SCRAM_MODULE
from tests.samples.certificate_files import certificates

MECHANISM: Final = "SCRAM-SHA-512"
DIGEST_MODULE: Final = "org.apache.zookeeper.server.auth.DigestLoginModule"
LISTENERS: Final = {"STORES": "SASL_SSL", "KEYED": "SSL", "INLINE": "SSL"}
FILE_PROVIDER: Final = "org.apache.kafka.common.config.provider.FileConfigProvider"
AT_RUN_TIME: Final = "listener.name.keyed.ssl.truststore.password"
WRITTEN: Final = {"server.properties", "jaas.conf", "provided.properties", "client.properties"}
"""Of us, with the secrets in it."""


class Planted(dict[str, str]):
    """A secret for each name that is asked for."""

    def __missing__(self, name: str) -> str:
        found = self[name] = f"planted-{name.replace('.', '-')}-7331"
        return found


def openssl(*arguments: str) -> str:
    """What it prints."""
    done = subprocess.run(["openssl", *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def key_store(folder: Path, name: str, password: str) -> str:
    """A store in PKCS12, with a password of its own."""
    store, pem = folder / f"{name}.p12", certificates("broker.pem")
    openssl("pkcs12", "-export", "-in", pem, "-passout", f"pass:{password}", "-out", str(store))
    return str(store)


def trust_store(folder: Path, name: str, password: str) -> str:
    """Of the authority's certificate."""
    store, pem = folder / f"{name}.p12", certificates("trusted.crt")
    said = ("-nokeys", "-in", pem)
    openssl("pkcs12", "-export", *said, "-passout", f"pass:{password}", "-out", str(store))
    return str(store)


def sealed_key(password: str) -> str:
    """The broker's key, encrypted."""
    said = ("-topk8", "-in", certificates("broker.pem"), "-passout", f"pass:{password}")
    return openssl("pkcs8", *said)


def in_one_line(pem: str) -> str:
    """As a properties file has a text of several lines."""
    return pem.strip().replace("\n", "\\n")


def settings(folder: Path, planted: Planted) -> dict[str, str]:
    """Of a broker that has everything."""
    jaas, provided = folder / "jaas.conf", folder / "provided.properties"
    name = planted["zookeeper.jaas"]
    jaas.write_text(
        f'Client {{ {DIGEST_MODULE} required username="kafka" password="{name}"; }};\n'
        f'Server {{ {DIGEST_MODULE} required user_kafka="{name}"; }};\n'
    )
    provided.write_text(f"store={planted['provided']}\n")
    certificate = Path(certificates("broker.pem")).read_text().partition("-----BEGIN PRIV")[0]
    keyed = folder / "keyed.pem"
    keyed.write_text(certificate + sealed_key(planted["ssl.key.password"]))
    inline = sealed_key(planted["inline.key.password"])
    planted["ssl.keystore.key"] = inline.splitlines()[2]
    brokers = f'username="broker" password="{planted["scram.broker"]}"'
    users = f'user_alice="{planted["plain.alice"]}"'
    return {
        "admin.listener": f"localhost:{free_port()}",
        "admin.listener.ssl.keystore.location": str(keyed),
        "admin.listener.ssl.key.password": planted["ssl.key.password"],
        "admin.listener.token": planted["admin.listener.token"],
        "audit.log": str(folder / "audit.log"),
        "config.providers": "file",
        "config.providers.file.class": FILE_PROVIDER,
        "java.security.auth.login.config": str(jaas),
        "listener.name.inline.ssl.keystore.certificate.chain": in_one_line(certificate),
        "listener.name.inline.ssl.keystore.key": in_one_line(inline),
        "listener.name.inline.ssl.key.password": planted["inline.key.password"],
        "listener.name.keyed.ssl.key.password": planted["ssl.key.password"],
        "listener.name.keyed.ssl.keystore.location": str(keyed),
        "listener.name.stores.ssl.keystore.location": key_store(
            folder, "stores", planted["ssl.keystore.password"]
        ),
        "listener.name.stores.ssl.keystore.password": planted["ssl.keystore.password"],
        "listener.name.stores.ssl.truststore.location": trust_store(
            folder, "provided", planted["provided"]
        ),
        "listener.name.stores.ssl.truststore.password": f"${{file:{provided}:store}}",
        "listener.name.stores.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {users};",
        f"listener.name.stores.{MECHANISM.lower()}.sasl.jaas.config": (
            f"{SCRAM_MODULE} required {brokers};"
        ),
        "connection.failed.authentication.delay.ms": "5",
        "password.encoder.old.secret": planted["password.encoder.old.secret"],
        "password.encoder.secret": planted["password.encoder.secret"],
        "sasl.enabled.mechanisms": f"PLAIN,{MECHANISM}",
        "zookeeper.embedded.ssl.keystore.location": key_store(
            folder, "embedded", planted["zookeeper.embedded.ssl.keystore.password"]
        ),
        "zookeeper.embedded.ssl.keystore.password": planted[
            "zookeeper.embedded.ssl.keystore.password"
        ],
        "zookeeper.set.acl": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.ssl.keystore.location": key_store(
            folder, "client", planted["zookeeper.ssl.keystore.password"]
        ),
        "zookeeper.ssl.keystore.password": planted["zookeeper.ssl.keystore.password"],
        "zookeeper.ssl.truststore.location": trust_store(
            folder, "ensemble", planted["zookeeper.ssl.truststore.password"]
        ),
        "zookeeper.ssl.truststore.password": planted["zookeeper.ssl.truststore.password"],
    }


class Planting(OdradekBroker):
    """The broker that has it all."""

    host = "localhost"

    def __init__(self, directory: Path, planted: Planted) -> None:
        directory.mkdir()
        super().__init__(directory, **settings(directory, planted))
        mapped = ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items())
        self.ports = {name: free_port() for name in LISTENERS}
        own = ",".join(f"{name}://localhost:{port}" for name, port in self.ports.items())
        self._settings |= {
            "listeners": f"PLAINTEXT://localhost:{self.port},{own}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{mapped}",
        }

    @property
    def file(self) -> Path:
        """Its settings."""
        return self.directory / "server.properties"

    @property
    def written(self) -> dict[str, str]:
        """As it has them."""
        return dict(self._settings)


@pytest.fixture
def planted() -> Planted:
    """By what they are the secrets of."""
    return Planted()


@pytest.fixture
def broker(tmp_path: Path, planted: Planted) -> Iterator[Planting]:
    """It runs."""
    broker = Planting(tmp_path / "broker", planted)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture
def shell(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command."""
    return Shell(capfdbinary, monkeypatch)


def test_no_output_has_a_secret(broker: Planting, shell: Shell, planted: Planted) -> None:
    """Events, answers, checks, health, pages, archives, exceptions and the files of the broker."""
    shell.bootstrap = broker.bootstrap
    outputs: dict[str, str] = {}

    def run(*arguments: str) -> None:
        ended = shell.run(*arguments)
        outputs[" ".join(arguments[:3])] = ended.out + ended.err

    run("user", "add", "bob", "--password", planted["scram.bob"])
    change_at_run_time(broker, shell, planted)
    client = client_file(broker, planted)
    bundle = broker.directory / "debug.tar"
    by = ("--command-config", str(client))
    run("check", str(broker.file))
    run("check", str(broker.file), "--json")
    run("security", "check", "--file", str(broker.file))
    run("cluster", "health", "--json", *by)
    run("broker", "show", "1", *by)
    run("doctor", "--json", *by)
    run("config", "describe", "broker", "1", "--all", *by)
    run("kafka-configs", "--describe", "--all", "--entity-type", "brokers", "--entity-name", "1")
    run("kafka-configs", "--describe", "--entity-type", "users", "--entity-name", "bob")
    run("user", "list")
    run("debug", "bundle", "--out", str(bundle), "--events", str(broker.directory / "log"), *by)
    outputs["bundle"] = unpacked(bundle)
    outputs["DescribeConfigs"] = described(broker)
    outputs["reprs"] = reprs(broker.written)
    outputs["a refused login"] = refused(broker, planted)
    broker.stop()
    outputs |= files_of(broker.directory)
    assert all(it in outputs for it in ("log", "audit.log"))
    assert all(outputs.values()), [name for name, text in outputs.items() if not text]
    for name, text in outputs.items():
        found = [of for of, secret in planted.items() if secret in text]
        assert not found, f"{name} has the secrets of {found}"


def change_at_run_time(broker: Planting, shell: Shell, planted: Planted) -> None:
    """A store with its password, which ZooKeeper has from then on."""
    store = trust_store(broker.directory, "new", planted[AT_RUN_TIME])
    added = f"{AT_RUN_TIME.replace('password', 'location')}={store}"
    password = f"{AT_RUN_TIME}={planted[AT_RUN_TIME]}"
    which = ("--entity-type", "brokers", "--entity-name", "1")
    shell("kafka-configs", "--alter", *which, "--add-config", f"{added},{password}")


def client_file(broker: Planting, planted: Planted) -> Path:
    """Settings of the command, for pages with a token."""
    file = broker.directory / "client.properties"
    trusted = certificates("trusted.crt")
    token = planted["admin.listener.token"]
    file.write_text(f"admin.listener.token={token}\nssl.truststore.location={trusted}\n")
    return file


def unpacked(bundle: Path) -> str:
    """All files of an archive."""
    told = subprocess.run(["tar", "-xOf", str(bundle)], check=True, capture_output=True)
    return told.stdout.decode(errors="replace")


def described(broker: Planting) -> str:
    """By another client, with synonyms: all settings, and that these are among them."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (asked,) = admin.describe_configs([ConfigResource(ResourceType.BROKER, "1")]).values()
    rows = asked.result(20)
    secret = {name for name, row in BROKER_SETTINGS.items() if row.sensitive}
    assert {AT_RUN_TIME, *(name for name in secret if "jaas" not in name)} <= rows.keys()
    assert not [name for name in secret & rows.keys() if rows[name].value]
    return "\n".join(f"{row} {row.value} {row.synonyms}" for row in rows.values())


def reprs(texts: Mapping[str, str]) -> str:
    """Of what a broker is made of; each secret is of the type that hides itself."""
    config, findings = examine({name: Given(text, "here") for name, text in texts.items()}, ())
    values: list[Any] = [config[row] for row in BROKER_SETTINGS.values()]
    values += [config.on_listeners(row) for row in BROKER_SETTINGS.values()]
    assert any(isinstance(it, Secret) for it in values)
    return repr([config, values, findings])


def refused(broker: Planting, planted: Planted) -> str:
    """What is said of a wrong password, by the client."""
    login = f'{PLAIN_MODULE} required username="alice" password="{planted["plain.wrong"]}";'
    security = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login,
        "ssl.truststore.location": certificates("trusted.crt"),
    }
    where = f"localhost:{broker.ports['STORES']}"
    with BlockingClient(where, security=security) as client:
        try:
            client.cluster()
        except NotAuthenticated as error:
            return "".join(traceback.format_exception(error)) + repr(client)
    raise AssertionError("the password is wrong")


def files_of(directory: Path) -> dict[str, str]:
    """All that the broker has written, its ZooKeeper's among them."""
    stores = {".p12", ".pem"}
    return {
        str(it.relative_to(directory)): it.read_bytes().decode(errors="replace") or "empty"
        for it in directory.rglob("*")
        if it.is_file() and it.name not in WRITTEN and it.suffix not in stores
    }
