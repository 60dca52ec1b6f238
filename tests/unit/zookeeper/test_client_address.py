"""Where the ensemble is, read from what an operator wrote."""

import pytest

from odradek.model.errors import InvalidSetting
from odradek.zookeeper.client.address import Ensemble, shuffled


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("zk", [("zk", 2181)], ""),
        ("zk:2182", [("zk", 2182)], ""),
        ("a:1, b ,c:3", [("a", 1), ("b", 2181), ("c", 3)], ""),
        ("a:1,b:2/kafka/one", [("a", 1), ("b", 2)], "/kafka/one"),
        ("a:1/", [("a", 1)], ""),
        ("[::1]:2182,[fe80::1]", [("::1", 2182), ("fe80::1", 2181)], ""),
        ("10.0.0.1:2181", [("10.0.0.1", 2181)], ""),
    ],
)
def test_a_connect_string(text: str, servers: list[tuple[str, int]], chroot: str) -> None:
    """Hosts with or without a port, and what is behind the first slash is the chroot."""
    assert Ensemble.parse(text) == Ensemble(tuple(servers), chroot)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "/kafka",
        "a:0",
        "a:65536",
        "a:x",
        "a:-1",
        "a:1:2",
        ":2181",
        "a:²",
        "[::1",
        "[::1]x",
        "a/kafka/",
        "a//kafka",
        "a/kafka/../x",
    ],
)
def test_a_connect_string_that_means_nothing(text: str) -> None:
    """It is refused before anything is dialled, and quoted in the message."""
    with pytest.raises(InvalidSetting) as refused:
        Ensemble.parse(text)
    assert repr(text) in str(refused.value)


def test_every_order_of_servers_is_as_likely_as_the_others() -> None:
    """Clients share the load: each choice of the door leads to another order, and to all."""
    servers = [("a", 1), ("b", 2), ("c", 3)]
    orders = {
        shuffled(servers, Chosen([first, second])) for first in range(3) for second in range(2)
    }
    assert len(orders) == 6
    assert all(sorted(order) == servers for order in orders)


class Chosen:
    """A Random door that draws what the test wants."""

    def __init__(self, draws: list[int]) -> None:
        self._draws = draws

    def below(self, bound: int) -> int:
        """The next one, which must be possible."""
        draw = self._draws.pop(0)
        assert draw < bound
        return draw

    def bytes(self, count: int) -> bytes:
        """Nobody asks."""
        raise NotImplementedError
