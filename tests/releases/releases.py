"""The last release and this one, each as what its wheel installs, and brokers that go between them.

The last release is the newest tag that this commit comes after; while there is none, it is the
commit that FIRST names. Both wheels are built here, from the commit and from the tree as it is.
"""

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Final

from releasing.building import git
from tests.external.tools import ROOT
from tests.live.cluster import ClusterBroker, LiveCluster

FIRST: Final = "7dd81290d43fda0abc0fd25a41c2ec4c4d35cbd4"


def last_release() -> str | None:
    """A name that git knows; None in a tree that came without its history."""
    try:
        tags = git(ROOT, "tag", "--merged", "HEAD~", "--list", "v*", "--sort", "-v:refname")
        return git(ROOT, "rev-parse", "--verify", f"{(tags.splitlines() or [FIRST])[0]}^{{commit}}")
    except (subprocess.CalledProcessError, FileNotFoundError):
        return None


def install_last(folder: Path, commit: str) -> Path:
    """A folder to import it from."""
    archive = ["git", "archive", commit]
    packed = subprocess.run(archive, cwd=ROOT, check=True, capture_output=True).stdout
    return _install(folder, packed)


def install_this(folder: Path) -> Path:
    """Of the files as they are now, committed or not."""
    names = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in names:
            if (ROOT / name).exists():
                tar.add(ROOT / name, name)
    return _install(folder, packed.getvalue())


def _install(folder: Path, packed: bytes) -> Path:
    """What the packages need is there already: the tests' environment has it."""
    source, installed = folder / "source", folder / "installed"
    with tarfile.open(fileobj=BytesIO(packed)) as tar:
        tar.extractall(source, filter="data")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    return installed


class RolledCluster(LiveCluster):
    """Brokers of one release, which are rolled to another."""

    def __init__(self, directory: Path, source: Path) -> None:
        super().__init__(directory, settings={"replica.fetch.max.bytes": "65536"})
        self.kind = partial(_begun, source)

    def roll(self, source: Path, before_each: Callable[[], None]) -> None:
        """One broker after the other, the controller last."""
        last = self.controller()
        for number in sorted(self.brokers, key=lambda it: (it == last, it)):
            before_each()
            self.roll_one(number, source)

    def roll_one(self, number: int, source: Path) -> None:
        """This broker stops in good order, and starts as the other release."""
        broker = self.brokers[number]
        broker.stop()
        broker.source = source
        broker.start()


def _begun(source: Path, folder: Path, number: int, **settings: str) -> ClusterBroker:
    broker = ClusterBroker(folder, number, **settings)
    broker.source = source
    return broker
