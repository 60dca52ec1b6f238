"""Dirty records among clean ones: every reader of a table finds the truth."""

from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.moving.dirty_run import KINDS, by_spark, run_and_check
from tests.pipelines.moving.hostile_run import FORMATS


@pytest.mark.parametrize("form", FORMATS)
def test_every_reader_is_equal_to_the_truth(form: str, spark: Any, tmp_path: Path) -> None:
    """Each kind of dirt several times; what gives no row is dropped or dead, and all is counted."""
    run = run_and_check(form, tmp_path, 4_000, dirt=10, more=[by_spark(spark)])
    assert run.account.read > 10 * 3 * len(KINDS)
