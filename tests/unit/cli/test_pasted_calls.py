"""Calls that are printed as a next step go to the cluster that was named."""

from pathlib import Path

import click
import pytest

from odradek.cli.words.options import META, Options, pasted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("odradek cluster health says why", "odradek -b b1:9092 cluster health says why"),
        ("`odradek topic list`, or up", "`odradek -b b1:9092 topic list`, or up"),
        ("odradek doctor", "odradek -b b1:9092 doctor"),
        ("odradek up starts a broker", "odradek up starts a broker"),
        ("odradek: nothing", "odradek: nothing"),
    ],
)
def test_calls_name_the_cluster_that_was_named(text: str, told: str) -> None:
    """Those of verbs that have none are left as they are."""
    with click.Context(click.Command("odradek")) as context:
        assert pasted(text) == text
        context.meta[META] = Options(bootstrap="b1:9092")
        assert pasted(text) == told


def test_a_path_with_blanks_is_one_word() -> None:
    """As a shell reads it."""
    with click.Context(click.Command("odradek")) as context:
        context.meta[META] = Options(command_config=Path("my files/\\1"))
        assert pasted("odradek topic list") == (
            "odradek --command-config 'my files/\\1' topic list"
        )
