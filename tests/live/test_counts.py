"""What a request costs may only become less: counted, so that no noise hides a little more.

Calls of Python functions and of built-in ones for one request, of all brokers, and with which
Python; and turns of the loop, where there is strace to count them. A change that makes one dearer
says in its commit what for; `python benchmarks/counts.py --functions` shows where.
"""

import sys
from pathlib import Path
from typing import Final

import pytest

from benchmarks.counts import REQUESTS, count_case

CEILINGS: Final = {
    (3, 11): {
        "produce": 125,  # with the hand-over to the thread of the disk, which no write goes without
        "produce-3": 1_118,  # 1,075 where little else runs: then fewer Fetches come in between
        "fetch": 83,
        "follower-fetch": 217,
        "heartbeat": 147,
        "metadata": 555,
    },
    (3, 13): {
        "produce": 125,
        "produce-3": 1_118,
        "fetch": 83,
        "follower-fetch": 217,
        "heartbeat": 147,
        "metadata": 530,
    },
}
TURNS: Final = {
    "produce": 2.3,  # the request, and the end of its write
    "produce-3": 11.0,  # five of the leader, two and a half of each follower
    "fetch": 1.2,
    "follower-fetch": 1.2,
    "heartbeat": 1.2,
    "metadata": 1.2,
}
KEPT_MAX: Final = 0.1
"""Blocks of memory for one request: what is kept grows for ever."""


@pytest.mark.skipif(sys.version_info[:2] not in CEILINGS, reason="not counted with this Python")
@pytest.mark.parametrize("case", TURNS)
def test_no_request_costs_more_than_it_did(case: str, tmp_path: Path) -> None:
    """Nor does it keep memory."""
    rows = count_case(case, tmp_path / "cluster")
    called = sum(row["calls"] + row["built-in calls"] for row in rows) / REQUESTS
    assert called <= CEILINGS[sys.version_info[:2]][case]
    turns = sum(row.get("turns of the loop", 0) for row in rows) / REQUESTS
    assert turns <= TURNS[case]
    assert all(row["blocks kept"] / REQUESTS < KEPT_MAX for row in rows), rows
