"""The broker's certificates: contexts of TLS by listener, and how they are exchanged while it runs.

The admin listener is one of them, by the name of its setting.

Files are looked at every few seconds, beside the loop. What changed, there or in the settings, is
tried; what cannot be used is said, and the one before holds on. Open connections keep theirs.
Settings that somebody asks for are tried before they are taken (`try_out`).
A certificate that ends soon is told at the start and while the broker runs, at each of `BEFORE`.
"""

import asyncio
import ssl
from collections.abc import Callable
from functools import cache, partial
from typing import Final, NamedTuple

import structlog

from odradek.config.broker import BrokerConfig
from odradek.config.derived import inter_broker_listener_name
from odradek.config.listeners import HAS_TLS
from odradek.config.rows import network as rows
from odradek.config.rows.broker import ADMIN_LISTENER
from odradek.config.secured import admin_tls_texts, protocol_of, tls_texts
from odradek.model.errors import InvalidSetting
from odradek.model.moments import moment_text
from odradek.model.units import DAY, SECOND, Millis, Timestamp
from odradek.ports import Clock
from odradek.security.certificates.tls_contexts import (
    Read,
    certificate_ends,
    client_context,
    opened_once,
    server_context,
)
from odradek.security.certificates.tls_settings import TlsSettings, tls_settings

ROUND: Final = Millis(5 * SECOND)
SOON: Final = Millis(14 * DAY)
BEFORE: Final = (SOON, Millis(7 * DAY), DAY, Millis(0))
"""How long before the end of a certificate it is told of, each time once."""

log = structlog.get_logger()


class Contexts(NamedTuple):
    """Of one listener; the client's where brokers use it among themselves."""

    server: ssl.SSLContext
    client: ssl.SSLContext | None
    ends: Timestamp | None  # of the certificate; None if that is not known


class _Kept(NamedTuple):
    """What contexts were made of."""

    settings: TlsSettings
    contents: tuple[bytes, ...]


class Certificates:
    """Of all listeners with TLS."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._contexts: dict[str, Contexts] = {}
        self._kept: dict[str, _Kept] = {}
        self._refused: dict[str, _Kept] = {}  # what was tried in vain
        self._told: dict[str, tuple[Timestamp, int]] = {}  # which end, and how many of BEFORE

    def load(self, config: BrokerConfig, *, admin_alone: bool = False) -> None:
        """At a start: InvalidSetting names what is missing.

        Where ZooKeeper may have passwords of stores, only the admin listener's is there before.
        """
        for listener in listeners_with_tls(config):
            if admin_alone and listener != ADMIN_LISTENER.name:
                continue
            settings, read = _settings(config, listener), cache(self._read)
            self._contexts[listener] = _made(config, listener, settings, read)
            self._kept[listener] = _kept(settings, read)

    def server(self, listener: str) -> Callable[[], ssl.SSLContext]:
        """What new connections to a listener get."""
        return lambda: self._contexts[listener].server

    def client(self, listener: str) -> Callable[[], ssl.SSLContext]:
        """What new connections to other brokers get."""

        def found() -> ssl.SSLContext:
            context = self._contexts[listener].client
            assert context is not None, "brokers use this listener among themselves"
            return context

        return found

    @property
    def ends(self) -> dict[str, Timestamp]:
        """When the certificate of each listener ends."""
        return {it: at.ends for it, at in self._contexts.items() if at.ends is not None}

    def tell_ends(self, now: Timestamp) -> None:
        """Says which certificates end soon or have ended, where that is news."""
        for listener, ends in sorted(self.ends.items()):
            passed = sum(ends - now <= before for before in BEFORE)
            told = self._told.get(listener)
            if passed and (told is None or told[0] != ends or told[1] < passed):
                self._told[listener] = (ends, passed)
                if ends <= now:
                    log.error("tls.certificate_ended", listener=listener, at=moment_text(ends))
                else:
                    days = (ends - now) // DAY
                    at = moment_text(ends)
                    log.warning("tls.certificate_ends", listener=listener, at=at, days=days)

    async def run(self, clock: Clock, config: Callable[[], BrokerConfig]) -> None:
        """Looks now and then, until it is cancelled."""
        while self._contexts:
            await clock.sleep_until(Millis(clock.monotonic() + ROUND))
            await self.look(config())
            self.tell_ends(clock.wall())

    async def look(self, config: BrokerConfig) -> None:
        """Takes over what has changed."""
        loop = asyncio.get_running_loop()
        for listener in sorted(self._contexts):
            made = await loop.run_in_executor(None, partial(self._look_at, config, listener))
            if made is not None:
                self._contexts[listener] = made
                log.info("tls.reloaded", listener=listener)

    async def try_out(self, config: BrokerConfig) -> None:
        """InvalidSetting says why these settings could not be used; nothing is taken over."""
        if self._contexts:
            tried = partial(self._try_out, config)
            await asyncio.get_running_loop().run_in_executor(None, tried)

    def _try_out(self, config: BrokerConfig) -> None:
        """In a thread: of each listener that would have others than now."""
        for listener in sorted(self._contexts):
            settings, read = _settings(config, listener), cache(self._read)
            if settings != self._kept[listener].settings:
                try:
                    _made(config, listener, settings, read)
                except (InvalidSetting, OSError) as error:
                    raise InvalidSetting(f"listener {listener}: {error}") from None

    def _look_at(self, config: BrokerConfig, listener: str) -> Contexts | None:
        """In a thread: new contexts, if there is something new that can be used."""
        try:
            settings, read = _settings(config, listener), cache(self._read)
            now = _kept(settings, read)
            if now in {self._kept[listener], self._refused.get(listener)}:
                return None
            self._refused[listener] = now
            made = _made(config, listener, settings, read)
        except (InvalidSetting, OSError) as error:
            log.warning("tls.not_reloaded", listener=listener, reason=str(error))
            return None
        self._kept[listener] = now
        return made


def _kept(settings: TlsSettings, read: Read) -> _Kept:
    return _Kept(settings, tuple(read(path) for path in settings.files))


def _made(config: BrokerConfig, listener: str, settings: TlsSettings, read: Read) -> Contexts:
    opened = opened_once(settings, read)
    server = server_context(opened, read)
    is_for_brokers = listener == inter_broker_listener_name(config)
    client = client_context(opened, read) if is_for_brokers else None
    return Contexts(server, client, certificate_ends(opened, read))


def listeners_with_tls(config: BrokerConfig) -> list[str]:
    """By their names."""
    names = (listener.name for listener in config[rows.LISTENERS])
    found = [name for name in names if protocol_of(config, name) in HAS_TLS]
    if config[ADMIN_LISTENER] and admin_tls_texts(config):
        found.append(ADMIN_LISTENER.name)
    return found


def _settings(config: BrokerConfig, listener: str) -> TlsSettings:
    is_admin = listener == ADMIN_LISTENER.name
    return tls_settings(admin_tls_texts(config) if is_admin else tls_texts(config, listener))
