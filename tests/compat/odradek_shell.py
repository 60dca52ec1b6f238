"""Calling the odradek command in this process, as people call it from a shell."""

import io
import json
import re
import sys
from itertools import count
from typing import Any, NamedTuple

import pytest

from odradek.cli import main

_NUMBERS = count()


class Ended(NamedTuple):
    """What is left of a command when it has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it has printed for programs."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """What it has printed for scripts, without the names of the columns."""
        return [line.split("\t") for line in self.out.splitlines()[1:]]


_OF_LIBRDKAFKA = re.compile(r"^%[0-7]\|.*\n", re.MULTILINE)
"""What threads of clients in this process say of brokers that are gone."""


class Shell:
    """Calls the command in this process, with what a pipe would bring."""

    def __init__(self, capture: pytest.CaptureFixture[bytes], patch: pytest.MonkeyPatch) -> None:
        self.bootstrap = ""
        self._capture = capture
        self._patch = patch

    def run(self, *arguments: str, said: bytes = b"") -> Ended:
        """However it ends."""
        self._patch.setattr(sys, "argv", ["odradek", *arguments])
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said)))
        self._patch.setenv("ODRADEK_BOOTSTRAP", self.bootstrap)
        with pytest.raises(SystemExit) as end:
            main()
        out, err = self._capture.readouterr()
        assert isinstance(end.value.code, int)
        return Ended(end.value.code, out.decode(), _OF_LIBRDKAFKA.sub("", err.decode()))

    def __call__(self, *arguments: str, said: bytes = b"") -> Ended:
        """It must end well."""
        ended = self.run(*arguments, said=said)
        assert ended.code == 0, ended
        return ended

    def fails(self, *arguments: str, code: int = 1) -> str:
        """It cannot be done: the sentence that says why, perhaps with what to do next."""
        ended = self.run(*arguments)
        assert (ended.code, ended.out) == (code, ""), ended
        assert ended.err.startswith("odradek: "), ended
        assert ended.err.count("\n") <= 2, ended
        return ended.err

    def misused(self, *arguments: str) -> str:
        """It was called wrongly: what it says of that."""
        ended = self.run(*arguments)
        assert (ended.code, ended.out) == (2, ""), ended
        return ended.err


def fresh(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{next(_NUMBERS)}"


def group_that_read(odradek: Shell, topic: str) -> str:
    """It has read all of a topic and has gone."""
    group = fresh("readers")
    odradek("consume", topic, "-g", group, "-e")
    return group


def fresh_topic(odradek: Shell) -> str:
    """One with a partition and no records."""
    name = fresh("empty")
    odradek("topic", "create", name, "-p", "1")
    return name
