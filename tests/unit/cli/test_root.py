"""Where the command begins: nouns found when they are called, and errors a person can read."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import click
import pytest

from odradek import __version__
from odradek.cli import main, root
from odradek.model.errors import CorruptBatch, InvalidSetting


class Ended(NamedTuple):
    """What is left of a command when it has ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Calls the command with these arguments, in this process."""

    def call(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["odradek", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        assert isinstance(end.value.code, int)
        return Ended(end.value.code, *capsys.readouterr())

    return call


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python of its own, with our sources."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[BaseException]]:
    """A noun `sink`, of whom each test says how it fails."""
    errors: list[BaseException] = []

    @click.command()
    def command() -> None:
        """Fail."""
        raise errors.pop()

    module = ModuleType("odradek.cli.sink")
    vars(module)["command"] = command
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(root, "NOUNS", {**root.NOUNS, "sink": "Fail."})
    yield errors
    assert not errors, "the noun was not called"


def test_the_version_is_the_packages(run: Run) -> None:
    """One number, in one place."""
    assert run("--version") == (0, f"odradek {__version__}\n", "")


def test_help_lists_every_noun(run: Run) -> None:
    """With the line of the table, so that no noun is imported for it."""
    code, out, _ = run("--help")
    assert code == 0
    for noun, line in root.NOUNS.items():
        assert noun in out
        assert line in " ".join(out.split())


@pytest.mark.parametrize("noun", root.NOUNS)
def test_a_noun_says_of_itself_what_the_table_says(noun: str) -> None:
    """Its module is there, and the first line of its own help is the table's."""
    module = import_module(f"odradek.cli.{noun.replace('-', '_')}")
    assert module.command.help.splitlines()[0] == root.NOUNS[noun]


@pytest.mark.parametrize("arguments", [["no-such-noun"], ["--no-such-option"], ["check"]])
def test_a_wrong_call_has_exit_code_two(run: Run, arguments: list[str]) -> None:
    """As everywhere, so that scripts can tell it from a failure."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "Usage: odradek" in err


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (InvalidSetting("a\nb"), "odradek: a\nodradek: b\n"),
        (CorruptBatch(), f"odradek: {CorruptBatch.code.sentence}\n"),
        (
            FileNotFoundError(2, "No such file", "a.properties"),
            "odradek: a.properties: No such file\n",
        ),
        (ConnectionRefusedError(111, "Connection refused"), "odradek: Connection refused\n"),
        (OSError("the socket is odd"), "odradek: the socket is odd\n"),
    ],
)
def test_what_went_wrong_is_a_sentence(
    run: Run,
    failing: list[BaseException],
    error: BaseException,
    says: str,
) -> None:
    """Never a traceback for what is not our fault: that is for people who repair us."""
    failing.append(error)
    assert run("sink") == (1, "", says)


def test_what_is_our_fault_keeps_its_traceback(
    run: Run,
    failing: list[BaseException],
) -> None:
    """Whoever reports it should be able to tell us where."""
    failing.append(AssertionError("impossible"))
    with pytest.raises(AssertionError, match="impossible"):
        run("sink")


def test_an_interrupt_ends_as_shells_expect(
    run: Run,
    failing: list[BaseException],
) -> None:
    """Ctrl-C is no error that anybody has to read about."""
    failing.append(KeyboardInterrupt())
    code, out, err = run("sink")
    assert (code, out, err.strip()) == (130, "", "")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """`odradek ... | head` ends without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        ended = subprocess.run(
            [sys.executable, "-m", "odradek", "--help"],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert (ended.returncode, ended.stderr) == (1, b"")


def test_python_without_asserts_is_refused() -> None:
    """An assert is how a mistake of ours is met before it reaches a disk."""
    ended = python("-O", "-m", "odradek", "--version")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "python -O" in ended.stderr


def test_beginning_is_cheap() -> None:
    """Neither the package nor `--help` imports what only pipelines need, or any noun."""
    script = (
        "import sys, odradek, odradek.cli.root\n"
        "try: odradek.cli.root.command(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules)"
    )
    ended = python("-c", script)
    assert ended.returncode == 0, ended.stderr
    imported = set(ended.stdout.split())
    heavy = {"numpy", "pyarrow", "pyspark", "pandas", "asyncio", "rich", "sqlite3", "uvloop"}
    assert not imported & heavy
    assert not {f"odradek.cli.{noun}" for noun in root.NOUNS} & imported
