"""`./dev release`: what it makes of a commit, and what it refuses."""

import json
import shutil
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from releasing.__main__ import release
from releasing.building import build_twice, git
from releasing.refusing import Refused
from tests.external.tools import ROOT

TAKEN = ("LICENSE", "README.md", "hatch_build.py", "pyproject.toml")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with what a package is built from, and two changes since the last release."""
    root = tmp_path / "a tree"
    (root / "src" / "odradek").mkdir(parents=True)
    (root / "src" / "pyspark_odradek").mkdir()
    (root / "src" / "pyspark_odradek" / "__init__.py").write_text("")
    (root / "src" / "odradek" / "__init__.py").write_text('__version__ = "0.1.0"\n')
    (root / "pins").mkdir()
    shutil.copy(ROOT / "pins" / "up.txt", root / "pins")
    for name in TAKEN:
        shutil.copy(ROOT / name, root)
    (root / ".gitignore").write_text("/dist/\n")
    (root / "changelog.d").mkdir()
    (root / "changelog.d" / "README.md").write_text("How.\n")
    (root / "changelog.d" / "b.fixed.md").write_text("What was wrong\nis right.\n")
    (root / "changelog.d" / "a.added.md").write_text("Something new.\n")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "config", "user.name", "A Developer")
    git(root, "config", "user.email", "developer@localhost")
    _commit(root)
    return root


def _commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Change something")


def test_a_plan_changes_nothing(tree: Path) -> None:
    """The files are there to look at, with their sums; the fragments stay."""
    release(tree, "0.2.0", execute=False)
    out = tree / "dist" / "0.2.0"
    names = {it.name for it in out.iterdir()}
    assert names == {
        *("odradek-0.2.0-py3-none-any.whl", "odradek-0.2.0.tar.gz"),
        *("odradek-0.2.0.cdx.json", "SHA256SUMS"),
    }
    for line in (out / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert sha256((out / name).read_bytes()).hexdigest() == digest
    assert git(tree, "status", "--porcelain") == ""
    assert not git(tree, "tag")
    with zipfile.ZipFile(out / "odradek-0.2.0-py3-none-any.whl") as wheel:
        assert b'__version__ = "0.2.0"' in wheel.read("odradek/__init__.py")
    with tarfile.open(out / "odradek-0.2.0.tar.gz") as sdist:
        assert "odradek-0.2.0/CHANGELOG.md" in sdist.getnames()


def test_it_is_committed_and_tagged(tree: Path) -> None:
    """The newest release stands first, what must be read before what is nice."""
    (tree / "CHANGELOG.md").write_text("# Changes\n\n## 0.1.0 (2026-01-01)\n")
    _commit(tree)
    release(tree, "0.2.0", execute=True)
    date = git(tree, "log", "-1", "--format=%cs", "HEAD~1")
    assert (tree / "CHANGELOG.md").read_text() == (
        f"# Changes\n\n## 0.2.0 ({date})\n\n### Added\n\n* Something new.\n\n"
        "### Fixed\n\n* What was wrong is right.\n\n## 0.1.0 (2026-01-01)\n"
    )
    assert [it.name for it in (tree / "changelog.d").iterdir()] == ["README.md"]
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "describe") == "v0.2.0"
    assert '"0.2.0"' in (tree / "src" / "odradek" / "__init__.py").read_text()


def test_what_is_needed_is_listed_from_pins(tree: Path) -> None:
    """With versions, digests and licences, and the moment of the commit."""
    release(tree, "0.2.0", execute=False)
    found = json.loads((tree / "dist" / "0.2.0" / "odradek-0.2.0.cdx.json").read_text())
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    pins = (tree / "pins" / "up.txt").read_text()
    assert len(found["components"]) == pins.count("==") - pins.count("sys_platform ==")
    assert all(f"{it['name']}=={it['version']}" in pins for it in found["components"])
    assert all(it["properties"] for it in found["components"])
    click = next(it for it in found["components"] if it["name"] == "click")
    assert click["licenses"] == [{"expression": "BSD-3-Clause"}]


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.1.0", "does not come after 0.1.0"),
        ("0.0.9", "does not come after 0.1.0"),
        ("0.2", "is no version: three numbers are"),
        ("0.2.0rc1", "is no version"),
    ],
)
def test_a_version_that_cannot_be(tree: Path, version: str, said: str) -> None:
    """It is three numbers that come after the present ones."""
    with pytest.raises(Refused, match=said):
        release(tree, version, execute=False)


def test_a_tree_that_cannot_be_released(tree: Path) -> None:
    """What is released is what is committed, on the branch that is tested."""
    git(tree, "tag", "v0.3.0")
    with pytest.raises(Refused, match=r"there is a tag v0\.3\.0"):
        release(tree, "0.3.0", execute=False)
    git(tree, "checkout", "--quiet", "-b", "other")
    with pytest.raises(Refused, match="made of main, and other is checked out"):
        release(tree, "0.2.0", execute=False)
    git(tree, "checkout", "--quiet", "main")
    (tree / "README.md").write_text("changed")
    with pytest.raises(Refused, match=r"the tree is not clean: README\.md"):
        release(tree, "0.2.0", execute=False)
    git(tree, "checkout", "--quiet", ".")
    (tree / "changelog.d" / "c.wrong.md").write_text("Of no kind.\n")
    _commit(tree)
    with pytest.raises(Refused, match=r"c\.wrong\.md: its kind must be one of"):
        release(tree, "0.2.0", execute=False)
    for path in (tree / "changelog.d").glob("?.*.md"):
        path.unlink()
    _commit(tree)
    with pytest.raises(Refused, match="nothing has changed"):
        release(tree, "0.2.0", execute=False)


def test_what_differs_from_build_to_build_is_refused(tree: Path) -> None:
    """Nobody could check such a release."""
    times = iter("12")

    def change(copy: Path) -> None:
        (copy / "src" / "odradek" / "when.py").write_text(f"BUILT = {next(times)}\n")

    with pytest.raises(Refused, match=r"not the same: odradek-0\.1\.0-py3.*whl, odradek-0.*gz"):
        build_twice(tree, change, 1_700_000_000)
