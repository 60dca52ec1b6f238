"""Three brokers that show tokens to each other, which end while the brokers run."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.broker_process import eventually
from tests.external.ports import free_port
from tests.live.cluster import ClusterBroker, LiveCluster
from tests.live.secured import TLS
from tests.live.test_tokens import LOGIN_HANDLER, MODULE
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

LASTS = 10  # seconds of a token


class TokenBroker(ClusterBroker):
    """Its listener for brokers believes tokens, and it shows one of a file."""

    def __init__(self, directory: Path, number: int, **settings: str) -> None:
        super().__init__(directory, number, **settings)
        own = f"PLAINTEXT://{self.host}:{self.port},BROKERS://localhost:{free_port()}"
        self._settings |= {
            "listeners": own,
            "ssl.keystore.location": certificates("broker.pem"),
        }


class TokenCluster(LiveCluster):
    """Whose issuer is two files."""

    kind = TokenBroker


class Issuer:
    """Writes a token every few seconds, and its keys."""

    def __init__(self, directory: Path) -> None:
        self.keys, self.file = directory / "keys.json", directory / "token"
        self.key, self.number = RSA_KEY, "one"
        self._over = threading.Event()
        self.write(self.keys, key_set())
        self.give()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @staticmethod
    def write(path: Path, data: bytes) -> None:
        """Whole or not at all."""
        fresh = path.with_suffix(".fresh")
        fresh.write_bytes(data)
        fresh.replace(path)

    def give(self) -> None:
        """A token that is good for some seconds."""
        now = time.time()
        said = claims(int(now * 1_000), sub="broker", exp=now + LASTS)
        self.write(self.file, token(said, key=self.key, kid=self.number).encode())

    def _run(self) -> None:
        while not self._over.wait(1):
            self.give()

    def end(self) -> None:
        """No more."""
        self._over.set()
        self._thread.join()


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    """Of all brokers."""
    issuer = Issuer(tmp_path)
    yield issuer
    issuer.end()


@pytest.fixture
def cluster(tmp_path: Path, issuer: Issuer) -> Iterator[TokenCluster]:
    """Three of them."""
    listener = "listener.name.brokers.oauthbearer"
    settings = {
        **TLS,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BROKERS:SASL_SSL",
        "inter.broker.listener.name": "BROKERS",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": f"file:{issuer.keys}",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.token.endpoint.url": f"file:{issuer.file}",
        f"{listener}.sasl.jaas.config": f"{MODULE} required;",
        f"{listener}.sasl.login.callback.handler.class": LOGIN_HANDLER,
    }
    cluster = TokenCluster(tmp_path / "cluster", 0, settings)
    with cluster:
        cluster.add(1, 2, 3)
        yield cluster
        assert "eyJ" not in cluster.logs()  # how every token begins


def test_tokens_end_and_a_key_is_exchanged(cluster: TokenCluster, issuer: Issuer) -> None:
    """Connections outlive the tokens, and the key by which they were signed."""
    cluster.make("orders", partitions=3)
    cluster.await_isr("orders", 3)
    time.sleep(2 * LASTS)
    ended = "connection.closed"
    assert ended not in cluster.logs()
    issuer.write(issuer.keys, key_set(row(RSA_KEY, "one"), row(STRANGER, "three")))
    issuer.key, issuer.number = STRANGER, "three"
    eventually(lambda: "tokens.keys_read" in cluster.logs(), what="the new key is read")
    gone = cluster.partitions("orders")[0][0]
    cluster.brokers[gone].kill()
    cluster.brokers[gone].start()
    cluster.await_isr("orders", 3)
