"""The log against a list, and the compacted log against a dictionary."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Bytes, Millis, Timestamp
from odradek.storage.compacting.compaction import Compaction, cleanable
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.errors import OffsetOutOfRange
from odradek.storage.logs.retention import DeleteJob
from odradek.storage.logs.truncation import truncate_to
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import Partition

CONFIG = LogConfig(segment_bytes=Bytes(400), index_interval_bytes=Bytes(90))
COMPACT = LogConfig(
    segment_bytes=Bytes(400),
    index_interval_bytes=Bytes(90),
    delete=False,
    compact=True,
    delete_retention_ms=Millis(0),
)
VALUES = st.lists(st.text("abc", max_size=30), min_size=1, max_size=4)


class LogAgainstList(RuleBasedStateMachine):
    """Every record at its offset: whatever is done to the log is done to a list of batches."""

    @initialize()
    def begin(self) -> None:
        """Both are empty."""
        self.t = Partition(CONFIG)
        self.model: list[tuple[int, list[str]]] = []  # base offset and values of each batch
        self.start = 0

    @property
    def end(self) -> int:
        """Behind the last batch."""
        return self.model[-1][0] + len(self.model[-1][1]) if self.model else self.start

    @rule(values=VALUES)
    def append(self, values: list[str]) -> None:
        """One batch."""
        base = self.end
        assert self.t.append(*values).base_offset == base
        self.model.append((base, values))

    @rule(runs=st.lists(VALUES, min_size=2, max_size=5))
    def append_in_one_turn(self, runs: list[list[str]]) -> None:
        """Several batches, one job."""
        for values in runs:
            self.model.append((self.end, values))
            self.t.decide(*values)
        self.t.write()

    @rule()
    def next_epoch(self) -> None:
        """Another leadership."""
        self.t.epoch = LeaderEpoch(self.t.epoch + 1)

    @rule(clean=st.booleans(), flush=st.booleans())
    def restart(self, *, clean: bool, flush: bool) -> None:
        """The process ends, and another one finds everything."""
        if flush:
            self.t.flush()
        self.t.reopen(clean=clean)
        assert not self.t.loaded.repair

    @precondition(lambda self: self.end > self.start)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        """From the end, to any offset: whole batches go."""
        offset = data.draw(st.integers(self.start, self.end))
        truncate_to(self.t.log, Offset(offset), self.t.now)
        while self.model and self.end > offset:
            self.model.pop()
        self.start = min(self.start, self.t.log.log_end_offset)

    @precondition(lambda self: self.end > self.start)
    @rule(data=st.data())
    def move_start(self, data: st.DataObject) -> None:
        """From the start, to any offset."""
        self.t.commit()
        self.start = data.draw(st.integers(self.start, self.end))
        DeleteJob(self.t.log, Offset(self.start)).run()

    @rule()
    def roll(self) -> None:
        """A new segment, for no reason."""
        self.t.log.roll(self.t.now)
        job = self.t.log.take_job()
        if job is not None:
            job.run()
            job.publish()

    @invariant()
    def they_agree(self) -> None:
        """Every offset between start and end, and none beside them."""
        log = self.t.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        expected = [
            (base + number, value)
            for base, values in self.model
            for number, value in enumerate(values)
            if base + number >= self.start
        ]
        assert self.t.records() == expected
        for offset in (self.start - 1, self.end + 1):
            with pytest.raises(OffsetOutOfRange):
                log.read(Offset(offset), Offset(self.end), 100)
        epochs = log.epochs.entries
        assert list(epochs) == sorted(set(epochs))


class LogAgainstDict(RuleBasedStateMachine):
    """A reader who reads all that is left ends with the same table as one who read everything."""

    @initialize()
    def begin(self) -> None:
        """Both are empty."""
        self.t = Partition(COMPACT)
        self.model: dict[str, str] = {}
        self.offsets: dict[int, str] = {}
        self.cleaned = Offset(0)

    @rule(
        pairs=st.lists(
            st.tuples(st.sampled_from("abcdefg"), st.text("xyz", max_size=9)).map("=".join),
            min_size=1,
            max_size=4,
        )
    )
    def put(self, pairs: list[str]) -> None:
        """Some keys get a value, or lose theirs."""
        base = self.t.append(*pairs).base_offset
        for number, pair in enumerate(pairs):
            key, _, value = pair.partition("=")
            self.offsets[base + number] = pair
            self.model[key] = value

    @rule(late=st.booleans())
    def compact(self, *, late: bool) -> None:
        """Rolls first, so that all can be compacted."""
        t = self.t
        t.now = Timestamp(t.now + late)
        t.log.roll(t.now)
        job = t.log.take_job()
        if job is not None:
            job.run()
            job.publish()
        t.commit()
        t.flush()
        found = cleanable(t.log, self.cleaned, t.now)
        log_dir = LogDir(t.disk, t.failures)
        work = Compaction(log_dir, t.log, found, t.now)
        for _ in work.steps():
            pass
        work.publish()
        self.cleaned = work.end
        below = [pair for offset, pair in t.records() if offset < work.end]
        keys = [pair.partition("=")[0] for pair in below]
        assert len(keys) == len(set(keys)), "one record a key"

    @rule(clean=st.booleans())
    def restart(self, *, clean: bool) -> None:
        """The gaps are no losses."""
        self.t.flush()
        self.t.reopen(clean=clean)
        assert not self.t.loaded.repair

    @invariant()
    def they_agree(self) -> None:
        """Offsets rise, no record changed its place or its value, and the table is the same."""
        table: dict[str, str] = {}
        last = -1
        for offset, pair in self.t.records():
            assert offset > last
            assert self.offsets[offset] == pair
            last = offset
            key, _, value = pair.partition("=")
            table[key] = value
        alive = {key: value for key, value in self.model.items() if value}
        assert {key: value for key, value in table.items() if value} == alive


LIMITS = settings(max_examples=40, stateful_step_count=20, deadline=None)
LogAgainstList.TestCase.settings = LIMITS
LogAgainstDict.TestCase.settings = LIMITS
TestLogAgainstList = LogAgainstList.TestCase
TestLogAgainstDict = LogAgainstDict.TestCase
