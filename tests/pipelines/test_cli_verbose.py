"""What fails is one sentence, and with --verbose the trace besides."""

from typing import Any

import click
import pytest

from odradek.cli.spark.with_spark import in_sentences, with_spark
from odradek.cli.words.failing import Failed


class OfSpark(Exception):
    """With lines of Java behind the first."""

    __module__ = "pyspark.errors"

    def __str__(self) -> str:
        return "no place for it\n\tat org.apache.spark"


@click.command
@with_spark
def failing(**_: Any) -> None:
    """Fails as Spark does."""
    with in_sentences():
        raise OfSpark


@pytest.mark.parametrize("given", [[], ["--verbose"]])
def test_an_error_of_sparks(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Its first line, and how more is seen."""
    with pytest.raises(Failed, match=r"^OfSpark: no place for it; --verbose shows Spark.s trace$"):
        failing.main(given, standalone_mode=False)
    assert ("at org.apache.spark" in capsys.readouterr().err) == bool(given)
