"""JKS, Java's own format of stores: the certificates of a trust store are read.

A key store in this format is refused: its keys are protected by a cipher of Java's own.
"""

import hmac
import struct
from hashlib import sha1
from typing import Final

from odradek.model.errors import InvalidSetting

MAGIC: Final = b"\xfe\xed\xfe\xed"
_DIGEST_BYTES: Final = 20
_SALT: Final = b"Mighty Aphrodite"
_KEY: Final = 1
_CERTIFICATE: Final = 2
_ENTRIES_MAX: Final = 10_000


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def number(self) -> int:
        (found,) = struct.unpack(">I", self.take(4))
        return int(found)

    def text(self) -> str:
        (size,) = struct.unpack(">H", self.take(2))
        return self.take(size).decode("utf-8", "replace")

    def take(self, count: int) -> bytes:
        end = self._position + count
        if end > len(self._data):
            raise InvalidSetting("it ends too early")
        found = self._data[self._position : end]
        self._position = end
        return found


def certificates(data: bytes, password: str | None) -> list[bytes]:
    """The certificates of a trust store (DER); the password, where it is known, is checked."""
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if password is not None:
        sealed = sha1(password.encode("utf-16-be") + _SALT + body, usedforsecurity=False)
        if not hmac.compare_digest(sealed.digest(), digest):
            raise InvalidSetting("the password is wrong, or the file was changed")
    reader = _Reader(body)
    reader.take(len(MAGIC))
    version, count = reader.number(), reader.number()
    if version not in {1, 2} or count > _ENTRIES_MAX:
        raise InvalidSetting(f"version {version} with {count} entries")
    return [_certificate(reader, version) for _ in range(count)]


def _certificate(reader: _Reader, version: int) -> bytes:
    tag = reader.number()
    alias = reader.text()
    reader.take(8)  # when it was made
    if tag == _KEY:
        raise InvalidSetting(f"entry {alias[:40]!r} is a private key, which JKS encrypts by itself")
    if tag != _CERTIFICATE:
        raise InvalidSetting(f"an entry with the tag {tag}")
    if version > 1:
        reader.text()  # X.509
    return reader.take(reader.number())
