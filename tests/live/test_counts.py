"""What a request costs may only become less: counted, so that no noise hides a little more.

Calls of Python functions and of built-in ones for one request, of all brokers, and with which
Python. A change that makes one dearer says in its commit what for; `python benchmarks/counts.py
--functions` shows where.
"""

import sys
from pathlib import Path
from typing import Final

import pytest

from benchmarks.counts import REQUESTS, count_case

CEILINGS: Final = {
    (3, 11): {
        "produce": 220,  # with the hand-over to the thread of the disk, which no write goes without
        "produce-3": 2_050,  # 1,860 where nothing else runs: then fewer Fetches come in between
        "fetch": 115,
        "heartbeat": 165,
        "metadata": 590,
    },
}
KEPT_MAX: Final = 0.1
"""Blocks of memory for one request: what is kept grows for ever."""


@pytest.mark.skipif(sys.version_info[:2] not in CEILINGS, reason="not counted with this Python")
@pytest.mark.parametrize("case", ["produce", "produce-3", "fetch", "heartbeat", "metadata"])
def test_no_request_costs_more_than_it_did(case: str, tmp_path: Path) -> None:
    """Nor does it keep memory."""
    rows = count_case(case, tmp_path / "cluster", traced=False)
    called = sum(row["calls"] + row["built-in calls"] for row in rows) / REQUESTS
    assert called <= CEILINGS[sys.version_info[:2]][case]
    assert all(row["blocks kept"] / REQUESTS < KEPT_MAX for row in rows), rows
