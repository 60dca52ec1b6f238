"""A broker with a name in its own ZooKeeper, which knows nobody else: TLS, a login, owners."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from odradek.cli.reaching.tree import in_tree
from odradek.ensemble.client import ZooKeeperClient
from odradek.ensemble.protection import protected
from odradek.security.zookeeper_access import ZooKeeperAccess, zookeeper_access
from odradek.zookeeper.protocol.jute import ANYONE, Acl, Identity
from tests.compat.broker_process import OdradekBroker
from tests.compat.odradek_shell import Shell
from tests.samples.certificate_files import certificates

MODULE: Final = "org.apache.zookeeper.server.auth.DigestLoginModule"
JAAS: Final = f"""
Server {{ {MODULE} required user_kafka="zk-secret"; }};
Client {{ {MODULE} required username="kafka" password="zk-secret"; }};
"""
TLS: Final = {
    "zookeeper.ssl.client.enable": "true",
    "zookeeper.ssl.truststore.location": certificates("trusted.crt"),
}
KAFKA: Final = Identity("sasl", "kafka")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OdradekBroker]:
    """Whose ZooKeeper asks for names."""
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(JAAS)
    broker = OdradekBroker(
        tmp_path / "broker",
        **{
            "java.security.auth.login.config": str(jaas),
            "zookeeper.set.acl": "true",
            "zookeeper.embedded.ssl.keystore.location": certificates("broker.pem"),
            **TLS,
        },
    )
    broker.start()
    yield broker
    broker.stop()
    assert "Traceback" not in broker.log()
    assert "zk-secret" not in broker.log()


@pytest.fixture
def shell(
    broker: OdradekBroker,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    """The operator's."""
    shell = Shell(capsysbinary, monkeypatch)
    shell.bootstrap = broker.bootstrap
    return shell


def access(broker: OdradekBroker) -> ZooKeeperAccess:
    """As the broker's own."""
    jaas = str(broker.directory.parent / "jaas.conf")
    texts = {"java.security.auth.login.config": jaas, **TLS}
    return zookeeper_access(texts, lambda path: Path(path).read_bytes())


async def owners(client: ZooKeeperClient) -> dict[str, set[Acl]]:
    """Of all there is."""
    found: dict[str, set[Acl]] = {}
    paths = [f"/{name}" for name in (await client.children("/")).names if name != "zookeeper"]
    while paths:
        path = paths.pop()
        found[path] = set((await client.acl(path)).acl)
        paths += [f"{path}/{name}" for name in (await client.children(path)).names]
    return found


def test_every_znode_belongs_to_the_brokers(broker: OdradekBroker, shell: Shell) -> None:
    """Those of a start, of topics, users, settings, rules and quotas, by whoever writes them."""
    shell("topic", "create", "orders", "-p", "3")
    shell("produce", "orders", said=b"a\n")
    shell("user", "add", "alice", "--password", "secret")
    shell("quota", "set", "--user", "alice", "producer_byte_rate=1M")
    shell("config", "alter", "topic", "orders", "-s", "retention.ms=1000000")
    (port,) = set(re.findall(r"zookeeper\.listens.*?127\.0\.0\.1', (\d+)", broker.log()))
    found = asyncio.run(in_tree(f"localhost:{port}", owners, access(broker)))
    expected = {
        path: {
            Acl(entry.permissions, ANYONE if entry.identity == ANYONE else KAFKA)
            for entry in protected(path)
        }
        for path in found
    }
    assert found == expected
    assert {"/controller", "/config/users/alice", "/brokers/topics/orders"} <= found.keys()
