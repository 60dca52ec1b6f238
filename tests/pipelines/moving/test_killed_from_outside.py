"""An archive that is killed at any moment: each reader finds each record once."""

from pathlib import Path

import pytest

from tests.pipelines.moving.outside_kills import CASES, PARTITIONS, Case, kill_often
from tests.pipelines.topics import Topics

KILLS = 10


@pytest.mark.parametrize(("form", "kind"), CASES)
def test_killed_from_outside(topics: Topics, tmp_path: Path, form: str, kind: str) -> None:
    """Fifty times by `python -m tests.pipelines.moving.outside_kills`."""
    topic = topics.make(partitions=PARTITIONS)
    kill_often(topics, Case(topics.bootstrap, topic, f"{form}:{tmp_path}/t", kind), KILLS)
