"""TLS, names and owners: our client at ZooKeeper itself, ZooKeeper's own client at our server."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from kazoo.client import KazooClient

from odradek.ensemble.access import Way, way_to
from odradek.ensemble.client import ZooKeeperClient
from odradek.model.errors import InvalidSetting
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from odradek.security.zookeeper_access import zookeeper_access
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import AuthFailed, NoAuth, SaslRequired
from odradek.zookeeper.client.session import Session, SessionSettings
from odradek.zookeeper.protocol.jute import ANYONE, Acl, Identity
from tests.external import tools
from tests.external.zookeeper import RealZookeeper, Secured, die_with_parent
from tests.samples.certificate_files import certificates

pytestmark = pytest.mark.xdist_group("java")

MODULE: Final = "org.apache.zookeeper.server.auth.DigestLoginModule"
KAFKA: Final = Identity("sasl", "kafka")
TLS: Final = {
    "zookeeper.ssl.client.enable": "true",
    "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
    "zookeeper.ssl.truststore.location": certificates("trusted.jks"),
    "zookeeper.ssl.truststore.password": "trust-secret",
}
CERTIFICATE: Final = {"zookeeper.ssl.keystore.location": certificates("client.pem")}
ALICE: Final = Identity("x509", "CN=alice,OU=Tests,O=Odradek\\, Ltd")
SECONDS_MAX: Final = 20
PASSWORD: Final = "secret, long"


@pytest.fixture(scope="module")
def secured(
    kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealZookeeper]:
    """ZooKeeper with a port for TLS, and a user."""
    how = Secured(
        certificates("broker.pem"),
        certificates("trusted.jks"),
        "trust-secret",
        {"kafka": PASSWORD},
    )
    server = RealZookeeper(kafka_classpath, tmp_path_factory.mktemp("zookeeper"), secured=how)
    server.start()
    yield server
    server.stop()


def jaas(directory: Path, password: str = PASSWORD, section: str = "Client") -> dict[str, str]:
    """The setting that names such a file."""
    file = directory / "jaas.conf"
    file.write_text(f'{section} {{ {MODULE} required username="kafka" password="{password}"; }};')
    return {"java.security.auth.login.config": str(file)}


def way_of(settings: dict[str, str]) -> Way:
    """As a broker with these settings goes."""

    def read(path: str) -> bytes:
        return Path(path).read_bytes()

    access = zookeeper_access(settings, read)
    return way_to(access, (SystemNetwork(), SystemRandom(), read), SessionSettings())


def within(
    connect: str, settings: dict[str, str], work: Callable[[ZooKeeperClient], Awaitable[None]]
) -> None:
    """Does it in a session with these settings."""
    way = way_of(settings)

    async def talk() -> None:
        session = Session(Ensemble.parse(connect), SystemRandom(), way.settings)
        client = ZooKeeperClient(session, way.network, SystemClock(), lambda _: None)
        running = asyncio.create_task(client.run())
        client.begin()
        try:
            async with asyncio.timeout(SECONDS_MAX):
                await client.connected()
                await work(client)
        finally:
            await client.close()
            await running

    asyncio.run(talk())


def test_a_name_by_a_login(secured: RealZookeeper, tmp_path: Path) -> None:
    """What is made belongs to it; others may read, or not even that."""

    async def ours(client: ZooKeeperClient) -> None:
        assert KAFKA in await client.who_am_i()
        for path in ("/config", "/config/users"):
            await client.create(path, b"")
        found = await client.acl("/config")
        assert set(found.acl) == {Acl(31, KAFKA), Acl(1, ANYONE)}
        assert (await client.acl("/config/users")).acl == (Acl(31, KAFKA),)
        await client.set("/config", b"changed", 0)

    async def anybody(client: ZooKeeperClient) -> None:
        assert (await client.get("/config")).data == b"changed"
        with pytest.raises(NoAuth):
            await client.set("/config", b"spoiled", 1)
        with pytest.raises(NoAuth):
            await client.get("/config/users")

    within(secured.connect_string, jaas(tmp_path) | {"zookeeper.set.acl": "true"}, ours)
    within(secured.connect_string, {}, anybody)


def test_a_name_by_a_certificate(secured: RealZookeeper) -> None:
    """Over TLS; nodes belong to the name as ZooKeeper writes it."""

    async def ours(client: ZooKeeperClient) -> None:
        assert ALICE in await client.who_am_i()
        await client.create("/brokers", b"")
        assert set((await client.acl("/brokers")).acl) == {Acl(31, ALICE), Acl(1, ANYONE)}

    settings = TLS | CERTIFICATE | {"zookeeper.set.acl": "true"}
    within(f"localhost:{secured.secure_port}", settings, ours)


def test_a_login_over_tls(secured: RealZookeeper, tmp_path: Path) -> None:
    """Both names at once where there is a certificate, too; ZooKeeper 3.8 speaks TLS 1.2."""

    async def ours(client: ZooKeeperClient) -> None:
        assert {KAFKA, ALICE} <= set(await client.who_am_i())

    settings = TLS | CERTIFICATE | jaas(tmp_path)
    within(f"127.0.0.1:{secured.secure_port}", settings, ours)


def test_a_wrong_password(secured: RealZookeeper, tmp_path: Path) -> None:
    """It is said, and not tried again."""
    with pytest.raises(AuthFailed):
        within(secured.connect_string, jaas(tmp_path, "wrong"), lambda client: client.sync("/"))


def test_a_server_without_users(real_zookeeper: RealZookeeper, tmp_path: Path) -> None:
    """A client that was to have a name does not go on without."""
    with pytest.raises(AuthFailed):
        within(real_zookeeper.connect_string, jaas(tmp_path), lambda client: client.sync("/"))


def test_a_file_without_the_section_is_no_login(secured: RealZookeeper, tmp_path: Path) -> None:
    """As in Kafka, whose other sections stand in the same file; but then no owner can be had."""

    async def anybody(client: ZooKeeperClient) -> None:
        assert KAFKA not in await client.who_am_i()

    settings = jaas(tmp_path, section="KafkaServer")
    within(secured.connect_string, settings, anybody)
    with pytest.raises(InvalidSetting, match="have no owner"):
        within(secured.connect_string, settings | {"zookeeper.set.acl": "true"}, anybody)


def refusal(connect: str, settings: dict[str, str]) -> str:
    """Why no connection was had."""
    way = way_of(settings)

    async def trial() -> str:
        session = Session(Ensemble.parse(connect), SystemRandom(), way.settings)
        client = ZooKeeperClient(session, way.network, SystemClock(), lambda _: None)
        running = asyncio.create_task(client.run())
        client.begin()
        async with asyncio.timeout(SECONDS_MAX):
            while "TLS" not in client.why_not:  # noqa: ASYNC110 - it is told to nobody
                await asyncio.sleep(0)
        await client.close()
        await running
        return client.why_not

    return asyncio.run(trial())


def test_a_server_that_is_not_believed(secured: RealZookeeper) -> None:
    """The client goes on trying, says why, and tells the server nothing."""
    wrong = {"zookeeper.ssl.truststore.location": certificates("stranger.crt")}
    said = refusal(f"localhost:{secured.secure_port}", TLS | wrong)
    assert "the certificate is not believed" in said


PATHS: Final = (
    *("/admin", "/admin/delete_topics", "/brokers", "/brokers/ids", "/brokers/topics"),
    *("/brokers/topics/orders", "/config", "/config/users", "/config/users/alice", "/consumers"),
    *("/controller_epoch", "/kafka-acl", "/kafka-acl-extended", "/kafka-acl-extended/prefixed"),
    "/unknown",
)


def tree_with(server: RealZookeeper, root: str) -> str:
    """Open znodes below a root of its own; as clients have it."""

    async def made(client: ZooKeeperClient) -> None:
        for path in ("", *PATHS):
            await client.create(root + path, b"")

    within(server.connect_string, {}, made)
    return server.connect_string + root


def owners(connect: str, settings: dict[str, str]) -> dict[str, set[Acl]]:
    """Of each znode; the root, too."""
    found: dict[str, set[Acl]] = {}

    async def look(client: ZooKeeperClient) -> None:
        for path in ("/", *PATHS):
            found[path] = set((await client.acl(path)).acl)

    within(connect, settings, look)
    return found


def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Our command, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "odradek", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_owners_are_given_as_kafka_gives_them(
    secured: RealZookeeper, kafka_classpath: str, tmp_path: Path
) -> None:
    """To all that was open, by the verb, by the script and by Kafka's own; and taken again."""
    ours, theirs = tree_with(secured, "/ours"), tree_with(secured, "/theirs")
    name = jaas(tmp_path)
    option = f"-Djava.security.auth.login.config={name['java.security.auth.login.config']}"
    done = call("zookeeper", "secure", "--connect", ours, KAFKA_OPTS=f"-Xmx64m {option}")
    assert (done.returncode, done.stdout) == (0, f"{len(PATHS) - 1} znodes secured\n"), done.stderr
    said = ["--zookeeper.acl=secure", f"--zookeeper.connect={theirs}"]
    main = "kafka.admin.ZkSecurityMigrator"
    subprocess.run([tools.java(), option, "-cp", kafka_classpath, main, *said], check=True)
    assert owners(ours, name) == owners(theirs, name)
    assert owners(ours, name)["/config/users/alice"] == {Acl(31, KAFKA)}
    assert owners(ours, name)["/consumers"] == {Acl(31, ANYONE)}
    said[0] = "--zookeeper.acl=unsecure"
    assert call("zookeeper-security-migration", *said, KAFKA_OPTS=option).returncode == 0
    assert set(map(frozenset, owners(theirs, {}).values())) == {frozenset({Acl(31, ANYONE)})}


def test_nobody_gives_owners_without_a_name(secured: RealZookeeper) -> None:
    """Nothing is changed, and it is said where a name comes from."""
    done = call("zookeeper", "secure", "--connect", secured.connect_string)
    assert done.returncode == 1
    assert "without a name" in done.stderr
    assert "KAFKA_OPTS" in done.stderr


class OurServer:
    """`odradek zookeeper serve`, with these options."""

    def __init__(self, directory: Path, *options: str) -> None:
        jaas = directory / "server.conf"
        jaas.write_text(f'Server {{ {MODULE} required user_kafka="{PASSWORD}"; }};')
        words = ["--data", str(directory / "data"), "--port", "0", "--jaas", str(jaas), *options]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "odradek", "zookeeper", "serve", *words],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline().rpartition(":")[2])

    def stop(self) -> None:
        """And waits."""
        self._process.terminate()
        self._process.communicate(timeout=20)


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[OurServer]:
    """Without TLS."""
    server = OurServer(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[OurServer]:
    """With TLS, and certificates of clients."""
    stores = ["--key-store", certificates("broker.pem"), "--trust-store"]
    server = OurServer(tmp_path, *stores, certificates("trusted.crt"), "--client-certificates")
    yield server
    server.stop()


def test_javas_client_has_a_name_at_our_server(
    plain: OurServer, kafka_classpath: str, tmp_path: Path
) -> None:
    """Kafka's own program logs in, and gives owners to what is there."""
    connect, name = f"localhost:{plain.port}", jaas(tmp_path)
    option = f"-Djava.security.auth.login.config={name['java.security.auth.login.config']}"
    said = ["--zookeeper.acl=secure", f"--zookeeper.connect={connect}"]
    main = "kafka.admin.ZkSecurityMigrator"
    subprocess.run([tools.java(), option, "-cp", kafka_classpath, main, *said], check=True)

    async def look(client: ZooKeeperClient) -> None:
        assert set((await client.acl("/config")).acl) == {Acl(31, KAFKA), Acl(1, ANYONE)}

    within(connect, name, look)


def test_strangers_and_wrong_passwords_at_our_server(plain: OurServer, tmp_path: Path) -> None:
    """Nothing is answered to them."""

    async def anybody(client: ZooKeeperClient) -> None:
        with pytest.raises(SaslRequired):
            await client.get("/")

    within(f"localhost:{plain.port}", {}, anybody)
    with pytest.raises(AuthFailed):
        within(f"localhost:{plain.port}", jaas(tmp_path, "wrong"), anybody)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_certificate_at_our_server(encrypted: OurServer, version: str) -> None:
    """Its name owns what it makes; no login is needed."""

    async def ours(client: ZooKeeperClient) -> None:
        assert ALICE in await client.who_am_i()
        await client.create("/config", b"x" * 100_000)
        assert set((await client.acl("/config")).acl) == {Acl(31, ALICE), Acl(1, ANYONE)}
        assert (await client.get("/config")).data == b"x" * 100_000

    settings = TLS | CERTIFICATE | {"zookeeper.set.acl": "true"}
    settings |= {"zookeeper.ssl.enabled.protocols": version}
    within(f"localhost:{encrypted.port}", settings, ours)


def test_kazoo_has_a_certificate_at_our_server(encrypted: OurServer) -> None:
    """A client that we have not written."""
    client = KazooClient(
        f"localhost:{encrypted.port}",
        use_ssl=True,
        ca=certificates("trusted.crt"),
        certfile=certificates("client.pem"),
        keyfile=certificates("client.pem"),
    )
    client.start()
    try:
        client.create("/made", b"by kazoo")
        assert client.get("/made")[0] == b"by kazoo"
    finally:
        client.stop()
        client.close()


@pytest.mark.parametrize("store", ["impostor.pem", None])
def test_who_has_no_certificate_that_is_believed(encrypted: OurServer, store: str | None) -> None:
    """No handshake; with TLS 1.3 a client would hear of it only behind its own end."""
    settings = TLS | {"zookeeper.ssl.enabled.protocols": "TLSv1.2"}
    if store is not None:
        settings |= {"zookeeper.ssl.keystore.location": certificates(store)}
    assert "TLS: " in refusal(f"localhost:{encrypted.port}", settings)


def test_our_server_is_open_to_others_by_word_alone(tmp_path: Path) -> None:
    """Beyond this machine it asks for names, or for a word that it need not."""
    words = ["zookeeper", "serve", "--data", str(tmp_path / "data"), "--host", "0.0.0.0"]
    done = call(*words, "--port", "0", KAFKA_OPTS="")
    assert done.returncode == 1
    assert "can change everything" in done.stderr
    assert not (tmp_path / "data").exists()
