"""PKCS12, the usual format of Java's stores: read by `cryptography`, which checks the password.

Its contents go on in the formats that OpenSSL takes. A key is never written to a disk.
"""

from typing import Any, Final

from odradek.model.errors import InvalidSetting
from odradek.security.extra import needed

FIRST: Final = b"\x30"
"""What a store begins with: it is one SEQUENCE in DER."""
_SERIALIZATION: Final = "cryptography.hazmat.primitives.serialization"


def identity(data: bytes, password: str | None) -> bytes:
    """Of a key store: the private key, its certificate and the chain, in PEM."""
    key, certificate, others = _load(data, password)
    if key is None or certificate is None:
        raise InvalidSetting("there is no private key with a certificate in it")
    forms = needed(_SERIALIZATION, "PKCS12")
    pem = forms.Encoding.PEM
    parts = [key.private_bytes(pem, forms.PrivateFormat.PKCS8, forms.NoEncryption())]
    parts += [it.public_bytes(pem) for it in (certificate, *others)]
    return b"".join(parts)


def trusted(data: bytes, password: str | None) -> bytes:
    """Of a trust store: its certificates, in DER, one behind the other."""
    key, certificate, others = _load(data, password)
    if key is not None:
        raise InvalidSetting("a private key is in it: this is a key store")
    found = [it for it in (certificate, *others) if it is not None]
    if not found:
        raise InvalidSetting("no certificate is in it")
    der = needed(_SERIALIZATION, "PKCS12").Encoding.DER
    return b"".join(it.public_bytes(der) for it in found)


def _load(data: bytes, password: str | None) -> Any:
    """Key, certificate, other certificates."""
    secret = None if password is None else password.encode()
    try:
        return needed(f"{_SERIALIZATION}.pkcs12", "PKCS12").load_key_and_certificates(data, secret)
    except (ValueError, needed("cryptography.exceptions", "PKCS12").UnsupportedAlgorithm) as error:
        raise InvalidSetting(str(error).rstrip(".").lower()) from None
