"""`./dev release VERSION`: a release of the commit that is checked out.

Without --execute nothing in the tree is changed: the files of the release are written to
dist/VERSION, and what would be committed is shown. With it the version and CHANGELOG.md are
committed, the fragments are deleted, and the commit gets a tag; nothing is pushed or published.
"""

import argparse
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from releasing.bill import bill
from releasing.building import build_twice, git, sums
from releasing.changelog import FILE, FOLDER, fragments, gather, section
from releasing.refusing import Refused

BRANCH: Final = "main"
VERSION_FILE: Final = "src/odradek/__init__.py"
VERSION: Final = re.compile(r'^__version__ = "(\d+)\.(\d+)\.(\d+)"$', re.MULTILINE)
WANTED: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="./dev release", description=__doc__)
    parser.add_argument("version", metavar="VERSION")
    parser.add_argument("--execute", action="store_true", help="commit it, and tag the commit")
    wanted = parser.parse_args()
    try:
        release(Path.cwd(), wanted.version, execute=wanted.execute)
    except Refused as refusal:
        print(f"dev: {refusal}", file=sys.stderr)
        return 2
    return 0


def release(root: Path, version: str, *, execute: bool) -> None:
    """Makes its files, and the commit where that is wanted."""
    _check(root, version)
    epoch = int(git(root, "log", "-1", "--format=%ct"))
    moment = datetime.fromtimestamp(epoch, UTC)
    date = moment.date().isoformat()

    def change(tree: Path) -> None:
        _set_version(tree, version)
        gather(tree, version, date)

    new = section(root, version, date)
    files = build_twice(root, change, epoch)
    files[f"odradek-{version}.cdx.json"] = bill(root, version, moment.isoformat()).encode()
    out = root / "dist" / version
    out.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (out / name).write_bytes(data)
    (out / "SHA256SUMS").write_text(sums(files))
    print(f"{out.relative_to(root)}: {', '.join(sorted(files))}, SHA256SUMS")
    if not execute:
        points = len(re.findall(r"^\* ", new, re.MULTILINE))
        print(f"{FILE} would get {points} points, {FOLDER} would be empty; --execute commits that")
        return
    deleted = [str(it.relative_to(root)) for it in fragments(root)]
    change(root)
    git(root, "add", VERSION_FILE, FILE)
    git(root, "rm", "--quiet", "--cached", *deleted)
    git(root, "commit", "--quiet", "--message", f"Release {version}")
    git(root, "tag", "--annotate", f"v{version}", "--message", f"Odradek {version}")
    print(f"committed and tagged v{version}; nothing is pushed")


def _check(root: Path, version: str) -> None:
    found = WANTED.fullmatch(version)
    if found is None:
        raise Refused(f"{version!r} is no version: three numbers are, such as 0.2.0")
    present = VERSION.search((root / VERSION_FILE).read_text())
    assert present is not None, VERSION_FILE
    if tuple(map(int, found.groups())) <= tuple(map(int, present.groups())):
        raise Refused(f"{version} does not come after {'.'.join(present.groups())}")
    if changed := git(root, "status", "--porcelain"):
        first = changed.splitlines()[0].split(maxsplit=1)[1]
        raise Refused(f"the tree is not clean: {first}; commit or remove what is in it")
    branch = git(root, "branch", "--show-current")
    if branch != BRANCH:
        raise Refused(f"a release is made of {BRANCH}, and {branch or 'no branch'} is checked out")
    if f"v{version}" in git(root, "tag", "--list").splitlines():
        raise Refused(f"there is a tag v{version}")


def _set_version(tree: Path, version: str) -> None:
    file = tree / VERSION_FILE
    file.write_text(VERSION.sub(f'__version__ = "{version}"', file.read_text()))


if __name__ == "__main__":
    sys.exit(main())
