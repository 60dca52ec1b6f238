"""Ids that expire: no transaction is open, and none was for `transactional.id.expiration.ms`."""

from collections.abc import Iterator

from odradek.coordinator.decision import Decision, Entry, Moment, Turn
from odradek.coordinator.transactions.settings import SWEEP_IDS, SWEEP_PAUSE_MS
from odradek.coordinator.transactions.transactions import SWEEP, Transactions, Written
from odradek.coordinator.transactions.values import TransactionKey
from odradek.model.units import Millis


def sweep(all_: Transactions, now: Moment) -> Iterator[Decision]:
    """Looks at some ids, and sets the timer for the next ones or for the next round."""
    if not all_.to_sweep:
        all_.to_sweep = list(all_.known)
    part = all_.to_sweep[-SWEEP_IDS:]
    del all_.to_sweep[-SWEEP_IDS:]
    interval = all_.settings.sweep_interval
    wait = min(SWEEP_PAUSE_MS, interval) if all_.to_sweep else interval
    all_.timers.set(SWEEP, Millis(now.monotonic + wait))
    for subject in part:
        found = all_.known.get(subject)
        if (
            found is not None
            and found.state.is_at_rest
            and found.updated_at + all_.settings.id_expiration <= now.wall
            and not all_.is_in_flight(subject)
        ):
            turn = Turn(now)
            turn.records.append(Entry(TransactionKey(subject), None))
            turn.note = Written(subject)
            yield turn.decision()
