"""One contract, tried on pairs of client and server: ours, kazoo, and the real ZooKeeper.

Our client with a real server shows that the client is right; kazoo with a real server, that the
contract is; both with our server, that the server is.
"""

import pytest

from tests.compat.zookeeper_arena import Arena
from tests.compat.zookeeper_contract import (
    AccessContract,
    EphemeralContract,
    MultiContract,
    NodeContract,
    WatchContract,
)
from tests.compat.zookeeper_drivers import kazoos
from tests.compat.zookeeper_ours import OurZookeeper
from tests.compat.zookeeper_own_contract import (
    OrderContract,
    OtherNodesContract,
    PersistentWatchContract,
    SessionContract,
)
from tests.external.zookeeper import RealZookeeper


class BothContracts(NodeContract, EphemeralContract, WatchContract, MultiContract, AccessContract):
    """What every client can do."""


class OurContracts(
    BothContracts, OrderContract, PersistentWatchContract, SessionContract, OtherNodesContract
):
    """What ours can do besides."""


class TestOurClientOnARealServer(OurContracts):
    """The client against the truth."""

    @pytest.fixture
    def arena(self, real_zookeeper: RealZookeeper) -> Arena:
        """A root of its own for each test."""
        return Arena((real_zookeeper.host, real_zookeeper.port))


class TestKazooOnARealServer(BothContracts):
    """The contract against the truth."""

    @pytest.fixture
    def arena(self, real_zookeeper: RealZookeeper) -> Arena:
        """A root of its own for each test."""
        return Arena((real_zookeeper.host, real_zookeeper.port), kazoos)


class TestOurClientOnOurServer(OurContracts):
    """What a cluster without a real ensemble relies on."""

    @pytest.fixture
    def arena(self, our_zookeeper: OurZookeeper) -> Arena:
        """A root of its own for each test."""
        return Arena(our_zookeeper.address)


class TestKazooOnOurServer(BothContracts):
    """The server against another's client."""

    @pytest.fixture
    def arena(self, our_zookeeper: OurZookeeper) -> Arena:
        """A root of its own for each test."""
        return Arena(our_zookeeper.address, kazoos)
