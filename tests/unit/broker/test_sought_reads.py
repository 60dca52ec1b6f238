"""A read for which memory does not know the way is forgotten with the fetch that waited for it."""

import weakref
from functools import partial

import pytest

from odradek.broker.fetching.sought_reads import SoughtRead, Wanted
from odradek.model.positions import Offset
from odradek.storage.compacting.compaction import Compaction, cleanable
from odradek.storage.dirs.log_dir import LogDir
from tests.unit.storage.partition import Partition
from tests.unit.storage.test_compaction import Compacted

WANTED = Wanted(Offset(0), Offset(1), bytes_max=100, at_least_one=True, names_aborted=False)


class Fetch:
    """One that keeps what was looked for, and the answer with its open files."""

    def __init__(self, sought: SoughtRead) -> None:
        self.sought = sought
        self.looked = 0

    def look(self) -> None:
        """Once it was read."""
        self.looked += 1


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("error", [None, OSError("it is gone")])
def test_a_fetch_that_was_answered_is_let_go_of(error: OSError | None) -> None:
    """It has the job, so the job must not have it any longer."""
    t = Partition()
    t.append("a")
    sought = SoughtRead(t.log, WANTED)
    fetch = Fetch(sought)
    kept = weakref.ref(fetch)
    sought.then(lambda *_: None, partial(fetch.look))
    if error is None:
        sought.run()
    sought.done(error)
    assert fetch.looked == 1
    del fetch
    assert kept() is None


def test_what_was_looked_for_before_a_compaction_is_not_believed_behind_it() -> None:
    """The new segment would have the file and the indexes of the old one, and lose what is kept."""
    t = Compacted()
    for number in range(20):
        t.append(f"{'same' if number < 15 else number}={number}")
    t.log.roll(t.now)
    t.write()
    t.commit()
    t.reopen(clean=True)
    t.commit()
    log_dir = LogDir(t.disk, t.failures)
    work = Compaction(log_dir, t.log, cleanable(t.log, Offset(0), t.now), t.now)
    for _ in work.steps():
        pass
    sought = SoughtRead(t.log, WANTED._replace(end=Offset(20)))
    sought.then(lambda *_: None, lambda: None)
    work.publish()
    sought.run()
    sought.done(None)
    assert sought.part_for(t.log, WANTED._replace(end=Offset(20))) is None
    assert [offset for offset, _ in t.records()] == [*range(14, 20)]
