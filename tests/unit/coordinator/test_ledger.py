"""Hard state: what the log says, transactions included."""

from odradek.coordinator.decision import Entry
from odradek.coordinator.groups.ledger import Ledger
from odradek.coordinator.groups.values import CommittedOffset, OffsetKey
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import Timestamp

KEY = OffsetKey("g", TopicPartition("orders", 0))
ONE, TWO = ProducerId(1), ProducerId(2)


def at(number: int) -> CommittedOffset:
    """A position."""
    return CommittedOffset(Offset(number), None, "", Timestamp(0))


def wrote(ledger: Ledger, offset: int, number: int | None, producer: ProducerId | None) -> None:
    """A record at this offset says this position."""
    value = None if number is None else at(number)
    ledger.replay(Offset(offset), Entry(KEY, value, producer))


def test_a_position_within_a_transaction_counts_from_its_commit_on() -> None:
    """Until then it is undecided, and afterwards the last record of the log stands."""
    ledger = Ledger()
    wrote(ledger, 0, 5, None)
    wrote(ledger, 1, 6, ONE)
    assert (ledger.find(KEY), ledger.undecided(KEY)) == (at(5), True)
    ledger.replay_end(ONE, committed=True)
    assert (ledger.find(KEY), ledger.undecided(KEY)) == (at(6), False)


def test_a_position_of_an_aborted_transaction_never_was() -> None:
    """Nor does the end of a transaction that wrote none do anything."""
    ledger = Ledger()
    wrote(ledger, 0, 6, ONE)
    ledger.replay_end(TWO, committed=True)
    ledger.replay_end(ONE, committed=False)
    assert ledger == Ledger()


def test_a_plain_commit_behind_the_transactions_stands() -> None:
    """The order of the records counts, not that of their decisions."""
    ledger = Ledger()
    wrote(ledger, 0, 6, ONE)
    wrote(ledger, 1, 7, None)
    ledger.replay_end(ONE, committed=True)
    assert ledger.find(KEY) == at(7)


def test_a_tombstone_takes_away_what_is_undecided_too() -> None:
    """A deleted offset shall not come back with the end of a transaction."""
    ledger = Ledger()
    wrote(ledger, 0, 6, ONE)
    wrote(ledger, 1, None, None)
    ledger.replay_end(ONE, committed=True)
    assert not ledger.knows("g")
    assert not ledger.undecided_of("g")
