"""From settings to how listeners and brokers prove their names: mechanisms, users, certificates."""

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Final

from odradek.broker.network.certificates import Certificates
from odradek.broker.network.login import ListenerSecurity, ListenersSecurity
from odradek.broker.network.login_modules import LoginModules
from odradek.broker.network.token_keys import TokenKeys
from odradek.broker.settings import Settings
from odradek.config.broker import BrokerConfig
from odradek.config.derived import inter_broker_listener_name
from odradek.config.listeners import HAS_SASL, HAS_TLS, SecurityProtocol
from odradek.config.rows import network as rows
from odradek.config.rows import security as security_rows
from odradek.config.rows import tokens
from odradek.config.secured import between_brokers, jaas_setting, on, protocol_of
from odradek.metadata.znodes.settings import user_entity
from odradek.model.errors import InvalidSetting
from odradek.peers.login import Login, token_login
from odradek.peers.secured_network import Outgoing
from odradek.peers.token_source import TokenSource
from odradek.ports import Random
from odradek.security.certificates.certificate_names import parse_rules
from odradek.security.certificates.tls_contexts import Read
from odradek.security.client_settings import client_mechanism
from odradek.security.errors import AuthenticationFailed
from odradek.security.jaas import OAUTHBEARER, PLAIN
from odradek.security.mechanisms.mechanism import NewServerMechanism, ServerMechanism
from odradek.security.mechanisms.oauth import OAuthClient, OAuthServer
from odradek.security.mechanisms.plain import PlainServer
from odradek.security.mechanisms.scram import SCRAMS, Scram, ScramCredential
from odradek.security.mechanisms.scram_server import ScramServer
from odradek.security.mechanisms.server_exchange import Offer
from odradek.security.token_endpoint import TokenEndpoint, token_endpoint

NONCE_BYTES: Final = 24


class Authentication:
    """Of one broker; a listener that speaks PLAINTEXT needs none of it."""

    def __init__(
        self,
        settings: Settings,
        random: Random,
        certificates: Certificates,
        *,
        read: Read,
        keys: TokenKeys,
        new_source: Callable[[TokenEndpoint], TokenSource] | None = None,
    ) -> None:
        self._settings = settings
        self._random = random
        self._certificates = certificates
        self._modules = LoginModules(read)
        self._keys = keys
        self._new_source = new_source
        self._source: TokenSource | None = None  # of the token that this broker shows
        self.secret = b""  # the same on all brokers of a cluster: for users who do not exist

    def listeners(self, config: BrokerConfig) -> ListenersSecurity:
        """How each is secured that is; InvalidSetting says what is wrong."""
        names = [listener.name for listener in config[rows.LISTENERS]]
        return {
            name: self._listener(config, name)
            for name in names
            if protocol_of(config, name) is not SecurityProtocol.PLAINTEXT
        }

    def check(self, config: BrokerConfig) -> None:
        """InvalidSetting says what would keep a broker from starting."""
        self.listeners(config)
        if between_brokers(config) is not SecurityProtocol.PLAINTEXT:
            self.outgoing(config)

    def _listener(self, config: BrokerConfig, name: str) -> ListenerSecurity:
        protocol = protocol_of(config, name)
        return ListenerSecurity(
            self._certificates.server(name) if protocol in HAS_TLS else None,
            parse_rules(on(config, name, security_rows.SSL_PRINCIPAL_MAPPING_RULES)),
            self._offer(config, name) if protocol in HAS_SASL else None,
            on(config, name, security_rows.SASL_SERVER_MAX_RECEIVE_SIZE),
        )

    def _offer(self, config: BrokerConfig, name: str) -> Offer:
        enabled = on(config, name, security_rows.SASL_ENABLED_MECHANISMS)
        found = {mechanism: self._mechanism(config, name, mechanism) for mechanism in enabled}
        return Offer(found, on(config, name, security_rows.CONNECTIONS_MAX_REAUTH_MS) or None)

    def _mechanism(self, config: BrokerConfig, name: str, mechanism: str) -> NewServerMechanism:
        if mechanism == PLAIN:
            module = self._modules.need(config, name, mechanism, "no client could log in")
            return partial(PlainServer, module.users)
        if mechanism == OAUTHBEARER:
            return partial(OAuthServer, self._keys.check(config, name))
        self._modules.find(config, name, mechanism)  # a mistake in it is found at the start
        return partial(self._scram, SCRAMS[mechanism])

    def _scram(self, scram: Scram) -> ServerMechanism:
        nonce = self._random.bytes(NONCE_BYTES)
        lookup = partial(self.credential, scram)
        return ScramServer(scram, lookup, secret=self.secret, nonce=nonce)

    def credential(self, scram: Scram, name: str) -> ScramCredential | None:
        """Of a user, as ZooKeeper has it."""
        text = self._settings.overrides(user_entity(name)).get(scram.name)
        return None if text is None else ScramCredential.parse(text)

    def outgoing(self, config: BrokerConfig) -> Outgoing:
        """How this broker connects to others."""
        listener = inter_broker_listener_name(config)
        protocol = protocol_of(config, listener)
        return Outgoing(
            self._certificates.client(listener) if protocol in HAS_TLS else None,
            self._login(config, listener) if protocol in HAS_SASL else None,
        )

    def _login(self, config: BrokerConfig, listener: str) -> Login:
        mechanism = config[security_rows.SASL_MECHANISM_INTER_BROKER_PROTOCOL]
        setting = jaas_setting(listener, mechanism)
        if mechanism == OAUTHBEARER:
            return self._token_login(config, listener, setting)
        module = self._modules.need(config, listener, mechanism, "brokers could not log in")
        return Login(mechanism, client_mechanism(mechanism, module, setting, self._random.bytes))

    def _token_login(self, config: BrokerConfig, listener: str, setting: str) -> Login:
        url = on(config, listener, tokens.SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL)
        module = self._modules.find(config, listener, OAUTHBEARER)
        endpoint = token_endpoint(url, module, setting)
        if self._new_source is None:  # it is only looked whether it could be
            return Login(OAUTHBEARER, partial(OAuthClient, "none"))
        if self._source is None:
            self._source = self._new_source(endpoint)
        return token_login(OAUTHBEARER, self._source)

    async def ready(self, config: BrokerConfig) -> None:
        """At a start, where brokers show tokens: InvalidSetting says why there is none."""
        if between_brokers(config) in HAS_SASL:
            login = self.outgoing(config).login
            if login is not None and login.source is not None:
                try:
                    await login.source.ready()
                except AuthenticationFailed as error:
                    raise InvalidSetting(str(error)) from None

    def belong_to(self, config: BrokerConfig, cluster_id: str) -> None:
        """Makes the secret of what all brokers know and a stranger does not: their own password.

        Where brokers use none among themselves, it is the cluster's id.
        """
        listener = inter_broker_listener_name(config)
        mechanism = config[security_rows.SASL_MECHANISM_INTER_BROKER_PROTOCOL]
        has_password = mechanism in {PLAIN, *SCRAMS}
        module = self._modules.find(config, listener, mechanism) if has_password else None
        password = module.credentials[1] if module is not None and module.credentials else ""
        self.secret = sha256(f"{cluster_id}\0{password}".encode()).digest()
