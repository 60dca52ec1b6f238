"""What follows from several settings together, for all who would otherwise work it out again."""

from odradek.config import derived, sources
from odradek.config.broker import BrokerConfig
from odradek.config.listeners import Listener, SecurityProtocol
from odradek.model.ids import NO_BROKER


def started(*settings: str) -> BrokerConfig:
    """A broker that began with these."""
    return sources.load(sources.from_overrides(["log.dirs=/a,/b", *settings]))[0]


def test_a_broker_has_one_number_under_two_names() -> None:
    """Either name gives it; without both it is drawn."""
    assert derived.broker_id(started()) == NO_BROKER
    assert derived.broker_id(started("broker.id=3")) == 3
    assert derived.broker_id(started("node.id=4")) == 4


def test_the_plural_comes_before_the_singular() -> None:
    """`log.dir` counts only where `log.dirs` is silent."""
    assert derived.log_dirs(started("log.dir=/c")) == ("/a", "/b")
    alone, _ = sources.load(sources.from_overrides(["log.dir=/c"]))
    assert derived.log_dirs(alone) == ("/c",)


def test_a_broker_that_names_no_ensemble_brings_its_own() -> None:
    """One file without `zookeeper.connect` is enough for a cluster of one machine."""
    assert derived.zookeeper_is_embedded(started())
    assert not derived.zookeeper_is_embedded(started("zookeeper.connect=a:2181"))
    both = started("zookeeper.connect=a:2181", "zookeeper.embedded=true")
    assert derived.zookeeper_is_embedded(both)


def test_the_embedded_tree_lies_beside_the_logs() -> None:
    """Unless it is put elsewhere."""
    assert derived.zookeeper_data_dir(started()) == "/a"
    elsewhere = started("zookeeper.embedded.data.dir=/c")
    assert derived.zookeeper_data_dir(elsewhere) == "/c"


def test_the_first_connection_takes_as_long_as_a_session() -> None:
    """Unless it is said otherwise."""
    assert derived.zookeeper_connection_timeout(started()) == 18_000
    assert derived.zookeeper_connection_timeout(started("zookeeper.connection.timeout.ms=5")) == 5


def test_a_broker_is_found_where_it_listens_unless_it_says_otherwise() -> None:
    """With `auto` clients are told something else, but other brokers need an address."""
    assert derived.advertised(started()) == (Listener("PLAINTEXT", "", 9092),)
    assert derived.advertised(started("advertised.listeners=auto")) == derived.advertised(started())
    assert derived.advertises_automatically(started("advertised.listeners=auto"))
    said = started("advertised.listeners=PLAINTEXT://a:1")
    assert derived.advertised(said) == (Listener("PLAINTEXT", "a", 1),)
    assert not derived.advertises_automatically(said)


def test_brokers_meet_at_the_listener_of_their_protocol_or_at_the_one_named() -> None:
    """Names are upper case, whatever was written."""
    assert derived.inter_broker_listener_name(started()) == "PLAINTEXT"
    named = started(
        "listeners=internal://:1",
        "listener.security.protocol.map=internal:PLAINTEXT",
        "inter.broker.listener.name=internal",
    )
    assert derived.inter_broker_listener_name(named) == "INTERNAL"
    (listener,) = derived.advertised(named)
    assert derived.security_protocol(named, listener) is SecurityProtocol.PLAINTEXT
