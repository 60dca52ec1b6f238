"""The odradek command: one noun per module, imported when it is called."""


def main() -> None:
    """Where the installed command begins."""
    raise SystemExit("odradek: no command is there yet")
