"""Our own code in one archive, for executors and servers that do not have it installed.

They need the libraries of the extra `spark` all the same. Compiled modules cannot be imported from
an archive: there the loop in plain Python is used.
"""

import atexit
import shutil
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGES: Final = ("odradek", "pyspark_odradek")
ARCHIVE: Final = "odradek.zip"


def code_archive() -> Path:
    """An archive of our packages that lives as long as this process."""
    folder = Path(tempfile.mkdtemp(prefix="odradek-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / ARCHIVE
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            spec = find_spec(package)
            assert spec is not None, package
            assert spec.origin is not None, package
            root = Path(spec.origin).parent
            for source in sorted(root.rglob("*.py")):
                archive.write(source, source.relative_to(root.parent))
    return path
