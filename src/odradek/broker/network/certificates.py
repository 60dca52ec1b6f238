"""The broker's certificates: contexts of TLS by listener, and how they are exchanged while it runs.

Files are looked at every few seconds, beside the loop. What changed, there or in the settings, is
tried; what cannot be used is said, and the one before holds on. Open connections keep theirs.
"""

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import structlog

from odradek.config.broker import BrokerConfig
from odradek.config.derived import inter_broker_listener_name
from odradek.config.listeners import HAS_TLS
from odradek.config.rows import network as rows
from odradek.config.secured import protocol_of, tls_texts
from odradek.model.errors import InvalidSetting
from odradek.model.units import SECOND, Millis
from odradek.ports import Clock
from odradek.security.tls_contexts import Read, client_context, server_context
from odradek.security.tls_settings import TlsSettings, tls_settings

ROUND: Final = Millis(5 * SECOND)

log = structlog.get_logger()


class Contexts(NamedTuple):
    """Of one listener; the client's where brokers use it among themselves."""

    server: ssl.SSLContext
    client: ssl.SSLContext | None


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

    def load(self, config: BrokerConfig) -> None:
        """At a start: InvalidSetting names what is missing."""
        for listener in listeners_with_tls(config):
            settings = tls_settings(tls_texts(config, listener))
            self._contexts[listener] = self._made(config, listener, settings)
            self._kept[listener] = _Kept(settings, self._contents(settings))

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

    async def run(self, clock: Clock, config: Callable[[], BrokerConfig]) -> None:
        """Looks now and then, until it is cancelled."""
        while self._contexts:
            await clock.sleep_until(Millis(clock.monotonic() + ROUND))
            await self.look(config())

    async def look(self, config: BrokerConfig) -> None:
        """Takes over what has changed."""
        loop = asyncio.get_running_loop()
        for listener in sorted(self._contexts):
            made = await loop.run_in_executor(None, partial(self._look_at, config, listener))
            if made is not None:
                self._contexts[listener] = made
                log.info("tls.reloaded", listener=listener)

    def _look_at(self, config: BrokerConfig, listener: str) -> Contexts | None:
        """In a thread: new contexts, if there is something new that can be used."""
        try:
            settings = tls_settings(tls_texts(config, listener))
            now = _Kept(settings, self._contents(settings))
            if now in {self._kept[listener], self._refused.get(listener)}:
                return None
            self._refused[listener] = now
            made = self._made(config, listener, settings)
        except (InvalidSetting, OSError) as error:
            log.warning("tls.not_reloaded", listener=listener, reason=str(error))
            return None
        self._kept[listener] = now
        return made

    def _contents(self, settings: TlsSettings) -> tuple[bytes, ...]:
        return tuple(self._read(path) for path in settings.files)

    def _made(self, config: BrokerConfig, listener: str, settings: TlsSettings) -> Contexts:
        server = server_context(settings, self._read)
        is_for_brokers = listener == inter_broker_listener_name(config)
        return Contexts(server, client_context(settings, self._read) if is_for_brokers else None)


def listeners_with_tls(config: BrokerConfig) -> list[str]:
    """By their names."""
    names = (listener.name for listener in config[rows.LISTENERS])
    return [name for name in names if protocol_of(config, name) in HAS_TLS]
