"""What the server knows: the tree and the sessions, up to one transaction.

Only `apply` changes it, live and in replay alike, so a restart is no other path. Live, a
transaction is applied as soon as it was decided and before it is durable: what is read from here
may not be told to any client before the journal has it, up to `zxid`.
"""

from collections.abc import Iterable

from odradek.ports import Entry
from odradek.zookeeper.protocol.codes import MalformedPacket
from odradek.zookeeper.tree import snapshot
from odradek.zookeeper.tree.sessions import Sessions
from odradek.zookeeper.tree.transactions import Change, SessionClosed, SessionOpened, Transaction
from odradek.zookeeper.tree.tree import Touched, Tree


class Database:
    """Tree and sessions."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.sessions = Sessions()
        self.zxid = 0  # the last transaction that is in here

    @classmethod
    def restore(cls, rows: Iterable[bytes], entries: Iterable[Entry]) -> "Database":
        """From a snapshot and the transactions after it; `MalformedPacket` where they lie."""
        database = cls()
        found = snapshot.decode(rows, database.tree)
        if found is not None:
            database.zxid, sessions = found
            for session in sessions:
                database.sessions.replay_opened(session)
        for entry in entries:
            if entry.zxid <= database.zxid:
                continue  # the snapshot has it already
            if entry.zxid != database.zxid + 1:
                raise MalformedPacket(
                    f"the transaction {database.zxid + 1:#x} is missing before {entry.zxid:#x}"
                )
            database.replay(Transaction.decode(entry.zxid, entry.data))
        return database

    def replay(self, transaction: Transaction) -> None:
        """Carries out what the journal says; `MalformedPacket` where it does not fit."""
        try:
            for change in transaction.changes:
                self.apply(change, transaction.zxid, transaction.time)
        except (LookupError, ValueError) as error:
            raise MalformedPacket(
                f"the transaction {transaction.zxid:#x} does not fit what came before it"
            ) from error
        self.zxid = transaction.zxid

    def apply(self, change: Change, zxid: int, time: int) -> list[Touched]:
        """Carries one change out, and says what it touched."""
        if isinstance(change, SessionOpened):
            self.sessions.replay_opened(change)
            return []
        if isinstance(change, SessionClosed):
            self.sessions.replay_closed(change.session_id)
            return [
                self.tree.delete(path, zxid)
                for path in list(self.tree.ephemerals.get(change.session_id, ()))
            ]
        return [self.tree.apply(change, zxid, time)]

    def state(self) -> snapshot.State:
        """A view of everything, for a snapshot: what happens later does not change it."""
        sessions = tuple(
            SessionOpened(session.id, session.timeout, session.password)
            for session in self.sessions.open.values()
        )
        return snapshot.State(self.zxid, sessions, dict(self.tree.nodes))
