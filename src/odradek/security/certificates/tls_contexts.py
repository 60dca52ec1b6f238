"""From settings to OpenSSL's contexts. Stores are told apart by what is in them, not by a setting.

Files are read once, whole, by who calls: `read` gives their bytes. A private key reaches OpenSSL by
a file in memory without a name, since `ssl` takes keys from files only. A context is made anew at
each change, and hands out no tickets, so that no session outlives a certificate that was withdrawn.
"""

import os
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from odradek.config.kinds import Secret
from odradek.model.errors import InvalidSetting
from odradek.model.units import SECOND, Timestamp
from odradek.security.certificates import java_store, pkcs12
from odradek.security.certificates.der import not_after
from odradek.security.certificates.tls_settings import (
    SUITES_OF_1_2,
    SUITES_OF_1_3,
    Store,
    TlsSettings,
)

Read = Callable[[str], bytes]
"""A file's bytes."""

_VERIFY: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CERTIFICATE: Final = re.compile(
    "-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----",
    re.DOTALL,
)
CONVERT: Final = (
    "a JKS key store cannot be read; convert it: keytool -importkeystore -srckeystore {0} "
    "-destkeystore {0}.p12 -deststoretype PKCS12"
)


def server_context(settings: TlsSettings, read: Read) -> ssl.SSLContext:
    """For a listener."""
    if settings.key_store is None:
        raise InvalidSetting("ssl.keystore.location: a listener with TLS needs a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    context.set_ciphers(":".join(SUITES_OF_1_2.values()))  # unless the settings name others
    context.verify_mode = _VERIFY[settings.client_auth]
    _configure(context, settings, read)
    if settings.client_auth != "none":
        if settings.trust_store is None:
            raise InvalidSetting("ssl.truststore.location: ssl.client.auth needs it")
        _trust(context, settings.trust_store, read)
    return context


def client_context(settings: TlsSettings, read: Read) -> ssl.SSLContext:
    """For connections that this process makes; without a trust store the system's is taken."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_names
    _configure(context, settings, read)
    if settings.trust_store is None:
        context.load_default_certs()
    else:
        _trust(context, settings.trust_store, read)
    return context


def opened_once(settings: TlsSettings, read: Read) -> TlsSettings:
    """With the key store's content in PEM: for several contexts it is opened, and read, once."""
    store = settings.key_store
    if store is None:
        return settings
    pem = Secret(_identity(store, settings, read).decode(errors="replace"))
    return settings._replace(key_store=store._replace(inline=pem))


def certificate_ends(settings: TlsSettings, read: Read) -> Timestamp | None:
    """When the first of a key store's certificates ends: its holder's, or one of its chain.

    None where none is understood that OpenSSL has taken.
    """
    assert settings.key_store is not None, "a listener with TLS has a certificate"
    pem = _identity(settings.key_store, settings, read)
    texts = _CERTIFICATE.findall(pem.decode("latin-1"))
    try:
        ends = [not_after(ssl.PEM_cert_to_DER_cert(text)) for text in texts]
        first = min(datetime.strptime(text, "%Y%m%d%H%M%S%z") for text in ends)
    except ValueError:
        return None
    return Timestamp(int(first.timestamp() * SECOND))


def _configure(context: ssl.SSLContext, settings: TlsSettings, read: Read) -> None:
    versions = [_VERSIONS[it] for it in settings.protocols]
    if settings.suites and not SUITES_OF_1_3.intersection(settings.suites):
        versions = [it for it in versions if it is not ssl.TLSVersion.TLSv1_3]
        if not versions:
            raise InvalidSetting("ssl.cipher.suites: none of them belongs to TLSv1.3")
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    older = [SUITES_OF_1_2[it] for it in settings.suites if it in SUITES_OF_1_2]
    if older:
        context.set_ciphers(":".join(older))
    if settings.key_store is not None:
        _identify(context, settings.key_store, settings, read)


def _identify(context: ssl.SSLContext, store: Store, settings: TlsSettings, read: Read) -> None:
    """Our own certificate and its key."""
    secret = settings.key_password or store.password
    with _in_memory(_identity(store, settings, read)) as path:
        try:
            context.load_cert_chain(path, password=secret.value if secret else _no_password)
        except (OSError, ValueError) as error:
            raise InvalidSetting(_said(store, _why(error))) from None


def _identity(store: Store, settings: TlsSettings, read: Read) -> bytes:
    """What is in a key store, in PEM."""
    data = _content(store, read)
    if data.startswith(java_store.MAGIC):
        raise InvalidSetting(_said(store, CONVERT.format(store.location)))
    if not data.startswith(pkcs12.FIRST):
        return data
    secret = store.password or settings.key_password
    try:
        return pkcs12.identity(data, secret.value if secret else None)
    except InvalidSetting as error:
        raise InvalidSetting(_said(store, str(error))) from None


def _no_password() -> str:
    """Asked where the key is encrypted: OpenSSL would ask at the terminal otherwise."""
    raise ValueError("the key is encrypted, and ssl.key.password is not set")


def _trust(context: ssl.SSLContext, store: Store, read: Read) -> None:
    data = _content(store, read)
    try:
        context.load_verify_locations(cadata=_trusted(store, data))
    except (OSError, ValueError) as error:
        raise InvalidSetting(_said(store, _why(error))) from None
    except InvalidSetting as error:
        raise InvalidSetting(_said(store, str(error))) from None


def _trusted(store: Store, data: bytes) -> str | bytes:
    password = store.password.value if store.password else None
    if data.startswith(java_store.MAGIC):
        return b"".join(java_store.certificates(data, password))
    if data.startswith(pkcs12.FIRST):
        return pkcs12.trusted(data, password)
    return data.decode("ascii", "replace")


def _content(store: Store, read: Read) -> bytes:
    if store.inline is not None:
        return store.inline.value.encode()
    try:
        return read(store.location)
    except OSError as error:
        raise InvalidSetting(_said(store, error.strerror or str(error))) from None


def _said(store: Store, why: str) -> str:
    named = f"{store.setting}={store.location}" if store.location else store.setting
    return f"{named}: {why}"


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        words = (error.reason or str(error)).replace("_", " ").lower()
        if "no start line" in words or "pem" in words:
            return "it does not hold what is needed in PEM: a certificate, and its key"
        return words
    return str(error)


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """A file that no other process can open by a name."""
    fd = os.memfd_create("store")
    try:
        with open(fd, "wb", closefd=False) as opened:
            opened.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)
