"""Rules of transactions turned into wrong ones, each of which the promises must notice.

The last one is no rule: in version 1 a late EndTxn cannot be told from one of this transaction.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from odradek.broker.handlers import transactions, write_txn_markers
from odradek.broker.partitions.replicas.confirmations import Question, Told
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.coordinator.decision import Call, Turn
from odradek.coordinator.groups.ledger import Ledger
from odradek.coordinator.transactions import ending, machine
from odradek.coordinator.transactions.requests import EndTransaction
from odradek.coordinator.transactions.values import Identity
from odradek.model.errors import ErrorCode
from odradek.records.control import EPOCH_FOR_EACH_SINCE, EndMarker
from odradek.sim.simulation import Knob
from odradek.sim.worlds.transactions import delays as transaction_delays
from odradek.storage.logs import log
from odradek.storage.logs.producers import ProducerState, check_marker
from odradek.storage.logs.reading import ReadableLog


def _at_once(ledger: Any, key: Any, recorded: Any, producer: Any) -> None:
    """Offsets of a transaction count before its end."""
    del producer
    ledger.offsets.setdefault(key.subject, {})[key.partition] = recorded


def _counted(row: Any, place: int, error: Any) -> None:
    """A marker counts once its leader has it."""
    del place
    row.on_end(ErrorCode.NONE if error is None else error.code)


def _of_any_coordinator(entry: Any, header: Any, marker: EndMarker, version: int = 0) -> None:
    known = -1 if entry is None else entry.coordinator_epoch
    check_marker(entry, header, EndMarker(marker.committed, known), version)


_confirm = LeadingReplica.confirm


def _once(led: Any, question: Question, told: Told, questions: Any) -> Callable[[], None]:
    """What was confirmed once holds for the whole leadership."""
    kept = vars(questions).setdefault("kept", set())
    about = (led.partition, led.leader_epoch, question)
    if about in kept:
        questions.timers.after(0, lambda: told(ErrorCode.NONE))
        return lambda: None

    def hear(code: ErrorCode) -> None:
        if not code:
            kept.add(about)
        told(code)

    return _confirm(led, question, hear, questions)


def _by_the_level(all_: Any, call: Call, turn: Turn) -> None:
    """Who speaks version 2, and has not heard that the level has fallen, speaks version 1."""
    if all_.outside.level() < EPOCH_FOR_EACH_SINCE:
        call = replace(call, request=replace(call.request, version=0))
    ending.end(all_, call, turn)


def _only_open(producers: Any) -> Any:
    return next(iter(producers.open_transactions), None)


MISTAKES: Final[Mapping[str, Knob]] = {
    "offsets-before-the-marker": Knob(Ledger, "_note", _at_once),
    "a-beginning-fences-nobody": Knob(Identity, "fenced", lambda identity: identity),
    "stable-up-to-the-high-watermark": Knob(
        ReadableLog, "last_stable_offset", property(lambda log: log.high_watermark)
    ),
    "stable-from-the-append-of-a-marker": Knob(
        ProducerState, "first_unstable_offset", property(_only_open)
    ),
    "a-marker-counts-before-it-is-committed": Knob(write_txn_markers._Row, "on_written", _counted),  # noqa: SLF001 - the wrong rule
    "markers-of-any-coordinator-epoch": Knob(log, "check_marker", _of_any_coordinator),
    "nothing-is-verified": Knob(transactions, "is_asked", lambda _, question: question.adds),
    "a-confirmation-is-kept": Knob(LeadingReplica, "confirm", _once),
    "an-end-is-of-the-version-of-the-level": Knob(
        machine, "RULES", {**machine.RULES, EndTransaction: _by_the_level}
    ),
    "version-1-takes-late-ends": Knob(
        transaction_delays, "LATE_IN_V1", transaction_delays.LATE_IN_V2
    ),
}
"""By name."""
