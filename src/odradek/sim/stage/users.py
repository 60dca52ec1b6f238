"""Users in a conversation: brokers that ask for names, and clients that prove theirs.

Brokers speak SASL with PLAIN on two listeners, one of them their own; access rules are in force.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from odradek.client.admin import access_rules
from odradek.client.admin.access_rules import AccessRule
from odradek.client.cluster import ClientDeps, Cluster
from odradek.peers.login import Login
from odradek.peers.secured_network import Outgoing, SecuredNetwork
from odradek.security.mechanisms.plain import PlainClient
from odradek.sim.stage.broker_machine import PORT, name_of
from odradek.sim.stage.clients import Client
from odradek.sim.stage.world import World

BROKERS_PORT: Final = 9_093
ROOT: Final = "root"
"""May do everything, as brokers may."""
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def settings_with_users(*users: str) -> dict[str, str]:
    """Of all brokers; everybody's password is the name."""
    known = " ".join(f'user_{it}="{it}"' for it in (*users, ROOT))
    return {
        "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,BROKERS:SASL_PLAINTEXT",
        "inter.broker.listener.name": "BROKERS",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": f"{_PLAIN} {known};",
        "listener.name.brokers.plain.sasl.jaas.config": (
            f'{_PLAIN} username="broker" password="broker" user_broker="broker";'
        ),
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": f"User:broker;User:{ROOT}",
    }


def listeners(count: int) -> Mapping[int, Mapping[str, str]]:
    """Of each broker."""
    text = "CLIENTS://{0}:{1},BROKERS://{0}:{2}"
    return {
        number: {"listeners": text.format(name_of(number), PORT, BROKERS_PORT)}
        for number in range(1, count + 1)
    }


class User(Client):
    """A client that has proven its name; its bootstrap decides which brokers it begins with."""

    def __init__(self, world: World, name: str, brokers: Sequence[int], machine: str = "") -> None:
        bootstrap = [(name_of(number), PORT) for number in brokers]
        super().__init__(world, machine or name, bootstrap)
        login = Login("PLAIN", lambda: PlainClient(name, name))
        network = SecuredNetwork(self.machine.network, Outgoing(login=login))
        self.cluster = Cluster(ClientDeps(network, self.machine.clock), bootstrap, name)

    def allows(self, *rules: AccessRule) -> None:
        """Adds them."""
        self.does(access_rules.create(self.cluster, rules))
