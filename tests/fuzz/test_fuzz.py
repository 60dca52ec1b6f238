"""The attacks on what reads bytes from elsewhere, for as long as a test run can spare.

`FUZZ_SECONDS=600` in the environment goes on for longer.
"""

import importlib.util
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import fuzz_security, fuzz_wire

SECONDS = int(os.environ.get("FUZZ_SECONDS", "5"))
DATA_BYTES_MAX = 1 << 29


@pytest.mark.timeout(120 + SECONDS)
@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="atheris has no wheel for this Python"
)
@pytest.mark.parametrize("target", ["fuzz_records.py", "fuzz_security.py", "fuzz_wire.py"])
def test_no_input_breaks_a_reader(target: str, tmp_path: Path) -> None:
    """Coverage shows the fuzzer the way; an input that breaks something is printed, and kept.

    Its memory is bounded by the kernel: what libFuzzer counts begins with the peak of the process
    that started it, which is a test run of any size.
    """
    bounds = f"-max_total_time={SECONDS}", "-timeout=5", "-rss_limit_mb=0"
    run = subprocess.run(
        [
            sys.executable,
            Path(__file__).with_name(target),
            *bounds,
            f"-artifact_prefix={tmp_path}/",
        ],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=bound_memory,
    )
    assert run.returncode == 0, run.stderr[-4_000:]
    assert "DONE" in run.stderr, "it ran to its end"


def bound_memory() -> None:
    """More is a MemoryError, which no reader may raise."""
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES_MAX, DATA_BYTES_MAX))


def test_the_fuzzer_begins_with_inputs_that_pass() -> None:
    """From garbage alone it would never get behind a header; so its seeds are sound."""
    for seed in fuzz_wire.seeds():
        fuzz_wire.ATTACKS[seed[0]](seed[1:])


def test_what_strangers_say_before_their_name_is_known() -> None:
    """Each seed of that fuzzer, and each of its beginnings, is read or refused."""
    for seed in fuzz_security.seeds():
        for end in range(len(seed) + 1):
            fuzz_security.attack(seed[:end])
