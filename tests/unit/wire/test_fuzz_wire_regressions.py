"""Inputs on which a reader once broke: none may break one again."""

from pathlib import Path

from tests.fuzz.fuzz_wire import attack

REGRESSIONS = Path(__file__).parents[2] / "fuzz" / "regressions"


def test_what_broke_a_reader_once_is_refused_now() -> None:
    """A BrokerError or a result; what came out once is in the name of the file."""
    for path in sorted(REGRESSIONS.glob("wire-*")):
        attack(path.read_bytes())
