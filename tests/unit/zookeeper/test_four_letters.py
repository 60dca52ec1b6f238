"""The four-letter words: laid out as monitoring tools read them, and only if they are allowed."""

import pytest

from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Create, GetData
from odradek.zookeeper.server.four_letters import WORDS
from odradek.zookeeper.server.settings import ServerSettings
from tests.samples.zookeeper import World

ALL = ServerSettings(four_letter_words=frozenset({"*"}))


def asked(world: World, word: bytes) -> str:
    """What comes back; the connection is closed after it."""
    client = world.client(greets=False)
    client.say(word[:1])
    client.say(word[1:])
    assert client.hung_up is not None
    return client.raw.decode()


def busy() -> World:
    """A server with something to tell."""
    world = World(ALL)
    client = world.client()
    client.ask(Create("/e", b"1", OPEN_ACL, CreateMode.EPHEMERAL))
    client.ask(GetData("/e", watch=True))
    return world


@pytest.mark.parametrize("word", sorted(WORDS - {b"srvr"}))
def test_only_srvr_is_answered_unless_told_otherwise(word: bytes) -> None:
    """As in ZooKeeper: the words come without a session and without a permission."""
    refusal = f"{word.decode()} is not executed because it is not in the whitelist.\n"
    assert asked(World(), word) == refusal
    assert asked(World(), b"srvr").startswith("Zookeeper version: 3.9")


def test_are_you_ok() -> None:
    """The shortest answers, without even a line end."""
    assert asked(World(ALL), b"ruok") == "imok"
    assert asked(World(ALL), b"isro") == "rw"


def test_srvr_and_stat() -> None:
    """Line by line what tools look for; stat adds the clients."""
    text = asked(busy(), b"srvr")
    for line in ("Connections: 2", "Outstanding: 0", "Zxid: 0x2", "Mode: standalone"):
        assert line in text.splitlines()
    assert "Node count: 5" in text
    assert " /127.0.0.1:50000[1](queued=0,recved=3,sent=3)" in asked(busy(), b"stat").splitlines()


def test_mntr_is_a_table() -> None:
    """Keys and values with a tab between them, as Prometheus exporters read it."""
    values = dict(line.split("\t") for line in asked(busy(), b"mntr").splitlines())
    assert values["zk_server_state"] == "standalone"
    assert values["zk_znode_count"] == "5"
    assert values["zk_watch_count"] == values["zk_ephemerals_count"] == "1"


def test_cons_and_dump_tell_of_sessions() -> None:
    """Who is connected, which session it is, what is its own."""
    world = busy()
    session = f"{1 << 56 | 1:#x}"
    assert f"sid={session},lop=GET_DATA" in asked(world, b"cons")
    assert f"{session}:\n\t/e\n" in asked(world, b"dump")


def test_the_words_for_watches() -> None:
    """How many there are; by session; by path."""
    world = busy()
    session = f"{1 << 56 | 1:#x}"
    assert asked(world, b"wchs") == "1 connections watching 1 paths\nTotal watches:1\n\n"
    assert asked(world, b"wchc") == f"{session}\n\t/e\n\n"
    assert asked(world, b"wchp") == f"/e\n\t{session}\n\n"


def test_conf_and_envi() -> None:
    """What an operator set, and which version this claims to be."""
    assert "tickTime=2000\n" in asked(World(ALL), b"conf")
    assert "zookeeper.version=3.9" in asked(World(ALL), b"envi")
