"""Both releases, built once for all tests here."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.releases.releases import install_last, install_this, last_release


class Releases(NamedTuple):
    """Folders that brokers import them from."""

    last: Path
    this: Path


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    """A tree without its history has no last release."""
    commit = last_release()
    if commit is None:
        pytest.skip("the last release is not in this tree's history")
    folder = tmp_path_factory.mktemp("releases")
    (folder / "last").mkdir()
    (folder / "this").mkdir()
    return Releases(install_last(folder / "last", commit), install_this(folder / "this"))
