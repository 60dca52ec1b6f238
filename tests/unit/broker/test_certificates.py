"""When a listener's certificate is told to end."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from odradek.broker.network.certificates import BEFORE, Certificates
from odradek.config.broker import BrokerConfig
from odradek.config.findings import Given
from odradek.config.sources import examine
from odradek.model.errors import InvalidSetting
from odradek.model.units import DAY, HOUR, Timestamp
from odradek.security.certificates.tls_contexts import certificate_ends
from odradek.security.certificates.tls_settings import tls_settings
from tests.samples.certificate_files import certificates

END = Timestamp(1_609_459_200_000)
"""Of old.pem: the first second of 2021."""


def read(path: str) -> bytes:
    """A file."""
    return Path(path).read_bytes()


def config(key_store: str, trust_store: str = "trusted.crt") -> BrokerConfig:
    """Of a broker with one listener, which asks for certificates."""
    texts = {
        "listeners": "CERT://127.0.0.1:9093",
        "listener.security.protocol.map": "CERT:SSL",
        "inter.broker.listener.name": "CERT",
        "ssl.keystore.location": certificates(key_store),
        "ssl.client.auth": "required",
        "ssl.truststore.location": certificates(trust_store),
    }
    return examine({name: Given(text, "here") for name, text in texts.items()}, ())[0]


def told(loaded: Certificates, now: int) -> list[str]:
    """The events of one look."""
    with capture_logs() as events:
        loaded.tell_ends(Timestamp(now))
    return [f"{it['log_level']} {it['event']} {it.get('days', '')}".strip() for it in events]


def test_each_time_before_the_end_is_told_once() -> None:
    """Nothing long before; then at fourteen days, a week, a day, and when it is over."""
    loaded = Certificates(read)
    loaded.load(config("old.pem"))
    assert loaded.ends == {"CERT": END}
    ends = "warning tls.certificate_ends"
    expected = [f"{ends} 14", f"{ends} 7", f"{ends} 1", "error tls.certificate_ended"]
    assert not told(loaded, END - BEFORE[0] - 1)
    for before, event in zip(BEFORE, expected, strict=True):
        assert told(loaded, END - before) == [event]
        assert not told(loaded, END - before + HOUR)


def test_at_a_start_the_last_of_them_is_told() -> None:
    """Not all that a broker has missed."""
    loaded = Certificates(read)
    loaded.load(config("old.pem"))
    assert told(loaded, END + DAY) == ["error tls.certificate_ended"]
    assert not told(loaded, END + 2 * DAY)


def test_the_first_of_a_chain_counts() -> None:
    """An intermediate that has ended is as bad as the certificate itself."""
    chain = read(certificates("broker.pem")) + read(certificates("old.pem"))
    settings = tls_settings({"ssl.keystore.location": "chain"})
    assert certificate_ends(settings, lambda _: chain) == END


@pytest.mark.parametrize(
    "damage", [b"", b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"]
)
def test_what_is_not_understood_has_no_end(damage: bytes) -> None:
    """OpenSSL may take what this does not read."""
    settings = tls_settings({"ssl.keystore.location": "odd"})
    assert certificate_ends(settings, lambda _: damage) is None


def test_the_admin_listener_is_one_of_them() -> None:
    """Its certificate is exchanged as any other; a bad one is said, and the old one holds."""
    texts = {
        "admin.listener": "127.0.0.1:9644",
        "admin.listener.ssl.keystore.location": "admin.pem",
    }
    config = examine({name: Given(text, "here") for name, text in texts.items()}, ())[0]
    files = {"admin.pem": read(certificates("old.pem"))}
    loaded = Certificates(lambda path: files[path])
    loaded.load(config)
    assert loaded.ends == {"admin.listener": END}
    first = loaded.server("admin.listener")()
    files["admin.pem"] = b"nonsense"
    with capture_logs() as events:
        asyncio.run(loaded.look(config))
    assert [(it["event"], it["listener"]) for it in events] == [
        ("tls.not_reloaded", "admin.listener")
    ]
    assert loaded.server("admin.listener")() is first
    files["admin.pem"] = read(certificates("broker.pem"))
    asyncio.run(loaded.look(config))
    assert loaded.server("admin.listener")() is not first
    assert loaded.ends["admin.listener"] > END


def test_an_admin_listener_that_is_switched_off_needs_no_certificate() -> None:
    """Whatever else is said of it."""
    texts = {"admin.listener": "", "admin.listener.ssl.keystore.location": "admin.pem"}
    config = examine({name: Given(text, "here") for name, text in texts.items()}, ())[0]
    loaded = Certificates(read)
    loaded.load(config)
    assert not loaded.ends


def test_each_store_is_read_once() -> None:
    """At a start and at a look: contexts are made of what is compared with the next look."""
    asked: list[str] = []

    def counted(path: str) -> bytes:
        asked.append(path)
        return read(path)

    of_listener = config("broker.pem")
    loaded = Certificates(counted)
    loaded.load(of_listener)
    stores = [certificates("broker.pem"), certificates("trusted.crt")]
    assert sorted(asked) == stores
    asyncio.run(loaded.look(of_listener))
    assert sorted(asked) == sorted(stores * 2)
    asked.clear()
    asyncio.run(loaded.look(config("elsewhere.pem")))
    assert sorted(asked) == [certificates("elsewhere.pem"), certificates("trusted.crt")]


@pytest.mark.parametrize(
    ("store", "why"),
    [
        ("trusted.crt", "key"),
        ("make.sh", "in PEM"),
        ("encrypted.pem", "password"),
        ("missing.pem", "missing"),
    ],
)
def test_a_store_is_tried_before_it_is_taken(store: str, why: str) -> None:
    """One that cannot be used is refused with the reason, and the one before holds on."""
    loaded = Certificates(read)
    loaded.load(config("broker.pem"))
    first = loaded.server("CERT")()
    with pytest.raises(InvalidSetting, match=f"CERT.*{why}"):
        asyncio.run(loaded.try_out(config(store)))
    asyncio.run(loaded.try_out(config("elsewhere.pem")))
    assert loaded.server("CERT")() is first
    asyncio.run(loaded.look(config("elsewhere.pem")))
    assert loaded.server("CERT")() is not first


class Talk:
    """A client with alice's certificate and a listener, without a network in between."""

    def __init__(self, server: ssl.SSLContext) -> None:
        context = ssl.create_default_context(cafile=certificates("trusted.crt"))
        context.load_cert_chain(certificates("client.pem"))
        there, here = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = context.wrap_bio(here, there, server_hostname="localhost")
        self.server = server.wrap_bio(there, here, server_side=True)

    def step(self) -> None:
        """Of both; what is wrong is raised."""
        for side in (self.client, self.server):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()

    def says(self, text: bytes) -> bytes:
        """What the listener hears of the client."""
        self.client.write(text)
        return self.server.read()


def test_an_authority_is_withdrawn_while_clients_connect() -> None:
    """Who is connected stays, a handshake that has begun is finished; the next one is refused."""
    loaded = Certificates(read)
    loaded.load(config("broker.pem"))
    connected, begun = (Talk(loaded.server("CERT")()) for _ in range(2))
    for talk in (connected, connected, begun):
        talk.step()
    asyncio.run(loaded.look(config("broker.pem", "stranger.crt")))
    begun.step()
    assert connected.says(b"still here") == b"still here"
    assert begun.says(b"here now") == b"here now"
    late = Talk(loaded.server("CERT")())
    late.step()
    with pytest.raises(ssl.SSLCertVerificationError):
        late.step()
