"""What the project is tested with: the pins agree with pyproject.toml and can be trusted."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PINS = sorted((ROOT / "pins").glob("*.txt"))
ENTRY = re.compile(
    r"(?P<name>[\w.-]+)==(?P<version>\S+)(?: ; (?P<marker>[^\\]+?))? \\\n"
    r"(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
)


def pinned(path: Path) -> dict[str, tuple[str, str | None]]:
    """Every package of a file of pins, with its version and the marker it is limited by."""
    return {
        canonicalize_name(entry["name"]): (entry["version"], entry["marker"])
        for entry in ENTRY.finditer(path.read_text())
    }


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.name)
def test_a_pin_is_an_exact_version_with_its_hashes(path: Path) -> None:
    """What the entries and comments do not account for is an address, an option, or a loose pin."""
    rest = ENTRY.sub("", path.read_text())
    strange = [line for line in rest.splitlines() if line and not line.strip().startswith("#")]
    assert not strange, f"{path.name}: neither a hashed pin nor a comment: {strange}"


def of_extra(extra: str, extras: dict[str, list[str]]) -> list[str]:
    """What an extra asks for, by way of others or not."""
    found = []
    for text in extras.get(extra, ()):
        requirement = Requirement(text)
        if requirement.name == "odradek":
            found += [it for name in sorted(requirement.extras) for it in of_extra(name, extras)]
        else:
            found.append(text)
    return found


@pytest.mark.parametrize("extra", ["dev", "docs", "spark", "up"])
def test_the_pins_satisfy_the_project(extra: str) -> None:
    """A requirement that was raised or added without a new pin would be tested with the old one.

    `up` is no extra: it is what running needs, and nothing else.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *of_extra(extra, project["optional-dependencies"])]
    pins = pinned(ROOT / "pins" / f"{extra}.txt")
    for text in wanted:
        requirement = Requirement(text)
        assert requirement.name in pins, f"{text} has no pin"
        version, marker = pins[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{text} is pinned at {version}"
        assert marker is None or requirement.marker is not None, f"{text} is pinned for {marker}"


def test_running_needs_no_more_than_the_project_says() -> None:
    """`./dev up` installs these on a machine of somebody who wants to try it, in seconds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {Requirement(text).name for text in project["dependencies"]}
    up, dev = pinned(ROOT / "pins" / "up.txt"), pinned(ROOT / "pins" / "dev.txt")
    assert set(up) - named == {"colorama"}  # of click, on Windows
    assert {name: dev[name] for name in up} == up, "tested with other versions"
