"""Whatever is asked and however time jumps: the journal, a snapshot and memory know the same.

`RESTARTS=100:140` in the environment tries other seeds.
"""

import os
from random import Random
from typing import Final

import pytest

from odradek.model.units import Millis, Timestamp
from odradek.zookeeper.protocol.jute_requests import CloseSession, Create, CreateTtl
from odradek.zookeeper.server.settings import ServerSettings
from odradek.zookeeper.tree.database import Database
from odradek.zookeeper.tree.quotas import LIMITS, QUOTA, STATS
from tests.samples.zookeeper import World
from tests.samples.zookeeper_imagination import SESSIONS, Imagination, Leave, Reconnect, Turn

FIRST, LAST = map(int, os.environ.get("RESTARTS", "0:40").split(":"))
TURNS: Final = 300
SETTINGS: Final = ServerSettings(container_interval=Millis(1_000))


class Wild(Imagination):
    """Quotas come to its mind too."""

    def path(self) -> str:
        """Sometimes of a quota, of which some are on nothing."""
        path = super().path()
        if self.chance.random() < 0.85:
            return path
        return QUOTA + self.chance.choice(("", path)) + self.chance.choice(("", LIMITS, STATS))

    def data(self) -> bytes | None:
        """Sometimes that of a quota."""
        bound = self.chance.choice((-1, 5, 400))
        limits = b"count=-1,bytes=-1=;byteHardLimit=%d;countHardLimit=%d" % (bound, bound)
        return self.chance.choice((super().data(), super().data(), b"count=2,bytes=20", limits))


def known(database: Database) -> tuple[object, ...]:
    """All that a database knows, in an order of its own."""
    tree, sessions = database.tree, database.sessions.open
    return (
        database.zxid,
        {
            path: node._replace(children=tuple(sorted(node.children)))
            for path, node in tree.nodes.items()
        },
        {session.id: session.password for session in sessions.values()},
        {owner: set(paths) for owner, paths in tree.ephemerals.items()},
        tree.bytes,
        *map(set, (tree.containers, tree.ttls, tree.quotas)),
    )


def pass_time(world: World, chance: Random) -> None:
    """A little, as ever; or the machine was suspended, and its clock may have been set."""
    if chance.random() < 0.7:
        world.wait(chance.choice((100, 1_500, 3_000)))
        return
    stall = chance.choice((5_000, 30_000, 120_000))
    world.monotonic = Millis(world.monotonic + stall)
    world.wall = Timestamp(world.wall + chance.choice((stall, stall, 0, -5_000, 10 * stall)))
    world.server.tick(world.moment)
    world.settle()


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_a_restart_forgets_nothing_and_invents_nothing(seed: int) -> None:
    """Nodes, sessions, and every index over them."""
    mind = Wild(seed)
    chance = mind.chance
    world = World(SETTINGS)
    clients = [world.client() for _ in range(SESSIONS)]
    for path in (mind.root, f"{QUOTA}{mind.root}", f"{QUOTA}{mind.root}/a"):
        clients[0].ask(Create(path, b""))
    for number in range(TURNS):
        who, turn = chance.randrange(SESSIONS), soon_over(mind.turn(1), chance)
        if clients[who].hung_up is not None:
            clients[who] = world.client()
        match turn:
            case Reconnect():
                clients[who].leave()
                clients[who] = world.client()
            case Leave():
                clients[who].ask(CloseSession())
            case request:
                clients[who].send(request)
        if chance.random() < 0.07:
            pass_time(world, chance)
        if number % 50 == 49:
            live = known(world.server.database)
            assert known(world.restart().server.database) == live
            assert known(world.restart_from_snapshot().server.database) == live
    assert world.server.database.zxid > TURNS // 10, "it went as it was meant to"


def soon_over(turn: Turn, chance: Random) -> Turn:
    """Nodes with a TTL shall live to see their end."""
    if isinstance(turn, CreateTtl) and turn.ttl > 0:
        return turn._replace(ttl=chance.choice((1, 500, 3_000, 60_000)))
    return turn
