"""What a ZooKeeper server of ours asks of its clients: TLS, certificates, users."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.ensemble.kept_context import KeptContext
from odradek.ensemble.server import NewContext
from odradek.model.errors import InvalidSetting
from odradek.security.certificates.tls_contexts import Read, server_context
from odradek.security.certificates.tls_settings import tls_settings
from odradek.security.jaas_file import users_and_passwords

SECTION: Final = "Server"


class ServedNames(NamedTuple):
    """The default: nothing."""

    users: Mapping[str, str] | None = None
    context: NewContext | None = None
    asks_for_certificates: bool = False

    @property
    def are_required(self) -> bool:
        """Whether a client has to have one."""
        return self.users is not None or self.asks_for_certificates


def served_names(tls_texts: Mapping[str, str], jaas_file: str | None, read: Read) -> ServedNames:
    """By the names of listeners' settings of TLS, and a JAAS file."""
    users = None if jaas_file is None else _users(jaas_file, read)
    if "ssl.keystore.location" not in tls_texts:
        return ServedNames(users)
    settings = tls_settings(tls_texts)
    context = KeptContext(settings, read, server_context)
    return ServedNames(users, context, settings.client_auth == "required")


def _users(file: str, read: Read) -> Mapping[str, str] | None:
    try:
        data = read(file)
    except OSError as error:
        raise InvalidSetting(f"{file}: {error.strerror or error}") from None
    return users_and_passwords(data, SECTION, file)
