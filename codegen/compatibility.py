"""Turns the definitions into `docs/compatibility.md`."""

from pathlib import Path
from typing import Final

from codegen.definitions import Module

PATH: Final = Path("docs/compatibility.md")


def render(definitions: list[Module]) -> str:
    """The whole page."""
    return f"{len(definitions)}\n"
