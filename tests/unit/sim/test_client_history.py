"""The checker of clients' histories catches each anomaly, and no history that could be true."""

from collections.abc import Callable

import pytest

from odradek.sim.client_history import ClientHistory

PLACE = ("orders", 0)
FLEETING = ("events", 0)


def history() -> ClientHistory:
    """A durable topic whose records are stored once, and one that is neither; three each."""
    told = ClientHistory(once={"orders"})
    told.sends("p", PLACE, ["a", "b", "c"])
    told.sends("q", FLEETING, ["x", "y", "z"])
    return told


def kinds(told: ClientHistory) -> list[str]:
    """What is wrong, in a word each."""
    return [anomaly.kind for anomaly in told.anomalies]


def test_a_history_that_could_be_true_is_let_alone() -> None:
    """Readers begin anew, a producer is not answered, and an answer comes after the reading."""
    told = history()
    told.acknowledged(PLACE, 5, ["a", "b"])
    told.seeks("r", PLACE, 4)
    told.polled("r", PLACE, [(5, "a"), (6, "b")])
    told.polled("r", PLACE, [(7, "c")])
    told.acknowledged(PLACE, 7, ["c"])
    told.seeks("r", PLACE, 5)
    told.polled("r", PLACE, [(5, "a")])
    told.end()
    assert told.anomalies == []


def test_who_reads_what_is_not_believed_is_not_followed() -> None:
    """Until it begins somewhere: what it has seen says nothing of where it stands."""
    told = history()
    told.acknowledged(PLACE, 5, ["a"])
    told.seeks("r", PLACE, 5)
    told.strays("r", PLACE)
    told.polled("r", PLACE, [(6, "b")])
    assert told.anomalies == []
    told.seeks("r", PLACE, 5)
    told.polled("r", PLACE, [(6, "b")])
    assert kinds(told) == ["skipped"]


def test_what_somebody_deletes_need_not_be_found() -> None:
    """Below where it is deleted; all that is above must be."""
    told = history()
    told.acknowledged(PLACE, 5, ["a", "b", "c"])
    told.deletes(PLACE, 6)
    told.audit(PLACE[0])
    told.seeks("r", PLACE, 6)
    told.polled("r", PLACE, [(7, "c")])
    told.end()
    assert kinds(told) == ["skipped", "lost"]


def _lost(told: ClientHistory) -> None:
    told.acknowledged(PLACE, 5, ["a"])
    told.seeks("r", PLACE, 6)
    told.polled("r", PLACE, [(6, "b")])


def _unseen(told: ClientHistory) -> None:
    told.acknowledged(PLACE, 5, ["a"])


def _duplicate(told: ClientHistory) -> None:
    told.seeks("r", PLACE, 5)
    told.polled("r", PLACE, [(5, "a"), (6, "a")])


def _duplicate_of_an_answer(told: ClientHistory) -> None:
    told.seeks("r", PLACE, 5)
    told.polled("r", PLACE, [(5, "a"), (6, "b")])
    told.acknowledged(PLACE, 6, ["a"])


def _reordered(told: ClientHistory) -> None:
    told.seeks("r", PLACE, 5)
    told.polled("r", PLACE, [(5, "a"), (6, "c"), (7, "b")])


def _inconsistent(told: ClientHistory) -> None:
    told.seeks("r", FLEETING, 5)
    told.seeks("s", FLEETING, 5)
    told.polled("r", FLEETING, [(5, "x")])
    told.polled("s", FLEETING, [(5, "y")])


def _phantom(told: ClientHistory) -> None:
    told.seeks("r", PLACE, 5)
    told.polled("r", PLACE, [(5, "nobody's")])


def _phantom_of_elsewhere(told: ClientHistory) -> None:
    told.seeks("r", PLACE, 5)
    told.polled("r", PLACE, [(5, "x")])


def _nonmonotonic(told: ClientHistory) -> None:
    told.seeks("r", PLACE, 5)
    told.polled("r", PLACE, [(5, "a"), (6, "b")])
    told.polled("r", PLACE, [(6, "b")])


def _skipped(told: ClientHistory) -> None:
    told.acknowledged(FLEETING, 5, ["x"])
    told.seeks("r", FLEETING, 4)
    told.seeks("s", FLEETING, 4)
    told.polled("s", FLEETING, [(5, "x")])
    told.polled("r", FLEETING, [(6, "y")])


@pytest.mark.parametrize(
    ("expected", "story"),
    [
        ("lost", _lost),
        ("unseen", _unseen),
        ("duplicate", _duplicate),
        ("inconsistent duplicate", _duplicate_of_an_answer),
        ("reordered", _reordered),
        ("inconsistent", _inconsistent),
        ("phantom", _phantom),
        ("phantom", _phantom_of_elsewhere),
        ("nonmonotonic", _nonmonotonic),
        ("skipped", _skipped),
    ],
)
def test_each_anomaly_is_caught(expected: str, story: Callable[[ClientHistory], None]) -> None:
    """Each story has one thing in it that cannot be, and that is what is said of it."""
    told = history()
    story(told)
    told.audit("orders")
    told.end()
    assert kinds(told) == expected.split()
    assert str(told.anomalies[0]).startswith(f"{kinds(told)[0]}: ")


def test_who_may_store_twice_may_store_twice() -> None:
    """A producer that is not idempotent sends again what was not answered."""
    told = history()
    told.seeks("r", FLEETING, 0)
    told.polled("r", FLEETING, [(0, "x"), (1, "y"), (2, "x")])
    told.end()
    assert told.anomalies == []


def test_what_is_not_durable_is_forgotten_when_power_fails() -> None:
    """Also what is told of it afterwards by those who began before."""
    told = history()
    told.acknowledged(FLEETING, 0, ["x"])
    told.seeks("r", FLEETING, 0)
    told.lost({"events"})
    told.polled("r", FLEETING, [(0, "x")])
    told.acknowledged(FLEETING, 1, ["y"])
    told.sends("q", FLEETING, ["new"])
    told.acknowledged(FLEETING, 0, ["new"])
    told.seeks("r", FLEETING, 0)
    told.polled("r", FLEETING, [(0, "new")])
    told.end()
    assert told.anomalies == []


def test_what_is_durable_is_not_forgotten() -> None:
    """An answer from before the power failed promises all that it promised."""
    told = history()
    told.acknowledged(PLACE, 0, ["a"])
    told.lost({"events"})
    told.acknowledged(PLACE, 1, ["b"])
    told.audit("orders")
    told.end()
    assert kinds(told) == ["unseen", "unseen"]


def test_what_is_acknowledged_during_an_audit_may_be_missed() -> None:
    """Who reads from the start finds what was there when it began; more may come behind it."""
    told = history()
    told.acknowledged(PLACE, 0, ["a"])
    told.audit("orders")
    told.seeks("auditor", PLACE, 0)
    told.polled("auditor", PLACE, [(0, "a")])
    told.acknowledged(PLACE, 1, ["b"])
    told.end()
    assert told.anomalies == []
