"""`pip install 'odradek[spark]'` brings all that pipelines import: the wheel's metadata say so."""

import ast
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SOURCES: Final = Path(__file__).parents[2] / "src" / "odradek"
LATE: Final = {
    "sqlalchemy": "the catalog of every iceberg:DIR/",
    "pyyaml": "projects of Spark Declarative Pipelines",
    "grpcio": "sessions with --remote",
    "grpcio-status": "sessions with --remote",
    "googleapis-common-protos": "sessions with --remote",
    "zstandard": "sessions with --remote",
}
"""What libraries import for us once it is needed."""


def brought(requirement: Requirement) -> Iterator[tuple[str, Requirement]]:
    """All that installing it installs: names of distributions, and what is asked of each."""
    seen: set[tuple[str, str]] = set()
    todo = [requirement]
    while todo:
        it = todo.pop()
        name = canonicalize_name(it.name)
        yield name, it
        for extra in ("", *it.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                texts = requires(name) or []
            except PackageNotFoundError:
                continue
            wanted = (Requirement(text) for text in texts)
            todo += [one for one in wanted if _applies(one, extra)]


def _applies(requirement: Requirement, extra: str) -> bool:
    marker = requirement.marker
    if marker is None:
        return not extra
    return marker.evaluate({"extra": extra}) and (not extra or "extra" in str(marker))


def test_the_extra_brings_all_that_is_imported() -> None:
    """By ourselves, and by the libraries when a line of the documents is run."""
    names = {name for name, _ in brought(Requirement("odradek[spark]"))}
    providers = packages_distributions()
    for module in sorted(imported()):
        found = {canonicalize_name(it) for it in providers.get(module, ())}
        assert found & names, f"{module} is imported, and nothing of the extra brings it"
    for name, use in LATE.items():
        assert name in names, f"{name} is missing: {use}"


def imported() -> set[str]:
    """Modules that are neither ours nor Python's, of all that can run beside Spark."""
    found = set()
    for path in (SOURCES / "pipelines").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {it.name for it in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module)
    tops = {it.partition(".")[0] for it in found}
    return tops - sys.stdlib_module_names - {"odradek"}


def test_what_is_tested_is_what_the_metadata_allow() -> None:
    """The versions here are the pinned ones; a user's pip may take no others of these."""
    for name, requirement in brought(Requirement("odradek[spark]")):
        try:
            found = version(name)
        except PackageNotFoundError:
            raise AssertionError(f"{requirement} is not pinned") from None
        if name == "pyspark" and not found.startswith("4.2"):
            continue  # the tests with a newer one, for which there is no connector yet
        assert requirement.specifier.contains(found), f"{requirement} is tested with {found}"


def test_the_version_of_spark_is_one_that_has_a_connector() -> None:
    """Delta's and Iceberg's runtimes, and Spark's own connector, are made for it."""
    asked = brought(Requirement("odradek[spark]"))
    assert {str(it.specifier) for name, it in asked if name == "pyspark"} - {""} == {"<4.3,>=4.2"}
