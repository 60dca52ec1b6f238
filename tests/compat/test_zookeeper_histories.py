"""What several clients see, while their connections break, has one order of transactions.

`HISTORIES=100:140` in the environment tries other seeds.
"""

import asyncio
import os
from collections.abc import Callable

import pytest

from odradek.zookeeper.protocol.jute import Stat
from tests.compat.zookeeper_arena import SECONDS_MAX, Arena
from tests.compat.zookeeper_histories import Heard, History, Read
from tests.compat.zookeeper_ours import OurZookeeper
from tests.compat.zookeeper_workload import Workload
from tests.external.zookeeper import RealZookeeper

FIRST, LAST = map(int, os.environ.get("HISTORIES", "0:3").split(":"))


class Histories:
    """Several runs on one server."""

    @pytest.mark.parametrize("seed", range(FIRST, LAST))
    def test_one_order_explains_what_all_have_seen(self, arena: Arena, seed: int) -> None:
        """Through cut connections and lost answers; and events come before their effects."""
        workload = Workload(seed)

        async def bounded() -> None:
            async with asyncio.timeout(SECONDS_MAX):
                await workload.run(arena)

        asyncio.run(bounded())
        workload.history.explain()
        heard = sum(isinstance(item, Heard) for item in workload.history.log)
        assert min(workload.faults, workload.unknown, heard) > 0, "a run that did nothing"


class TestHistoriesOfARealServer(Histories):
    """Our client is right, and so are the rules."""

    @pytest.fixture
    def arena(self, real_zookeeper: RealZookeeper) -> Arena:
        """A root of its own for each run."""
        return Arena((real_zookeeper.host, real_zookeeper.port))


class TestHistoriesOfOurServer(Histories):
    """And so is our server."""

    @pytest.fixture
    def arena(self, our_zookeeper: OurZookeeper) -> Arena:
        """A root of its own for each run."""
        return Arena(our_zookeeper.address)


# The rules themselves: each forged history breaks one.


def stat(zxid: int, version: int) -> Stat:
    """Of a node that was written by this transaction."""
    return Stat(1, zxid, 0, 0, version, 0, 0, 0, 0, 0, 1)


class Forged(History):
    """A history that is told one line at a time."""

    def wrote(
        self, zxid: int, version: int, data: bytes, *, wanted: int = -1, client: int = 1
    ) -> None:
        """A write that succeeded."""
        write = self.begin(client, {"/a": data}, {"/a": wanted})
        self.end(write, {"/a": stat(zxid, version)})

    def saw(
        self, zxid: int, version: int, data: bytes, *, client: int = 1, watch: bool = False
    ) -> None:
        """A read that succeeded."""
        began, ended = self.now(), self.now()
        self.read(Read(client, "/a", began, ended, data, stat(zxid, version), watch=watch))

    def refused(self, data: bytes, *, unknown: bool = False) -> None:
        """A write that did not succeed."""
        self.end(self.begin(1, {"/a": data}, {"/a": -1}), None, refused=not unknown)


def test_a_good_history_is_explained() -> None:
    """An unknown outcome may be either; an event comes first."""
    h = Forged()
    h.saw(1, 0, b"", watch=True)
    h.wrote(2, 1, b"x", client=2)
    h.heard(1, "/a")
    h.saw(2, 1, b"x")
    h.refused(b"y", unknown=True)
    h.refused(b"z", unknown=True)
    h.saw(4, 2, b"z")
    h.refused(b"no")
    h.wrote(7, 4, b"w", wanted=3)
    h.explain()


def breaks_rule_1() -> Forged:
    """One version, two contents."""
    h = Forged()
    h.wrote(2, 1, b"x")
    h.saw(2, 1, b"y")
    return h


def breaks_rule_1_in_time() -> Forged:
    """A later version by an earlier transaction."""
    h = Forged()
    h.wrote(9, 1, b"x")
    h.saw(8, 2, b"y")
    return h


def breaks_rule_2() -> Forged:
    """What was refused is there."""
    h = Forged()
    h.refused(b"x")
    h.saw(2, 1, b"x")
    return h


def breaks_rule_2_by_a_stranger() -> Forged:
    """A version that nobody can have written."""
    h = Forged()
    h.wrote(3, 2, b"x")
    return h


def breaks_rule_2_by_repeating() -> Forged:
    """One write was done twice."""
    h = Forged()
    h.refused(b"x", unknown=True)
    h.saw(2, 1, b"x")
    h.saw(3, 2, b"x")
    return h


def breaks_rule_3() -> Forged:
    """A condition did not hold."""
    h = Forged()
    h.wrote(2, 1, b"x", wanted=0)
    h.wrote(3, 2, b"y", wanted=0)
    return h


def breaks_rule_4() -> Forged:
    """A read shows what was replaced before it began."""
    h = Forged()
    h.saw(1, 0, b"")
    h.wrote(2, 1, b"x")
    h.saw(1, 0, b"", client=2)
    return h


def breaks_rule_4_by_another_node() -> Forged:
    """A transaction was seen at one node; an older state of another is seen later."""
    h = Forged()
    h.wrote(2, 1, b"x", client=3)
    h.writes[0].ended = 1 << 50
    h.read(Read(1, "/b", h.now(), h.now(), b"", stat(5, 0)))
    h.saw(1, 0, b"")
    return h


def breaks_rule_5() -> Forged:
    """Half a multi."""
    h = Forged()
    write = h.begin(1, {"/a": b"x", "/b": b"x"}, {"/a": -1, "/b": -1})
    h.end(write, None)
    h.saw(2, 1, b"x")
    h.refused(b"y", unknown=True)
    h.read(Read(1, "/b", h.now(), h.now(), b"x", stat(3, 1)))
    return h


def breaks_rule_6() -> Forged:
    """New data without an event."""
    h = Forged()
    h.saw(1, 0, b"", watch=True)
    h.wrote(2, 1, b"x", client=2)
    h.saw(2, 1, b"x")
    h.heard(1, "/a")
    return h


@pytest.mark.parametrize(
    "forge",
    [
        breaks_rule_1,
        breaks_rule_1_in_time,
        breaks_rule_2,
        breaks_rule_2_by_a_stranger,
        breaks_rule_2_by_repeating,
        breaks_rule_3,
        breaks_rule_4,
        breaks_rule_4_by_another_node,
        breaks_rule_5,
        breaks_rule_6,
    ],
)
def test_a_forged_history_is_found_out(forge: Callable[[], Forged]) -> None:
    """By the rule that it breaks: a check that lets it pass would let a bug pass."""
    number = forge.__name__.split("_")[2]
    with pytest.raises(AssertionError, match=f"rule {number}"):
        forge().explain()
