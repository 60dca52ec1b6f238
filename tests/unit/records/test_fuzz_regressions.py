"""Inputs on which a reader once broke, and inputs that it reads: none may break one again."""

from pathlib import Path

from tests.fuzz.fuzz_records import ATTACKS, attack, seeds

REGRESSIONS = Path(__file__).parents[2] / "fuzz" / "regressions"


def test_what_broke_a_reader_once_is_refused_now() -> None:
    """A BrokerError or a result; what came out once is in the name of the file."""
    for path in sorted(REGRESSIONS.glob("records-*")):
        attack(path.read_bytes())


def test_the_fuzzer_begins_with_inputs_that_pass() -> None:
    """From garbage alone it would never get behind a header; so its seeds are sound."""
    for seed in seeds():
        ATTACKS[seed[0]](seed[1:])
