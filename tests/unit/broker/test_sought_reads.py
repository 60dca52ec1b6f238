"""A read for which memory does not know the way is forgotten with the fetch that waited for it."""

import weakref
from functools import partial

import pytest

from odradek.broker.fetching.sought_reads import SoughtRead, Wanted
from odradek.model.positions import Offset
from tests.unit.storage.partition import Partition

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
