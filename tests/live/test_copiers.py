"""Two pairs of faults while copiers copy; `python -m tests.live.copiers` draws others.

A broker dies while a copier is replaced, and stands still while a copier dies.
"""

from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.live.copiers.__main__ import strike_some
from tests.live.copiers.kinds import CopierArena, CopierDies, CopierIsReplaced
from tests.live.copiers.load import Load
from tests.live.pairs import faults

PAIRS: Final = ((faults.Dies, CopierIsReplaced), (faults.Hangs, CopierDies))


@pytest.mark.timeout(300)
def test_copiers_copy_once_whoever_dies(tmp_path: Path) -> None:
    """Two clients in one group: what they abort is never seen, and what they leave is aborted."""
    with CopierArena(tmp_path / "cluster", Random(1)) as arena, Load(arena) as load:
        struck = [name for kinds in PAIRS for name in strike_some(arena, load, kinds, len(kinds))]
        counts = load.ends()
    assert sorted(struck) == ["CopierDies", "CopierIsReplaced", "Dies", "Hangs"]
    assert counts.committed
    assert counts.records
