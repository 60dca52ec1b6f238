"""The sentence of an error is found again in what Spark makes of it."""

import pytest

from odradek.pipelines.errors import DataLoss, one_sentence, sentence_of

TRACE = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times:
Traceback (most recent call last):
  File "worker.py", line 1, in main
{}{}: what was wrong
"""


@pytest.mark.parametrize("prefix", ["", "org.apache.spark.api.python.PythonException: "])
@pytest.mark.parametrize(
    "name",
    [
        "odradek.pipelines.errors.DataLoss",
        "odradek.pipelines.tables.table.TableRefused",
        "odradek.pipelines.moving.archiving.dead_letters.BadRecord",
    ],
)
def test_whatever_module_the_error_is_of(prefix: str, name: str) -> None:
    """And whatever Spark puts before it."""
    assert sentence_of(RuntimeError(TRACE.format(prefix, name))) == "what was wrong"


def test_an_error_that_is_ours_or_nobodys() -> None:
    """Through causes; a mistake of ours has no sentence."""
    wrapped = RuntimeError("outside")
    wrapped.__cause__ = DataLoss("inside")
    assert sentence_of(wrapped) == "inside"
    assert sentence_of(RuntimeError(TRACE.format("", "KeyError"))) is None


def test_one_sentence_of_whatever_it_is() -> None:
    """Ours is found in what it is wrapped in; another one is its first line."""
    name = "odradek.pipelines.errors.DataLoss"
    assert one_sentence(RuntimeError(TRACE.format("", name))) == "what was wrong"
    assert one_sentence(KeyError("a\nb")) == r"KeyError: 'a\nb'"
    assert one_sentence(ValueError("first\n  at java\n")) == "ValueError: first"
    assert one_sentence(EOFError()) == "EOFError"
