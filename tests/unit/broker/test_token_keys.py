"""Keys of tokens: at a start, and again while a broker runs."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from odradek.broker.network.token_keys import PAUSE, TokenKeys
from odradek.config.broker import BrokerConfig
from odradek.config.findings import Given
from odradek.config.sources import examine
from odradek.model.errors import InvalidSetting
from odradek.model.units import Micros, Millis, Timestamp
from odradek.security.addresses import reader
from odradek.security.errors import AuthenticationFailed
from odradek.security.tokens import UnknownKey
from tests.unit.security.tokens_of_tests import (
    AUDIENCE,
    ISSUER,
    NOW,
    RSA_KEY,
    STRANGER,
    claims,
    key_set,
    row,
    token,
)

URL = "https://issuer.example/keys"


class HeldClock:
    """Time stands until it is let on."""

    def __init__(self) -> None:
        self.sleeps: list[Millis] = []
        self._on = asyncio.Event()

    def monotonic(self) -> Millis:
        """The beginning."""
        return Millis(0)

    def micros(self) -> Micros:
        """Likewise."""
        return Micros(0)

    def worked(self) -> Micros:
        """Nothing."""
        return Micros(0)

    def wall(self) -> Timestamp:
        """The moment of the tokens."""
        return NOW

    async def sleep_until(self, deadline: Millis) -> None:
        """Until `let_on`."""
        self.sleeps.append(deadline)
        await self._on.wait()
        self._on.clear()

    def let_on(self) -> None:
        """The time has come."""
        self._on.set()


class Issuer:
    """Answers with what it has, and counts."""

    def __init__(self) -> None:
        self.data = key_set()
        self.asked: list[str] = []

    def read(self, url: str) -> bytes:
        """Its keys."""
        self.asked.append(url)
        if not self.data:
            raise OSError("it answers 503")
        return self.data


def config(**other: str) -> BrokerConfig:
    """Of a broker that believes it."""
    texts = {
        "listeners": "PLAINTEXT://127.0.0.1:9092,TOKENS://127.0.0.1:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TOKENS:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.tokens.sasl.oauthbearer.jwks.endpoint.url": URL,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        **other,
    }
    return examine({name: Given(text, "here") for name, text in texts.items()}, ())[0]


async def until(holds: Callable[[], Any]) -> None:
    """A thread reads."""
    while not holds():  # noqa: ASYNC110 - as above
        await asyncio.sleep(0)


def test_a_new_key_is_looked_for_twice_a_minute_at_most() -> None:
    """The first token with it is refused; a stranger who makes up keys changes nothing."""

    async def run() -> None:
        issuer, clock = Issuer(), HeldClock()
        keys = TokenKeys(issuer.read, clock)
        keys.load(config())
        look = keys.check(config(), "TOKENS")
        assert look(token()).name == "alice"
        newer = token(key=STRANGER, kid="three")
        task = asyncio.create_task(keys.run(config()))
        await asyncio.sleep(0)
        issuer.data = key_set(row(RSA_KEY, "one"), row(STRANGER, "three"))
        with pytest.raises(UnknownKey):
            look(newer)
        await until(lambda: clock.sleeps == [PAUSE])
        assert look(newer).name == "alice"
        for number in range(100):
            with pytest.raises(UnknownKey):
                look(token(kid=f"made-up-{number}"))
            await asyncio.sleep(0)
        assert issuer.asked == [URL, URL]
        issuer.data = b""
        with capture_logs() as events:
            clock.let_on()
            await until(lambda: len(clock.sleeps) == 2)
        assert [(it["event"], it["reason"]) for it in events] == [
            ("tokens.keys_not_read", "it answers 503")
        ]
        assert look(newer).name == "alice"
        task.cancel()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"", "it answers 503"), (key_set(row(RSA_KEY, "one", use="enc")), "no public key")],
)
def test_without_keys_there_is_no_start(data: bytes, says: str) -> None:
    """Whoever made the token: nothing could be checked."""
    issuer = Issuer()
    issuer.data = data
    keys = TokenKeys(issuer.read, HeldClock())
    with pytest.raises(InvalidSetting, match=rf"jwks\.endpoint\.url={URL}: .*{says}"):
        keys.load(config())


def test_a_listener_has_rules_of_its_own() -> None:
    """What one expects is not expected on another."""
    own = {"listener.name.tokens.sasl.oauthbearer.expected.audience": "else"}
    keys = TokenKeys(Issuer().read, HeldClock())
    keys.load(config(**own))
    elsewhere = token(claims(aud="else"))
    assert keys.check(config(**own), "TOKENS")(elsewhere).name == "alice"
    look = keys.check(config(), "TOKENS")
    with pytest.raises(AuthenticationFailed, match="another audience"):
        look(elsewhere)


def test_what_is_set_is_checked() -> None:
    """Whatever need not be set."""
    waived = {"sasl.oauthbearer.unchecked": "issuer,audience"}
    keys = TokenKeys(Issuer().read, HeldClock())
    keys.load(config(**waived))
    look = keys.check(config(**waived), "TOKENS")
    for said, says in ((claims(aud="else"), "audience"), (claims(iss="else"), "issuer")):
        with pytest.raises(AuthenticationFailed, match=f"another {says}"):
            look(token(said))


class Noted(bytes):
    """Says in which thread it is understood."""

    threads: list[threading.Thread]

    def decode(self, *how: str) -> str:
        """The first that is done with it."""
        self.threads.append(threading.current_thread())
        return bytes(self).decode(*how)


def test_the_loop_does_not_read_keys() -> None:
    """A set may be large: it is understood where it is read."""
    answer = Noted(key_set())
    answer.threads = []

    async def run() -> None:
        keys = TokenKeys(lambda _: answer, HeldClock())
        await keys.load_beside(config())
        await keys._fetch(URL)

    asyncio.run(run())
    assert len(answer.threads) == 2
    assert threading.main_thread() not in answer.threads


def test_a_file_is_read_by_its_path() -> None:
    """Java writes one slash, and others three."""
    read = reader(lambda path: path.encode(), lambda url: url.upper().encode())
    assert read("file:/etc/keys.json") == read("file:///etc/keys.json") == b"/etc/keys.json"
    assert read("https://a/b") == b"HTTPS://A/B"
