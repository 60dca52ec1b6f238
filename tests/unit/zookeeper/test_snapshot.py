"""Snapshots and transactions on their way to the journal and back; what lies is refused."""

import pytest

from odradek.ports import Entry
from odradek.zookeeper.protocol.codes import MalformedPacket
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity
from odradek.zookeeper.tree import snapshot
from odradek.zookeeper.tree.database import Database
from odradek.zookeeper.tree.transactions import (
    AclSet,
    DataSet,
    NodeCreated,
    NodeDeleted,
    SessionClosed,
    SessionOpened,
    Transaction,
)
from odradek.zookeeper.tree.tree import CONTAINER, NodeChange, Tree, ttl_owner

ACL = (Acl(31, Identity("digest", "anna:x=")), *OPEN_ACL)
TRANSACTION = Transaction(
    9,
    1_700_000_000_000,
    (
        NodeCreated("/ä", None, ACL, -5),
        NodeDeleted("/b"),
        DataSet("/c", b"1", 7),
        AclSet("/d", ACL, 3),
        SessionOpened(1 << 56, 10_000, b"p" * 16),
        SessionClosed(1 << 56),
    ),
)


def rich() -> Database:
    """A database with one of everything."""
    database = Database()
    tree = database.tree
    database.sessions.replay_opened(SessionOpened(77, 5_000, b"p" * 16))
    changes: list[NodeChange] = [
        NodeCreated("/a", b"1", OPEN_ACL, 0),
        NodeCreated("/a/e", None, ACL, 77),
        NodeCreated("/a/c", b"", OPEN_ACL, CONTAINER),
        NodeCreated("/a/t", b"", OPEN_ACL, ttl_owner(1_000)),
        DataSet("/a", b"22", 1),
    ]
    for zxid, change in enumerate(changes, start=1):
        tree.apply(change, zxid, 1_700_000_000_000 + zxid)
    database.zxid = 5
    return database


def test_a_transaction_comes_back() -> None:
    """Every kind of change is read as it was written."""
    assert Transaction.decode(9, TRANSACTION.encode()) == TRANSACTION


def test_a_transaction_that_is_cut_or_too_long_is_refused() -> None:
    """The checksum is the journal's business, but nothing is believed without being read."""
    data = TRANSACTION.encode()
    for end in range(len(data)):
        with pytest.raises(MalformedPacket):
            Transaction.decode(9, data[:end])
    with pytest.raises(MalformedPacket, match="too many"):
        Transaction.decode(9, data + b"x")
    with pytest.raises(MalformedPacket, match="format"):
        Transaction.decode(9, b"\7" + data[1:])


def test_a_snapshot_comes_back_with_all_its_indexes() -> None:
    """The tree that comes of it is the tree that it was taken from."""
    database = rich()
    again = Database.restore(list(snapshot.encode(database.state())), [])
    assert again.state() == database.state()
    for name in ("ephemerals", "containers", "ttls", "bytes"):
        assert getattr(again.tree, name) == getattr(database.tree, name)
    for path, node in database.tree.nodes.items():
        assert sorted(again.tree.nodes[path].children) == sorted(node.children)
        assert again.tree.nodes[path].stat() == node.stat()


def test_a_snapshot_is_not_changed_by_what_happens_later() -> None:
    """It is a view of one moment, taken without waiting."""
    database = rich()
    rows = list(snapshot.encode(database.state()))
    state = database.state()
    database.tree.apply(DataSet("/a", b"333", 2), 6, 0)
    database.tree.apply(NodeCreated("/a/new", b"", OPEN_ACL, 0), 7, 0)
    assert list(snapshot.encode(state)) == rows


def test_a_view_holds_nothing_that_is_written_down() -> None:
    """It keeps alive what was replaced meanwhile: not the whole of it until the last row."""
    state = rich().state()
    held = [len(state.nodes) for _ in snapshot.encode(state)]
    assert held[0] > 0
    assert held[-1] == 0


def test_equal_parts_of_nodes_are_one_object() -> None:
    """A hundred thousand partitions were made in few transactions, and their children are alike."""
    database = Database()
    for number in range(3):
        for path in (f"/{number}", f"/{number}/state"):
            database.tree.apply(NodeCreated(path, None, OPEN_ACL, 0), 1 << 40, 1 << 41)
    again = Database.restore(list(snapshot.encode(database.state())), []).tree.nodes
    nodes = [again[f"/{number}"] for number in range(3)]
    for field in ("czxid", "mzxid", "pzxid", "ctime", "mtime", "children"):
        assert len({id(getattr(node, field)) for node in nodes}) == 1, field


@pytest.mark.parametrize("missing", range(5))
def test_a_snapshot_with_a_row_missing_is_refused(missing: int) -> None:
    """Whichever it is: first, sessions, ACLs, nodes or the end."""
    rows = list(snapshot.encode(rich().state()))
    assert len(rows) == 5
    del rows[missing]
    with pytest.raises(MalformedPacket):
        snapshot.decode(rows, Tree())


def test_a_snapshot_with_a_row_cut_is_refused() -> None:
    """Wherever it is cut, in whichever row."""
    rows = list(snapshot.encode(rich().state()))
    for number, row in enumerate(rows):
        for end in range(len(row)):
            with pytest.raises(MalformedPacket):
                snapshot.decode([*rows[:number], row[:end], *rows[number + 1 :]], Tree())


def test_no_rows_are_no_snapshot() -> None:
    """A journal that has none yet begins with an empty tree."""
    assert snapshot.decode([], Tree()) is None
    assert Database.restore([], []).zxid == 0


def test_a_transaction_that_is_missing_is_found() -> None:
    """The numbers have no gaps; a journal that has one was damaged."""
    one = Transaction(1, 0, (NodeCreated("/a", b"", OPEN_ACL, 0),)).encode()
    three = Transaction(3, 0, (NodeCreated("/b", b"", OPEN_ACL, 0),)).encode()
    with pytest.raises(MalformedPacket, match="0x2 is missing"):
        Database.restore([], [Entry(1, one), Entry(3, three)])


def test_a_transaction_that_does_not_fit_is_refused() -> None:
    """It changes a node that is not there: it belongs to another history."""
    stray = Transaction(1, 0, (DataSet("/a", b"", 1),)).encode()
    with pytest.raises(MalformedPacket, match="does not fit"):
        Database.restore([], [Entry(1, stray)])


def test_transactions_that_the_snapshot_has_are_passed_over() -> None:
    """A crash between the two leaves some of them behind."""
    database = rich()
    rows = list(snapshot.encode(database.state()))
    old = Transaction(5, 0, (DataSet("/a", b"22", 1),)).encode()
    new = Transaction(6, 0, (DataSet("/a", b"333", 2),)).encode()
    again = Database.restore(rows, [Entry(5, old), Entry(6, new)])
    assert (again.zxid, again.tree.nodes["/a"].data) == (6, b"333")
