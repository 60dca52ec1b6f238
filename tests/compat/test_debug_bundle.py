"""`odradek debug bundle`: what is in the archive, and what is not."""

import json
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.broker_process import OdradekBroker
from tests.compat.odradek_shell import Shell
from tests.external.ports import free_port
from tests.live.secured import PASSWORD, TLS, USERS
from tests.samples.certificate_files import certificates

RECORD = "a-record-that-nobody-else-may-see"
SCRAM_SECRET = "scram-secret"
TOKEN = "token-of-the-metrics"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OdradekBroker]:
    """A broker with secrets of each kind."""
    plain, keeper = free_port(), free_port()
    broker = OdradekBroker(
        tmp_path_factory.mktemp("secured") / "broker",
        listeners=f"PLAINTEXT://127.0.0.1:{plain},LOGIN://127.0.0.1:{free_port()}",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,LOGIN:SASL_SSL",
        sasl_enabled_mechanisms="PLAIN",
        listener_name_login_plain_sasl_jaas_config=USERS,
        zookeeper_embedded_port=str(keeper),
        **{
            "admin.listener": f"localhost:{free_port()}",
            "admin.listener.ssl.keystore.location": TLS["ssl.keystore.location"],
            "admin.listener.token": TOKEN,
        },
        **TLS,
    )
    broker.port = plain
    broker.keeper = f"127.0.0.1:{keeper}"  # type: ignore[attr-defined]
    broker.start()
    yield broker
    broker.kill()


def contents(path: Path) -> dict[str, bytes]:
    """The files of an archive."""
    with tarfile.open(path) as archive:
        found = {it.name: archive.extractfile(it) for it in archive.getmembers()}
        return {name.partition("/")[2]: it.read() for name, it in found.items() if it}


def test_all_of_it_and_nothing_secret(
    odradek: Shell, secured: OdradekBroker, tmp_path: Path
) -> None:
    """A person who is to help can read it, and so can anybody else."""
    odradek.bootstrap = secured.bootstrap
    odradek("topic", "create", "orders", "-p", "1")
    odradek("produce", "orders", said=RECORD.encode() + b"\n")
    odradek("user", "add", "bob", "--password", SCRAM_SECRET)
    out = tmp_path / "debug.tar.gz"
    keeper = ("--zookeeper", secured.keeper)  # type: ignore[attr-defined]
    events = ("--events", str(secured.directory / "log"))
    settings = tmp_path / "client.properties"
    trusted = certificates("trusted.crt")
    settings.write_text(f"admin.listener.token={TOKEN}\nssl.truststore.location={trusted}\n")
    by = ("--command-config", str(settings))
    odradek("debug", "bundle", "--out", str(out), *keeper, *events, *by)
    found = contents(out)
    assert found.keys() == {
        "CONTENTS.txt",
        "version.txt",
        "client.json",
        "doctor.json",
        "cluster.json",
        "controller.json",
        "health.json",
        "tree.json",
        "broker-1/host.json",
        "broker-1/logdirs.json",
        "broker-1/metrics.txt",
        "broker-1/settings.json",
        "events/1-log",
    }
    assert all(name in found["CONTENTS.txt"].decode() for name in found if name[0] != "C")
    assert b"missing" not in found["CONTENTS.txt"]
    everything = b"".join(found.values())
    secrets = (RECORD, SCRAM_SECRET, PASSWORD, TOKEN, "trust-secret", "stored_key", "BEGIN PRIVATE")
    for secret in secrets:
        assert secret.encode() not in everything, secret
    users = [it for it in json.loads(found["tree.json"]) if it["path"] == "/config/users/bob"]
    assert [(it["length"] > 0, "data" in it) for it in users] == [(True, False)]
    settings = json.loads(found["broker-1/settings.json"])
    assert settings["ssl.truststore.password"] == "[hidden]"
    assert settings["broker.id"] == "1"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("store", "says"),
    [
        ("trusted.crt", "admin.listener.token: the broker's metrics need the right one"),
        ("stranger.crt", "CERTIFICATE_VERIFY_FAILED"),
        ("absent.crt", "ssl.truststore.location"),
    ],
)
def test_metrics_that_cannot_be_had(
    odradek: Shell, secured: OdradekBroker, tmp_path: Path, *, store: str, says: str
) -> None:
    """Without the right token, or of a listener that is not believed, which hears no token."""
    odradek.bootstrap = secured.bootstrap
    out, wrong = tmp_path / "debug.tar.gz", "wrong-token"
    said = {
        "admin.listener.token": wrong,
        "ssl.truststore.location": certificates(store),
    }
    by = [it for name, text in said.items() for it in ("-X", f"{name}={text}")]
    ended = odradek("debug", "bundle", "--out", str(out), *by)
    (told,) = (it for it in ended.out.splitlines() if "metrics.txt" in it)
    assert says in told
    found = contents(out)
    assert "broker-1/metrics.txt" not in found
    assert wrong.encode() not in b"".join(found.values())


def test_a_cluster_that_does_not_answer(odradek: Shell, tmp_path: Path) -> None:
    """What is known from here is in it, and what is missing is said."""
    odradek.bootstrap = f"127.0.0.1:{free_port()}"
    out = tmp_path / "debug.tar.gz"
    ended = odradek("debug", "bundle", "--out", str(out))
    assert "missing: brokers: no broker answers at" in ended.out
    assert "connection refused" in contents(out)["doctor.json"].decode()


def test_no_file_is_overwritten(odradek: Shell, tmp_path: Path) -> None:
    """Whatever is there was not made by this call."""
    out = tmp_path / "debug.tar.gz"
    out.write_text("mine")
    assert "is there already" in odradek.fails("debug", "bundle", "--out", str(out))
    assert out.read_text() == "mine"
