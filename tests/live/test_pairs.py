"""Some pairs of faults, always the same; `python -m tests.live.pairs` draws others, for an hour."""

from pathlib import Path
from random import Random

import pytest

from tests.live.pairs.__main__ import PAIRS_A_LOAD, run_load
from tests.live.pairs.arena import Arena


@pytest.mark.timeout(300)
def test_two_faults_near_each_other_lose_nothing(tmp_path: Path) -> None:
    """Nor do they double a record, or undo a deletion or a commit."""
    with Arena(tmp_path / "cluster", Random(1)) as arena:
        struck, acknowledged = run_load(arena, PAIRS_A_LOAD, until=float("inf"))
    assert struck == PAIRS_A_LOAD
    assert acknowledged
