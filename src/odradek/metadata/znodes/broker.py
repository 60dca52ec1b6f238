"""/brokers/ids/N: a broker that is alive, and where it is found. Ephemeral.

Its czxid is the broker's epoch. Version 2 brought endpoints, 3 the rack, 4 the protocols of the
listeners, 5 the features; all are read, 5 is written. `odradek` is a key of ours, which Kafka
ignores.
"""

import re
from typing import Final

from odradek.config.listeners import Listener, SecurityProtocol
from odradek.metadata.json_body import Body, Json, encoded, whole_number
from odradek.metadata.nouns import Broker, BrokerMark, Endpoint, VersionRange
from odradek.model.ids import BrokerId
from odradek.model.positions import NO_BROKER_EPOCH, BrokerEpoch
from odradek.model.units import Timestamp

VERSION: Final = 5
MARK: Final = "odradek"
PREFERRED: Final = "preferred_controller"
TRANSACTIONS: Final = "transaction.version"
NO_JMX_PORT: Final = -1
PORT_MAX: Final = 65535
FEATURE_VERSION_MAX: Final = (1 << 15) - 1

_ENDPOINT: Final = re.compile(
    r"(?P<listener>[^:/,\s]+)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>[0-9]{1,5})"
)


class BrokerIdsZnode:
    """The registered brokers: its children's names are their numbers."""

    PATH: Final = "/brokers/ids"

    @classmethod
    def decode_name(cls, name: str) -> BrokerId:
        """The broker that a child stands for."""
        return BrokerId(whole_number(f"{cls.PATH}/{name}", name))


class BrokerZnode:
    """One registration."""

    @staticmethod
    def path(broker: BrokerId) -> str:
        """Where the broker registers."""
        return f"{BrokerIdsZnode.PATH}/{broker}"

    @staticmethod
    def encode(broker: Broker, now: Timestamp) -> bytes:
        """`host` and `port` are for clients from before there were listeners: the plain one."""
        plain = next((at for at in broker.endpoints if not at.protocol), None)
        listeners = [Listener(at.listener, at.host, at.port) for at in broker.endpoints]
        rack = {} if broker.rack is None else {"rack": broker.rack}
        mark = broker.mark
        ours = {} if mark is None else {MARK: _encoded_mark(mark)}
        return encoded(
            {
                "features": {
                    name: {"min_version": versions.low, "max_version": versions.high}
                    for name, versions in broker.features
                },
                "listener_security_protocol_map": {
                    at.listener: at.protocol.name for at in broker.endpoints
                },
                "endpoints": list(map(str, listeners)),
                **rack,
                "jmx_port": NO_JMX_PORT,
                "port": plain.port if plain else -1,
                "host": plain.host if plain else None,
                "version": VERSION,
                "timestamp": str(now),
                **ours,
            }
        )

    @classmethod
    def decode(
        cls, broker: BrokerId, data: bytes | None, *, czxid: int = NO_BROKER_EPOCH
    ) -> Broker:
        """The broker as it registered, in any version."""
        body = Body.parse(cls.path(broker), data)
        first_version = body.integer("version", low=1) == 1
        return Broker(
            id=broker,
            endpoints=(_only_endpoint(body),) if first_version else _endpoints(body),
            rack=body.text("rack") if body.has("rack") else None,
            epoch=BrokerEpoch(czxid),
            features=_features(body),
            mark=_mark(body),
        )


def _only_endpoint(body: Body) -> Endpoint:
    port = body.integer("port", low=0, high=PORT_MAX)
    return Endpoint("PLAINTEXT", body.text("host"), port, SecurityProtocol.PLAINTEXT)


def _endpoints(body: Body) -> tuple[Endpoint, ...]:
    protocols = {}
    if body.has("listener_security_protocol_map"):
        named = body.body("listener_security_protocol_map")
        protocols = {name.upper(): named.text(name) for name in named.names()}
    found = tuple(_endpoint(body, text, protocols) for text in body.texts("endpoints"))
    if len({at.listener for at in found}) != len(found):
        body.refuse("endpoints", found, "one endpoint for each listener")
    return found


def _endpoint(body: Body, text: str, protocols: dict[str, str]) -> Endpoint:
    match = _ENDPOINT.fullmatch(text)
    if match is None or int(match["port"]) > PORT_MAX:
        body.refuse("endpoints", text, "LISTENER://host:port")
    listener = match["listener"].upper()
    protocol = protocols.get(listener, listener)  # without a map a listener is called as its own
    if protocol not in SecurityProtocol.__members__:
        body.refuse("listener_security_protocol_map", protocol, "a security protocol's name")
    return Endpoint(listener, match["host"], int(match["port"]), SecurityProtocol[protocol])


def _encoded_mark(mark: BrokerMark) -> dict[str, Json]:
    preferred: dict[str, Json] = {PREFERRED: 1} if mark.is_preferred else {}
    known: dict[str, Json] = {TRANSACTIONS: level} if (level := mark.transaction_version) else {}
    return {"host": mark.host, "bound": list(mark.bound), **preferred, **known}


def _mark(body: Body) -> BrokerMark | None:
    if not body.has(MARK):
        return None
    mark = body.body(MARK)
    is_preferred = mark.has(PREFERRED) and mark.integer(PREFERRED, low=0, high=1) == 1
    level = mark.integer(TRANSACTIONS, low=0) if mark.has(TRANSACTIONS) else 0
    return BrokerMark(mark.text("host"), tuple(mark.texts("bound")), is_preferred, level)


def _features(body: Body) -> tuple[tuple[str, VersionRange], ...]:
    if not body.has("features"):
        return ()
    features = body.body("features")
    return tuple((name, _supported(features.body(name))) for name in features.names())


def _supported(feature: Body) -> VersionRange:
    low = feature.integer("min_version", low=0, high=FEATURE_VERSION_MAX)
    return VersionRange(low, feature.integer("max_version", low=low, high=FEATURE_VERSION_MAX))
