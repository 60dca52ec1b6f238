"""The login module of a listener for a mechanism: of a setting, or of the JAAS file that is named.

As in Kafka the setting comes first, then the file's section of the listener, then `KafkaServer`. By
the same module brokers log in to each other. The file is read once.
"""

from odradek.config.broker import BrokerConfig
from odradek.config.rows.zookeeper_security import JAVA_SECURITY_AUTH_LOGIN_CONFIG
from odradek.config.secured import jaas_setting, jaas_text
from odradek.model.errors import InvalidSetting
from odradek.security.certificates.tls_contexts import Read
from odradek.security.jaas import CLASSES, LoginModule, parse_jaas
from odradek.security.jaas_file import entry_of

SECTION = "KafkaServer"


class LoginModules:
    """Of one broker."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._files: dict[str, bytes] = {}

    def find(self, config: BrokerConfig, listener: str, mechanism: str) -> LoginModule | None:
        """None: neither has it."""
        text = jaas_text(config, listener, mechanism)
        if text is not None:
            return parse_jaas(text, mechanism, jaas_setting(listener, mechanism))
        file = config[JAVA_SECURITY_AUTH_LOGIN_CONFIG]
        if file is None:
            return None
        names = (f"{listener.lower()}.{SECTION}", SECTION)
        return entry_of(self._content(file), names, CLASSES[mechanism], _where(file))

    def need(
        self, config: BrokerConfig, listener: str, mechanism: str, without: str
    ) -> LoginModule:
        """InvalidSetting says what cannot be done without it."""
        found = self.find(config, listener, mechanism)
        if found is None:
            file = config[JAVA_SECURITY_AUTH_LOGIN_CONFIG]
            of_file = f", or {CLASSES[mechanism]} in section {SECTION} of {file}" if file else ""
            setting = jaas_setting(listener, mechanism)
            raise InvalidSetting(f"{setting}: {without}: set it{of_file}")
        return found

    def _content(self, file: str) -> bytes:
        if file not in self._files:
            try:
                self._files[file] = self._read(file)
            except OSError as error:
                raise InvalidSetting(f"{_where(file)}: {error.strerror or error}") from None
        return self._files[file]


def _where(file: str) -> str:
    return f"{JAVA_SECURITY_AUTH_LOGIN_CONFIG.name}={file}"
