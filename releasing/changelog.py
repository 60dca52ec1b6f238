"""The fragments of changelog.d, gathered into a section of CHANGELOG.md."""

from pathlib import Path
from typing import Final

from releasing.refusing import Refused

FOLDER: Final = "changelog.d"
FILE: Final = "CHANGELOG.md"
TITLE: Final = "# Changes\n"
KINDS: Final = {
    "security": "Security",
    "removed": "Removed",
    "changed": "Changed",
    "added": "Added",
    "fixed": "Fixed",
}
"""In the order in which somebody who upgrades reads them."""


def fragments(root: Path) -> list[Path]:
    """All of them, by name."""
    return sorted(it for it in (root / FOLDER).glob("*.md") if it.name != "README.md")


def section(root: Path, version: str, date: str) -> str:
    """What has changed, by kind; each fragment is a point."""
    by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in fragments(root):
        kind = path.name.removesuffix(".md").rpartition(".")[2]
        if kind not in by_kind:
            raise Refused(f"{FOLDER}/{path.name}: its kind must be one of {', '.join(KINDS)}")
        by_kind[kind].append(" ".join(path.read_text().split()))
    if not any(by_kind.values()):
        raise Refused(f"{FOLDER} is empty: nothing has changed since the last release")
    parts = [f"## {version} ({date})\n"]
    for kind, points in by_kind.items():
        if points:
            parts.append(f"### {KINDS[kind]}\n")
            parts.append("".join(f"* {point}\n" for point in points))
    return "\n".join(parts)


def gather(root: Path, version: str, date: str) -> None:
    """Writes the section above those of former releases, and deletes the fragments."""
    new = section(root, version, date)
    file = root / FILE
    former = file.read_text().removeprefix(TITLE) if file.exists() else ""
    file.write_text(f"{TITLE}\n{new}{former}")
    for path in fragments(root):
        path.unlink()
