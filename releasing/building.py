"""Wheel and sdist, built from nothing but a commit, and again elsewhere: both must be equal."""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from releasing.refusing import Refused


def git(root: Path, *arguments: str) -> str:
    """What git says."""
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def build_twice(root: Path, change: Callable[[Path], None], epoch: int) -> dict[str, bytes]:
    """The files of a release, by name. `change` makes the release of a copy of the commit."""
    first, second = (_build(root, change, epoch, mask) for mask in (0o022, 0o077))
    differing = sorted(it for it in first.keys() | second.keys() if first.get(it) != second.get(it))
    if differing:
        raise Refused(f"built twice, these are not the same: {', '.join(differing)}")
    return first


def sums(files: dict[str, bytes]) -> str:
    """As `sha256sum --check` reads them."""
    return "".join(f"{sha256(files[it]).hexdigest()}  {it}\n" for it in sorted(files))


def _build(root: Path, change: Callable[[Path], None], epoch: int, mask: int) -> dict[str, bytes]:
    """With another mask for new files, and in another folder, each time."""
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=root, check=True, capture_output=True
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        copy, out = Path(folder) / "source", Path(folder) / "out"
        former = os.umask(mask)
        try:
            with tarfile.open(fileobj=BytesIO(archive)) as tar:
                tar.extractall(copy, filter="data")
            change(copy)
            ended = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "hatchling",
                    "build",
                    "-t",
                    "wheel",
                    "-t",
                    "sdist",
                    "-d",
                    out,
                ],
                cwd=copy,
                env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            os.umask(former)
        if ended.returncode:
            raise Refused(f"the package is not built: {ended.stderr.strip().splitlines()[-1]}")
        return {it.name: it.read_bytes() for it in sorted(out.iterdir())}
