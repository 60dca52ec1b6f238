"""What a log promises those who read and write transactions; see `ledger` for what is true."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from odradek.model.ids import TopicPartition
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.log.keeper_transactions import FoundBatch
from odradek.sim.worlds.log.ledger import Ledger

Records = list[tuple[int, str, str]]


class Told(NamedTuple):
    """An event, with the truth of its log."""

    ledger: Ledger
    what: str
    where: str
    details: list[Any]


class OfLedgers(Invariant):
    """What is promised of each log in which no bit has turned."""

    def __init__(self, ledgers: Mapping[TopicPartition, Ledger]) -> None:
        self._ledgers = ledgers

    def on(self, event: Event) -> None:
        """Compares it with the truth."""
        partition, *details = event.details
        ledger = self._ledgers[partition]
        if not ledger.is_spoilt:
            self.judge(Told(ledger, event.what, str(partition), details))

    def judge(self, told: Told) -> None:
        """Asserts."""
        raise NotImplementedError


class WhatIsDurableIsFound(OfLedgers):
    """A log that opens again has what was durable, nothing that was deleted, and no inventions."""

    watches: ClassVar = frozenset({"ledger.reopened", "ledger.cut"})

    def judge(self, told: Told) -> None:
        """And a cut one ends where it was cut."""
        if told.what == "ledger.cut":
            offset, end = told.details
            assert offset == end, f"{told.where} was cut at {offset}, and ends at {end}"
        else:
            wrong = told.details[2]
            assert not wrong, f"{told.where}: {wrong}"


class OffsetsAreGivenOnce(OfLedgers):
    """A batch gets offsets that no batch before it has."""

    watches: ClassVar = frozenset({"ledger.wrote"})

    def judge(self, told: Told) -> None:
        """In their order."""
        end, batches = told.details
        for batch in batches:
            assert batch.base >= end, f"{told.where}: {batch} begins below {end}"
            end = batch.last + 1


class ReadersStayBelowTheirEnd(OfLedgers):
    """A reader gets what was written, in order, all of it, and nothing beyond its end."""

    watches: ClassVar = frozenset({"ledger.read", "ledger.misread"})

    def judge(self, told: Told) -> None:
        """Of a compacted log not all."""
        assert told.what == "ledger.read", f"{told.where}: {told.details[0]}"
        start, upto, found = told.details[0], told.details[1], told.details[7]
        if upto <= start:
            assert not found, f"{told.where} from {start} below {upto}: {found}"
            return
        bases = [batch.identity[0] for batch in found]
        beyond = [base for base in bases if base >= upto]
        assert not beyond, f"{told.where} from {start} below {upto}: batches at {beyond}"
        assert bases == sorted(set(bases)), f"{told.where} from {start} below {upto}: {bases}"
        written = [
            batch.identity
            for batch in told.ledger.batches
            if batch.last >= start and batch.base < upto
        ]
        known = dict.fromkeys(written)
        invented = [batch.identity for batch in found if batch.identity not in known]
        assert not invented, f"{told.where}: nobody wrote {invented}"
        if not told.ledger.config.compact:
            got = dict.fromkeys(batch.identity for batch in found)
            missing = [it for it in written if it not in got and it[1] < upto]
            assert not missing, f"{told.where} from {start} below {upto}: {missing} are withheld"


class LastStableOffsetsAreTrue(OfLedgers):
    """The last stable offset is where the oldest transaction begins that is not ended for good."""

    watches: ClassVar = frozenset({"ledger.read"})

    def judge(self, told: Told) -> None:
        """No ended one is open again, and no open one has ended."""
        _, _, start, high_watermark, last_stable, *_ = told.details
        low, high = told.ledger.last_stable(high_watermark, start)
        bounds = f"from {start} to {high_watermark}"
        assert low <= last_stable <= high, (
            f"{told.where} {bounds}: {last_stable}, not {low} to {high}"
        )


class CommittedRecordsAreShown(OfLedgers):
    """A reader of committed records gets these, and nothing of open or aborted transactions."""

    watches: ClassVar = frozenset({"ledger.read"})

    def judge(self, told: Told) -> None:
        """Of a compacted log the newest of each key."""
        start, upto, _, _, last_stable, _, aborted, found = told.details
        if upto > last_stable:
            return
        shown = _shown(found, aborted, start)
        committed = told.ledger.committed()
        promised = [record for record in committed if start <= record[0] < upto]
        known = dict.fromkeys(promised)
        wrong = [record for record in shown if record not in known]
        assert not wrong, f"{told.where} from {start} below {upto}: {wrong} are not committed"
        if told.ledger.config.compact:
            newest = {
                key: (offset, value)
                for offset, key, value in committed
                if start <= offset < max(upto, told.ledger.compacted)
            }
            bounds = range(told.ledger.doubtful, upto)
            promised = [(at, key, value) for key, (at, value) in newest.items() if at in bounds]
        got = dict.fromkeys(shown)
        whole = told.ledger.whole_below(
            upto
        )  # a high watermark of before a crash may be within one
        missing = [record for record in promised if record not in got and record[0] < whole]
        assert not missing, f"{told.where} from {start} below {upto}: {missing} are not shown"


def _shown(found: tuple[FoundBatch, ...], aborted: tuple[tuple[int, int], ...], at: int) -> Records:
    """What a client makes of batches, and of the transactions that it is told are aborted."""
    coming = sorted(aborted, key=lambda entry: entry[1])
    active: dict[int, bool] = {}
    shown: Records = []
    for batch in found:
        _, last, producer, *_ = batch.identity
        while coming and coming[0][1] <= last:
            active[coming.pop(0)[0]] = True
        if batch.is_control:
            if batch.committed is False:
                active.pop(producer, None)
        elif not (batch.transactional and producer in active):
            shown += [record for record in batch.records if record[0] >= at]
    return shown


class ProducersAreRecognised(OfLedgers):
    """A batch that is sent again is known, the next one taken, while the log has the last ones."""

    watches: ClassVar = frozenset({"ledger.resent", "ledger.refused"})

    def judge(self, told: Told) -> None:
        """Whatever has happened since."""
        if told.what == "ledger.resent":
            base, wrong = told.details
            assert not wrong, f"{told.where}: the batch at {base} was sent again: {wrong}"
        else:
            producer, is_known, why = told.details
            assert not is_known, f"{told.where} refuses the next batch of {producer}: {why}"


ALL: tuple[type[OfLedgers], ...] = (
    WhatIsDurableIsFound,
    OffsetsAreGivenOnce,
    ReadersStayBelowTheirEnd,
    LastStableOffsetsAreTrue,
    CommittedRecordsAreShown,
    ProducersAreRecognised,
)
