"""Numbers on the command line: refused in words that need no manual of a library."""

import click
import pytest

from odradek.cli.words.numbers import Number, Whole
from tests.external import tools


@pytest.mark.parametrize(
    ("kind", "said", "told"),
    [
        (Whole(0), "x", "'x' is not a whole number"),
        (Whole(0), "1.5", "'1.5' is not a whole number"),
        (Whole(1), "0", "0 is too small: 1 or more"),
        (Whole(0, 60), "61", "61 is too large: 60 or less"),
        (Whole(0), "9" * 400, f"{'9' * 400} is too large: 9223372036854775807 or less"),
        (Number(0.1), "nan", "'nan' is not a number"),
        (Number(0.1), "inf", "'inf' is not a number"),
        (Number(0.1), "0", "0.0 is too small: 0.1 or more"),
    ],
)
def test_what_is_refused(kind: Whole | Number, said: str, told: str) -> None:
    """What it is not, or its bound."""
    with pytest.raises(click.BadParameter) as refused:
        kind.convert(said, None, None)
    assert refused.value.message == told


def test_every_number_of_a_verb_is_refused_so() -> None:
    """Click's own calls them an integer range."""
    for file in (tools.ROOT / "src" / "odradek" / "cli").rglob("*.py"):
        text = file.read_text()
        assert file.name == "numbers.py" or "click.IntRange" not in text, file
        assert file.name == "numbers.py" or "click.FloatRange" not in text, file
