"""Kafka's own Java classes, asked from Python: one process, one line of JSON each way.

The program behind it is `tests/compat/java`; what it can be asked stands in `Oracle.java`.
"""

import hashlib
import json
import subprocess
from base64 import b64encode
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.external import tools

SOURCES = tools.ROOT / "tests" / "compat" / "java"
STOP_SECONDS_MAX = 10


class JavaRefused(Exception):
    """Kafka's classes threw; the text is the exception's."""


class Oracle:
    """A running Java program. Bytes in a question are sent as base64, and so are answered."""

    def __init__(self, classpath: str, log: Path) -> None:
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        path = f"{compiled(classpath)}:{classpath}"
        with log.open("ab") as said:
            self._process = subprocess.Popen(
                [tools.java(), *options, "-cp", path, "Oracle"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
            )

    def ask(self, what: str, **about: Any) -> dict[str, Any]:
        """The answer, or `JavaRefused` with what Java said."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        question = json.dumps({"ask": what, **about}, default=as_base64)
        self._process.stdin.write(question.encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the Java program has ended; its log says why"
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise JavaRefused(answer["error"])
        return answer

    def __enter__(self) -> Self:
        """It runs since it was made."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """It ends by itself when nobody asks any more."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def as_base64(value: bytes | bytearray | memoryview) -> str:
    """How Jackson reads bytes from a text."""
    return b64encode(value).decode()


def compiled(classpath: str) -> Path:
    """The folder of its classes, made anew when the sources or the jars are others."""
    sources = sorted(SOURCES.glob("*.java"))
    command = [tools.javac(), "-nowarn", "-cp", classpath]
    digest = hashlib.sha256(classpath.encode())
    for source in sources:
        digest.update(source.read_bytes())
    classes = tools.CACHE / f"oracle-{digest.hexdigest()[:16]}"
    with tools.one_at_a_time():
        if not classes.exists():
            unfinished = classes.with_suffix(".unfinished")
            subprocess.run([*command, "-d", unfinished, *sources], check=True)
            unfinished.rename(classes)
    return classes
