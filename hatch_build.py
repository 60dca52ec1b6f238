"""Compiles one small module into the wheel, where that is asked for; otherwise nothing is done.

`ODRADEK_COMPILE=yes` before `python -m build --wheel` (or pip) makes a wheel for this machine's
platform and Python, in which `odradek/pipelines/decoding/native_fields.py` is C. Without
it the wheel is pure Python, for every platform, and the source reads more slowly. It needs mypy and
a C compiler. Run as a program, this file compiles in place: for the benchmarks.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULE = Path("src/odradek/pipelines/decoding/native_fields.py")


def compile_in_place(root: Path) -> list[Path]:
    """Puts the compiled module beside its source; returns what was made.

    mypyc sees a folder that holds nothing else, so it makes one file that needs no other.
    """
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(root / MODULE, folder)
        command = [sys.executable, "-m", "mypyc", MODULE.name]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        made = []
        for built in sorted(Path(folder).glob("*.so")):
            target = (root / MODULE).parent / built.name
            shutil.copy(built, target)
            made.append(target)
    return made


class CustomBuildHook(BuildHookInterface[Any]):
    """What hatchling calls before it packs a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the compiled module to a wheel that is to have it; an editable one never has."""
        if version == "editable" or os.environ.get("ODRADEK_COMPILE") != "yes":
            return
        root = Path(self.root)
        for path in compile_in_place(root):
            inside = path.relative_to(root / "src").as_posix()
            build_data["force_include"][str(path)] = inside
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


if __name__ == "__main__":
    for path in compile_in_place(Path(__file__).parent):
        print(path.name)
