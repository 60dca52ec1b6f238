"""Many writes become few requests, none of which is too large."""

from odradek.model.units import Bytes
from odradek.zookeeper.client.address import Chroot
from odradek.zookeeper.client.packing import packed
from odradek.zookeeper.protocol.jute_requests import Check, Multi, SetData, WriteOp, framed_request

GUARD = Check("/controller_epoch", 7)


def writes(count: int, size: int = 10) -> list[WriteOp]:
    """So many."""
    return [SetData(f"/brokers/{i}", bytes(size), i) for i in range(count)]


def unpacked(multis: list[Multi]) -> list[WriteOp]:
    """What is in them, behind the guard."""
    return [operation for multi in multis for operation in multi.ops if operation != GUARD]


def test_the_count_is_bounded() -> None:
    """So that one multi does not keep the server from everybody else."""
    multis = list(packed(writes(450)))
    assert [len(multi.ops) for multi in multis] == [200, 200, 50]
    assert unpacked(multis) == writes(450)


def test_every_multi_is_guarded() -> None:
    """A controller that was replaced can write none of them."""
    multis = list(packed(writes(5), guard=[GUARD], operations_max=2))
    assert [multi.ops[0] for multi in multis] == [GUARD] * 3
    assert unpacked(multis) == writes(5)


def test_the_bytes_are_bounded_to_the_last_one() -> None:
    """As they go out: with headers, guard and chroot. One byte less of room, and one more multi."""
    chroot = "/kafka"
    whole = Multi((GUARD, *writes(20)))
    moved = Multi(tuple(op._replace(path=chroot + op.path) for op in whole.ops))
    size = len(framed_request(1, moved)) - 4
    for room, count in ((size, 1), (size - 1, 2)):
        more = Chroot(chroot).bytes_more
        multis = list(packed(writes(20), guard=[GUARD], bytes_more=more, bytes_max=Bytes(room)))
        assert len(multis) == count
        assert unpacked(multis) == writes(20)


def test_what_is_too_large_alone_stays_alone() -> None:
    """It is refused by the session, and takes no other with it."""
    small, large = writes(1), writes(1, size=2_000)
    multis = list(packed([*small, *large, *small], bytes_max=Bytes(1_000)))
    assert [unpacked([multi]) for multi in multis] == [small, large, small]


def test_nothing_is_no_request() -> None:
    """An empty multi would cost a transaction."""
    assert list(packed([], guard=[GUARD])) == []
