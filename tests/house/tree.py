"""What is in the repository: the files that are tracked or about to be, and Python's parse of them.

Ignored files are no part of it, so a house test says the same before and after a build.
"""

import ast
import gc
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """Every file of the tree that is there, or those whose names end so."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(command, cwd=ROOT, text=True).split("\0")
    paths = [ROOT / name for name in sorted(filter(None, names)) if name.endswith(suffixes or "")]
    return tuple(path for path in paths if path.is_file())


@cache
def text(path: Path) -> str:
    """A file's characters as they are: no line end is translated."""
    return path.read_bytes().decode("utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    """A Python file's syntax tree. It stays, so the collector need not look at it again."""
    gc.disable()
    try:
        return ast.parse(text(path))
    finally:
        gc.freeze()
        gc.enable()


def name(path: Path) -> str:
    """How a failure names a file."""
    return path.relative_to(ROOT).as_posix()
