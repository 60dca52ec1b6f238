"""Certificates of connections to and from ZooKeeper: read again for each, made anew at a change."""

import ssl
from collections.abc import Callable

import structlog

from odradek.model.errors import InvalidSetting
from odradek.security.certificates.tls_contexts import Read
from odradek.security.certificates.tls_settings import TlsSettings

Make = Callable[[TlsSettings, Read], ssl.SSLContext]

log = structlog.get_logger()


class KeptContext:
    """What new connections get. What cannot be used is said, and the one before holds on."""

    def __init__(self, settings: TlsSettings, read: Read, make: Make) -> None:
        self._settings = settings
        self._read = read
        self._make = make
        self._context = make(settings, read)
        self._seen = self._contents()

    def __call__(self) -> ssl.SSLContext:
        """Of the next connection."""
        contents = self._contents()
        if contents != self._seen:
            self._seen = contents
            try:
                self._context = self._make(self._settings, self._read)
            except InvalidSetting as error:
                log.warning("tls.not_reloaded", listener="zookeeper", reason=str(error))
        return self._context

    def _contents(self) -> tuple[bytes | None, ...]:
        return tuple(map(self._content, self._settings.files))

    def _content(self, path: str) -> bytes | None:
        try:
            return self._read(path)
        except OSError:
            return None
