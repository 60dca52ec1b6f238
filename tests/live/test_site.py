"""The documents as a site: `./dev docs`, strict."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.external.tools import ROOT

TAKEN = ("dev", "docs", "mkdocs.yml", "pins", "pyproject.toml")


def test_the_site_is_made_and_a_broken_link_fails(tmp_path: Path) -> None:
    """From a copy; what a page needs to be read and searched is in the site."""
    if not os.environ.get("ODRADEK_INSTALL"):
        pytest.skip("installs packages; ./dev test does")
    for name in TAKEN:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)

    def made() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "dev", "docs"], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    ended = made()
    assert ended.returncode == 0, ended.stderr
    for page in sorted(tmp_path.glob("docs/**/*.md")):
        path = page.relative_to(tmp_path / "docs").with_suffix(".html")
        path = path.with_name("index.html") if path.name == "README.html" else path
        assert (tmp_path / "site" / path).exists(), path
    assert (tmp_path / "site" / "search" / "search_index.js").exists()
    with (tmp_path / "docs" / "index.md").open("a") as index:
        index.write("[Nowhere](cli.md#nowhere)\n")
    broken = made()
    assert broken.returncode != 0
    assert "cli.md#nowhere" in broken.stderr + broken.stdout
