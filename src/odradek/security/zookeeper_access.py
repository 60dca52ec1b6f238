"""How a process gets to ZooKeeper, by Kafka's settings: TLS, a name, and whose its znodes are."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from odradek.config.kinds import Secret
from odradek.model.errors import InvalidSetting
from odradek.security.certificates.tls_contexts import Read
from odradek.security.certificates.tls_settings import Store, TlsSettings, tls_settings
from odradek.security.jaas_file import name_and_password
from odradek.security.mechanisms.digest_md5 import DigestClient
from odradek.security.mechanisms.mechanism import NewClientMechanism

PREFIX: Final = "zookeeper."
JAAS_FILE: Final = "java.security.auth.login.config"
SET_ACL: Final = "zookeeper.set.acl"
NONCE_BYTES: Final = 16


class ZooKeeperAccess(NamedTuple):
    """The default: as anybody, to znodes that belong to everybody."""

    tls: TlsSettings | None = None
    credentials: tuple[str, Secret] | None = None
    protects: bool = False

    @property
    def is_named(self) -> bool:
        """Whether there is a name that znodes can belong to."""
        return self.credentials is not None or bool(self.tls and self.tls.key_store)

    def login(self, random_bytes: Callable[[int], bytes]) -> NewClientMechanism | None:
        """What makes one login after the other."""
        if self.credentials is None:
            return None
        name, password = self.credentials
        return lambda: DigestClient(name, password.value, nonce=random_bytes(NONCE_BYTES))


def zookeeper_access(texts: Mapping[str, str], read: Read) -> ZooKeeperAccess:
    """What these settings ask for; InvalidSetting says what cannot be had."""
    tls = _tls(texts) if texts.get("zookeeper.ssl.client.enable", "").lower() == "true" else None
    credentials = _credentials(texts, read)
    access = ZooKeeperAccess(tls, credentials, texts.get(SET_ACL, "").lower() == "true")
    if access.protects and not access.is_named:
        raise InvalidSetting(
            f"{SET_ACL}=true: znodes have no owner where the broker has no name in ZooKeeper: "
            "it needs a JAAS file with a section Client, or TLS with a certificate of its own"
        )
    return access


def _credentials(texts: Mapping[str, str], read: Read) -> tuple[str, Secret] | None:
    file = texts.get(JAAS_FILE)
    if not file or texts.get("zookeeper.sasl.client", "true").lower() == "false":
        return None
    where = f"{JAAS_FILE}={file}"
    try:
        data = read(file)
    except OSError as error:
        raise InvalidSetting(f"{where}: {error.strerror or error}") from None
    return name_and_password(data, texts.get("zookeeper.sasl.clientconfig", "Client"), where)


def _tls(texts: Mapping[str, str]) -> TlsSettings:
    named = {
        name.removeprefix(PREFIX): text
        for name, text in texts.items()
        if name.startswith(PREFIX + "ssl.")
    }
    if "ssl.protocol" in named:
        named.setdefault("ssl.enabled.protocols", named["ssl.protocol"])
    try:
        found = tls_settings(named)
    except InvalidSetting as error:
        raise InvalidSetting(f"{PREFIX}{error}") from None
    return found._replace(
        key_store=_of_zookeeper(found.key_store), trust_store=_of_zookeeper(found.trust_store)
    )


def _of_zookeeper(store: Store | None) -> Store | None:
    return None if store is None else store._replace(setting=PREFIX + store.setting)
