"""The odradek command: one noun per module, in rooms by what it is about, imported when called."""

from odradek.cli.root import main

__all__ = ["main"]
