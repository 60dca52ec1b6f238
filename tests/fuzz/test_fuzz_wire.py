"""The attack on `wire`, for as long as a test run can spare."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.fuzz_wire import ATTACKS, seeds

SECONDS = 15


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="atheris has no wheel for this Python"
)
def test_no_input_breaks_a_reader(tmp_path: Path) -> None:
    """Coverage shows the fuzzer the way; an input that breaks something is printed, and kept."""
    target = Path(__file__).with_name("fuzz_wire.py")
    bounds = f"-max_total_time={SECONDS}", "-timeout=5", "-rss_limit_mb=512"
    run = subprocess.run(
        [sys.executable, target, *bounds, f"-artifact_prefix={tmp_path}/"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4_000:]
    assert "DONE" in run.stderr, "it ran to its end"


def test_the_fuzzer_begins_with_inputs_that_pass() -> None:
    """From garbage alone it would never get behind a header; so its seeds are sound."""
    for seed in seeds():
        ATTACKS[seed[0]](seed[1:])
