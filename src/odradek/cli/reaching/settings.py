"""Reads a broker's settings from the real world: its file, the environment, the command line."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from odradek.cli.reaching.outside import outside_of_process
from odradek.config import properties, sources
from odradek.config.findings import Finding, Given
from odradek.config.providers import resolve


def overrides(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that every noun has which takes a properties file."""
    return click.option(
        "--override",
        "overrides",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_named_values,
        help="Set this, whatever the file and the environment say. Can be repeated.",
    )(command)


def _named_values(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for override in given:
        if not override.partition("=")[0].strip() or "=" not in override:
            raise click.BadParameter(f"{override[:80]!r} is not NAME=VALUE")
    return given


def gather(
    file: Path | None, overrides: Iterable[str]
) -> tuple[dict[str, Given], tuple[Finding, ...]]:
    """All that was said, by name, and what is doubtful about how it was said."""
    in_file: dict[str, Given] = {}
    findings: tuple[Finding, ...] = ()
    if file is not None:
        with file.open("rb") as opened:
            data = opened.read(properties.FILE_BYTES_MAX + 1)
        in_file, findings = sources.from_file(data, str(file))
    outside = sources.from_environment(os.environ) | sources.from_overrides(overrides)
    given, unresolved = resolve(in_file | outside, outside_of_process())
    return given, (*findings, *unresolved)
