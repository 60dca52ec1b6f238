"""`python -m codegen` writes everything that is generated; `--check` only says what is stale."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from codegen import access, compatibility, configuration, index, modules
from codegen.definitions import load

ROOT: Final = Path(__file__).parent.parent
GENERATED: Final = Path("src/odradek/wire/messages")


def generate() -> dict[Path, str]:
    """Every generated file, by its path below the root, formatted."""
    definitions = load()
    files = {
        GENERATED / f"{definition.name}.py": modules.render(definition)
        for definition in definitions
    }
    files[GENERATED / "index.py"] = index.render(definitions)
    return formatted(files) | {
        access.PATH: access.render(),
        compatibility.PATH: compatibility.render(definitions),
        configuration.PATH: configuration.render(),
    }


def formatted(files: dict[Path, str]) -> dict[Path, str]:
    """As `ruff format` leaves them: what is generated is read like the rest."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path.name).write_text(text)
        config = ROOT / "pyproject.toml"
        command = [sys.executable, "-m", "ruff", "format", "-q", "--config", str(config), folder]
        subprocess.run(command, check=True)  # noqa: S603 - our own formatter, our own files
        return {path: (Path(folder) / path.name).read_text() for path in files}


def stale(files: dict[Path, str]) -> list[Path]:
    """What differs from the files on disk, is missing there, or is no longer generated."""
    left = {path.relative_to(ROOT) for path in (ROOT / GENERATED).glob("*.py")}
    left -= {GENERATED / "__init__.py", *files}
    different = [
        path
        for path, text in files.items()
        if not (ROOT / path).exists() or (ROOT / path).read_text() != text
    ]
    return sorted([*different, *left])


def main(arguments: list[str]) -> int:
    """Writes, or with `--check` names, what differs; the exit code says whether `--check` did."""
    files = generate()
    found = stale(files)
    for path in found:
        if "--check" in arguments:
            print(f"stale: {path}")
        elif path in files:
            (ROOT / path).write_text(files[path])
            print(f"wrote {path}")
        else:
            (ROOT / path).unlink()
            print(f"removed {path}")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
