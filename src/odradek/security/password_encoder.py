"""Passwords as Kafka keeps them in ZooKeeper: encrypted by `password.encoder.secret`.

A text of `name:value` pairs with commas between them, which says itself how it was made: the key
comes from the secret by PBKDF2, with a salt, and AES encrypts the password. Java counts its length
in units of UTF-16. Read is what Kafka writes by default, in CBC, and what it writes in GCM; of the
ciphers that it could be told to use besides, none.

Pure: random bytes are handed in.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import pbkdf2_hmac
from typing import Any, Final, NamedTuple

from odradek.config.kinds import Secret
from odradek.config.rows.security import CBC, GCM, KEY_FACTORIES
from odradek.model.errors import InvalidSetting
from odradek.security.extra import needed

DIGESTS: Final = {it: it.removeprefix("PBKDF2WithHmac").lower() for it in KEY_FACTORIES}
KEY_FACTORY: Final = "PBKDF2WithHmacSHA512"
KEY_BITS: Final = (128, 192, 256)
ITERATIONS_MAX: Final = 1_000_000  # half a second of the loop: nothing of ZooKeeper costs more
SALT_BYTES: Final = 256
BLOCK_BYTES: Final = 16
NONCE_BYTES: Final = 12  # of GCM
TAG_BITS: Final = 128
_WHY: Final = "password.encoder.secret"


class Way(NamedTuple):
    """How a password is encrypted; the defaults are Kafka's."""

    cipher: str = CBC
    key_factory: str = KEY_FACTORY
    key_bits: int = 128
    iterations: int = 4_096


class NotDecoded(Exception):
    """A text that is no password, or was made with another secret."""


def encode(password: str, secret: Secret, way: Way, random: Callable[[int], bytes]) -> str:
    """As Kafka would write it."""
    salt = random(SALT_BYTES)
    vector = random(NONCE_BYTES if way.cipher == GCM else BLOCK_BYTES)
    key = _key(secret, way, salt)
    found = {
        "keyFactoryAlgorithm": way.key_factory,
        "cipherAlgorithm": way.cipher,
        "keyLength": str(way.key_bits),
        "salt": b64encode(salt).decode(),
        "iterations": str(way.iterations),
        "encryptedPassword": b64encode(_encrypted(way, key, vector, password.encode())).decode(),
        "passwordLength": str(_java_length(password)),
        "initializationVector": b64encode(vector).decode(),
    }
    if way.cipher == GCM:
        found["authenticationTagLength"] = str(TAG_BITS)
    return ",".join(f"{name}:{value}" for name, value in found.items())


def decode(text: str, secret: Secret) -> str:
    """The password; `NotDecoded` says why there is none."""
    said = dict(it.strip().rpartition(":")[::2] for it in text.split(","))
    try:
        way = Way(
            said["cipherAlgorithm"],
            said.get("keyFactoryAlgorithm", KEY_FACTORY),
            int(said["keyLength"]),
            int(said["iterations"]),
        )
        salt, vector, sealed = (
            b64decode(said[it], validate=True)
            for it in ("salt", "initializationVector", "encryptedPassword")
        )
        length = int(said["passwordLength"])
    except (KeyError, ValueError):
        raise NotDecoded("it is not encrypted as Kafka does") from None
    if (fault := fault_of(way)) is not None:
        raise NotDecoded(fault)
    try:
        password = _decrypted(way, _key(secret, way, salt), vector, sealed).decode()
    except (ValueError, needed("cryptography.exceptions", _WHY).InvalidTag):
        raise NotDecoded("it was encrypted with another secret") from None
    if _java_length(password) != length:
        raise NotDecoded("it was encrypted with another secret")
    return password


def fault_of(way: Way) -> str | None:
    """Why passwords are not encrypted in this way here."""
    if way.cipher not in {CBC, GCM}:
        return f"cipher {way.cipher[:40]} is not known; {CBC} and {GCM} are"
    if way.key_factory not in DIGESTS:
        return f"{way.key_factory[:40]} makes no keys here; {', '.join(DIGESTS)} do"
    if way.key_bits not in KEY_BITS:
        return f"AES has no keys of {way.key_bits} bits"
    if not 1 <= way.iterations <= ITERATIONS_MAX:
        return f"{way.iterations} iterations are out of bounds"
    return None


def check(secret: Secret, way: Way) -> None:
    """InvalidSetting says why it could not be used."""
    if (fault := fault_of(way)) is not None:
        raise InvalidSetting(f"password.encoder: {fault}")
    decode(encode("", secret, way, bytes), secret)


def _java_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _key(secret: Secret, way: Way, salt: bytes) -> bytes:
    digest = DIGESTS[way.key_factory]
    return pbkdf2_hmac(digest, secret.value.encode(), salt, way.iterations, way.key_bits // 8)


def _encrypted(way: Way, key: bytes, vector: bytes, plain: bytes) -> bytes:
    if way.cipher == GCM:
        sealed: bytes = _gcm(key).encrypt(vector, plain, None)
        return sealed
    padder = needed("cryptography.hazmat.primitives.padding", _WHY).PKCS7(8 * BLOCK_BYTES).padder()
    padded = padder.update(plain) + padder.finalize()
    encryptor = _cbc(key, vector).encryptor()
    block: bytes = encryptor.update(padded) + encryptor.finalize()
    return block


def _decrypted(way: Way, key: bytes, vector: bytes, sealed: bytes) -> bytes:
    if way.cipher == GCM:
        plain: bytes = _gcm(key).decrypt(vector, sealed, None)
        return plain
    decryptor = _cbc(key, vector).decryptor()
    padded = decryptor.update(sealed) + decryptor.finalize()
    paddings = needed("cryptography.hazmat.primitives.padding", _WHY)
    unpadder = paddings.PKCS7(8 * BLOCK_BYTES).unpadder()
    whole: bytes = unpadder.update(padded) + unpadder.finalize()
    return whole


def _cbc(key: bytes, vector: bytes) -> Any:
    ciphers = needed("cryptography.hazmat.primitives.ciphers", _WHY)
    modes = needed("cryptography.hazmat.primitives.ciphers.modes", _WHY)
    return ciphers.Cipher(ciphers.algorithms.AES(key), modes.CBC(vector))


def _gcm(key: bytes) -> Any:
    return needed("cryptography.hazmat.primitives.ciphers.aead", _WHY).AESGCM(key)
