"""Programs of other people's, in processes of their own, beside a cluster of ours."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from tests.compat.java_clients import TOOLS
from tests.external.tools import LOG4J
from tests.external.zookeeper import die_with_parent

SECONDS_MAX: Final = 60
JVM: Final = ("-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Dlog4j.configuration=file:{LOG4J}")


class Program:
    """A client in a process of its own, which says what it does into a file."""

    def __init__(self, command: Sequence[str], said: Path) -> None:
        self._said = said
        self._file: IO[bytes] = said.open("wb")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
        )

    def lines(self) -> list[str]:
        """Whole ones."""
        return self._said.read_text().split("\n")[:-1]

    def close(self) -> None:
        """However it went."""
        self.process.kill()
        self.process.communicate()
        self._file.close()


class JavaProgram(Program):
    """One of Kafka's programs."""

    def __init__(self, classpath: str, main: str, folder: Path, *arguments: str) -> None:
        command = ["java", *JVM, "-cp", classpath, f"{TOOLS}.{main}", *arguments]
        super().__init__(command, folder / main)

    def finish(self) -> None:
        """By SIGTERM, as a user would; what it says as its last is in the file then."""
        self.process.terminate()
        self.process.communicate(timeout=SECONDS_MAX)


@contextmanager
def running(*programs: Program) -> Iterator[None]:
    """None is left behind."""
    try:
        yield
    finally:
        for program in programs:
            program.close()
