"""Keys by which tokens of OAuth are checked: read at a start, and again while the broker runs.

A token with a key that is not known is refused, and the keys are read again: at once, but not
within half a minute of the last time, so that a stranger who makes up keys costs an issuer little.
What cannot be read is said, and the keys before hold on. A key that is withdrawn is believed until
the keys are read again; names that were proven hold until their tokens end.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from odradek.config.broker import BrokerConfig
from odradek.config.listeners import HAS_SASL
from odradek.config.rows import network, security, tokens
from odradek.config.secured import on, protocol_of
from odradek.model.errors import InvalidSetting
from odradek.model.units import SECOND, Millis
from odradek.ports import Clock
from odradek.security.jaas import OAUTHBEARER
from odradek.security.mechanisms.oauth import Check
from odradek.security.tokens import Claims, Keys, Rules, UnknownKey, believed, parse_keys

PAUSE: Final = Millis(30 * SECOND)

log = structlog.get_logger()


class TokenKeys:
    """Of all listeners with OAUTHBEARER, by the address of the keys."""

    def __init__(self, read: Callable[[str], bytes], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._keys: dict[str, Keys] = {}
        self._wanted: dict[str, asyncio.Event] = {}

    def check(self, config: BrokerConfig, listener: str) -> Check:
        """How a listener looks at tokens."""
        url = on(config, listener, tokens.SASL_OAUTHBEARER_JWKS_ENDPOINT_URL)
        assert url is not None, "it was checked at the start"
        return partial(self._look, url, _rules(config, listener))

    def _look(self, url: str, rules: Rules, token: str) -> Claims:
        try:
            return believed(token, self._keys[url], rules, self._clock.wall())
        except UnknownKey:
            self._wanted[url].set()
            raise

    def load(self, config: BrokerConfig) -> None:
        """At a start: InvalidSetting says which keys cannot be had."""
        for url in _addresses(config):
            try:
                self._keys[url] = self._fresh(url)
                self._wanted[url] = asyncio.Event()
            except (OSError, InvalidSetting) as error:
                name = tokens.SASL_OAUTHBEARER_JWKS_ENDPOINT_URL.name
                raise InvalidSetting(f"{name}={url}: {error}") from None

    async def load_beside(self, config: BrokerConfig) -> None:
        """The same, without holding up the loop."""
        if _addresses(config):
            await asyncio.get_running_loop().run_in_executor(None, self.load, config)

    async def run(self, config: BrokerConfig) -> None:
        """Reads them again, until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for url, refresh in _addresses(config).items():
                tasks.create_task(self._refresh(url, refresh))

    async def _refresh(self, url: str, refresh: Millis) -> None:
        wanted = self._wanted[url]
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(refresh / SECOND):
                    await wanted.wait()
            wanted.clear()
            try:
                await self._fetch(url)
            except (OSError, InvalidSetting) as error:
                log.warning("tokens.keys_not_read", url=url, reason=str(error))
            await self._clock.sleep_until(Millis(self._clock.monotonic() + PAUSE))

    async def _fetch(self, url: str) -> None:
        keys = await asyncio.get_running_loop().run_in_executor(None, self._fresh, url)
        before, self._keys[url] = self._keys[url], keys
        if keys.keys() != before.keys():
            log.info("tokens.keys_read", url=url, count=len(keys))

    def _fresh(self, url: str) -> Keys:
        """Read and understood; it blocks."""
        return parse_keys(self._read(url))


def _addresses(config: BrokerConfig) -> dict[str, Millis]:
    """With how often they are looked at; of two listeners with one address the more often."""
    found: dict[str, Millis] = {}
    for listener in (it.name for it in config[network.LISTENERS]):
        offers = on(config, listener, security.SASL_ENABLED_MECHANISMS)
        url = on(config, listener, tokens.SASL_OAUTHBEARER_JWKS_ENDPOINT_URL)
        if protocol_of(config, listener) in HAS_SASL and OAUTHBEARER in offers and url is not None:
            refresh = on(config, listener, tokens.SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS)
            found[url] = min(refresh, found.get(url, refresh))
    return found


def _rules(config: BrokerConfig, listener: str) -> Rules:
    issuer = on(config, listener, tokens.SASL_OAUTHBEARER_EXPECTED_ISSUER)
    audiences = on(config, listener, tokens.SASL_OAUTHBEARER_EXPECTED_AUDIENCE)
    return Rules(
        on(config, listener, tokens.SASL_OAUTHBEARER_ALGORITHMS),
        issuer or None,
        audiences or (),
        on(config, listener, tokens.SASL_OAUTHBEARER_SUB_CLAIM_NAME),
        on(config, listener, tokens.SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS),
    )
