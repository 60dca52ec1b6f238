"""The odradek command: one noun per module, imported when it is called."""

from odradek.cli.root import main

__all__ = ["main"]
