"""Tells others which process to signal. What guards the data is a lock in each log dir."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def pid_file(path: Path | None) -> Iterator[None]:
    """Our number is in it from now to the end, unless another has put its own there since."""
    if path is None:
        yield
        return
    ours = f"{os.getpid()}\n"
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(ours)
    fresh.replace(path)
    try:
        yield
    finally:
        with suppress(OSError):
            if path.read_text() == ours:
                path.unlink()
