"""`kill -9` of the ZooKeeper server at any moment: nothing that was answered is lost.

Each seed is a history of several lives. In each life a client takes up its session again, checks
that the server's tree is what some prefix of its requests makes, no shorter than what was answered,
and then sends bursts of writes; among the answers to the last the server is killed.
`KILLS=3000:3010` in the environment tries other seeds; a seed's choices are the same in every run,
the moment of death is not.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

import pytest

from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute import OPEN_ACL, Packets, framed
from odradek.zookeeper.protocol.jute_replies import (
    Children,
    Connected,
    Data,
    reply_body,
    reply_header,
)
from odradek.zookeeper.protocol.jute_requests import (
    OPS,
    Connect,
    Create,
    Delete,
    GetChildren,
    GetData,
    Multi,
    Request,
    SetData,
    WriteOp,
    framed_request,
)

LIVES: Final = 5
FIRST, LAST = map(int, os.environ.get("KILLS", "0:12").split(":"))
NAMES: Final = [f"/n{number}" for number in range(12)]

Tree = dict[str, tuple[bytes | None, int]]  # data and version


class Nursery:
    """Where servers come from."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.zookeeper_nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": "src:."},
            text=True,
        )

    def server(self, directory: Path) -> tuple[int, int]:
        """A new one: its process and its port."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{directory}\n")
        self._process.stdin.flush()
        pid, port = self._process.stdout.readline().split()
        assert int(pid), "the server does not start again"
        return int(pid), int(port)

    def close(self) -> None:
        """No more."""
        self._process.communicate()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """One for all seeds."""
    nursery = Nursery()
    yield nursery
    nursery.close()


class Client:
    """A blocking one, that says what it likes and counts what comes back."""

    def __init__(self, port: int, connect: Connect) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._packets = Packets()
        self._arrived: list[bytes] = []
        self._socket.sendall(framed(connect.body()))
        (packet,) = self.receive(1)
        self.connected = Connected.decode(packet)

    def ask(self, request: Request) -> object:
        """A request and its answer."""
        self.send([request])
        (packet,) = self.receive(1)
        assert reply_header(packet).error == 0, (request, reply_header(packet))
        return reply_body(OPS[type(request)], packet)

    def send(self, requests: Sequence[Request]) -> None:
        """All at once; their numbers are their places."""
        self._socket.sendall(b"".join(framed_request(n, each) for n, each in enumerate(requests)))

    def receive(self, count: int) -> list[bytes]:
        """So many packets, or fewer if the server is gone."""
        while len(self._arrived) < count:
            try:
                chunk = self._socket.recv(65_536)
            except ConnectionError:
                break
            if not chunk:
                break
            self._arrived += self._packets.feed(chunk)
        taken, self._arrived = self._arrived[:count], self._arrived[count:]
        return taken

    def close(self) -> None:
        """Leaves without a word."""
        self._socket.close()


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_nothing_answered_is_lost(seed: int, tmp_path: Path, nursery: Nursery) -> None:
    """Whenever the server dies, what it said is there when it comes back, and in order."""
    chance = Random(seed)
    possible: list[Tree] = [{}]  # after each request since the last life that was checked
    session = Connect(0, 40_000)
    for _ in range(LIVES):
        pid, port = nursery.server(tmp_path)
        client = Client(port, session)
        connected = client.connected
        assert connected.session_id, "the session that was promised is gone"
        session = session._replace(session_id=connected.session_id, password=connected.password)
        found = tree_of(client)
        assert found in possible, f"{found} is no prefix of {possible}"
        sent, after = requests(chance, found, chance.randrange(1, 150))
        answered = 0
        while sent:
            burst = [sent.pop(0) for _ in range(min(len(sent), chance.randrange(1, 40)))]
            client.send(burst)
            if not sent:  # the last ones may or may not happen
                answered += len(client.receive(chance.randrange(len(burst) + 1)))
                os.kill(pid, signal.SIGKILL)
            answered += len(client.receive(len(burst)))
        client.close()
        possible = [found, *after][answered:]


def requests(chance: Random, tree: Tree, count: int) -> tuple[list[Request], list[Tree]]:
    """Writes that succeed one behind the other, and the tree after each."""
    sent: list[Request] = []
    trees: list[Tree] = []
    for _ in range(count):
        tree = dict(tree)
        ops = [write(chance, tree) for _ in range(chance.choice((1, 1, 1, 3)))]
        sent.append(ops[0] if len(ops) == 1 else Multi(tuple(ops)))
        trees.append(tree)
    return sent, trees


def write(chance: Random, tree: Tree) -> WriteOp:
    """One write that succeeds, carried out on the tree as well."""
    name = chance.choice(NAMES)
    data = chance.choice((None, b"", b"x" * chance.randrange(300)))
    if name not in tree:
        tree[name] = (data, 0)
        mode = chance.choice((CreateMode.PERSISTENT, CreateMode.EPHEMERAL))
        return Create(name, data, OPEN_ACL, mode)
    version = tree[name][1]
    if chance.random() < 0.3:
        del tree[name]
        return Delete(name, version)
    tree[name] = (data, version + 1)
    return SetData(name, data, version)


def tree_of(client: Client) -> Tree:
    """What the server has."""
    children = client.ask(GetChildren("/"))
    assert isinstance(children, Children)
    tree: Tree = {}
    for name in children.names:
        if name != "zookeeper":
            found = client.ask(GetData(f"/{name}"))
            assert isinstance(found, Data)
            tree[f"/{name}"] = (found.data, found.stat.version)
    return tree
