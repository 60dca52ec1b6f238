"""Counted words: one is not several."""

import pytest

from odradek.model.counting import counted


@pytest.mark.parametrize(
    ("count", "thing", "says"),
    [
        (0, "record", "0 records"),
        (1, "record", "1 record"),
        (2, "record", "2 records"),
        (3, "batch", "3 batches"),
        (1, "batch", "1 batch"),
        (2, "entry", "2 entries"),
        (2, "day", "2 days"),
        (2, "dead letter", "2 dead letters"),
        (2, "leader epoch", "2 leader epochs"),
    ],
)
def test_one_is_not_several(count: int, thing: str, says: str) -> None:
    """In the plural that English has for it."""
    assert counted(count, thing) == says
