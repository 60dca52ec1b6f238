"""Where the command begins: nouns found when they are called, and errors a person can read."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click
import pytest

from odradek import __version__
from odradek.cli import main, nouns
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
    monkeypatch.setitem(nouns.MODULES, "sink", module.__name__)
    yield errors
    assert not errors, "the noun was not called"


def test_the_version_is_the_packages(run: Run) -> None:
    """One number, in one place."""
    assert run("--version") == (0, f"odradek {__version__}\n", "")


def test_help_lists_every_noun(run: Run) -> None:
    """With the line of the table, so that no noun is imported for it."""
    code, out, _ = run("--help")
    assert code == 0
    for noun, line in nouns.NOUNS.items():
        assert noun in out
        assert line in " ".join(out.split())


@pytest.mark.parametrize("noun", nouns.NOUNS)
def test_a_noun_says_of_itself_what_the_table_says(noun: str) -> None:
    """Its module is there, and the first line of its own help is the table's."""
    module = import_module(nouns.MODULES[noun])
    assert module.command.help.splitlines()[0] == nouns.NOUNS[noun]


def test_a_script_that_is_not_here_says_what_is_instead(run: Run) -> None:
    """The nearest name would be another tool altogether."""
    code, out, err = run("kafka-replica-verification.sh", "--help-me")
    assert (code, out) == (2, "")
    assert err.endswith("is not here: Kafka's own script can be pointed at these brokers\n")
    assert "odradek serve server.properties" in run("kafka-server-start").err


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-noun"],
        ["--no-such-option"],
        ["check"],
        ["topic", "rename"],
        ["topic", "create", "a", "-p", "2147483648"],
        ["topic", "create", "a", "-r", "32768"],
        ["topic", "alter", "a", "-p", "2147483648"],
    ],
)
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
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_output_that_is_full_is_an_error() -> None:
    """One sentence, and the exit code of a failure."""
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "odradek", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": ""},
        )
    said = b"odradek: standard output: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (1, said)


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
    assert not set(nouns.MODULES.values()) & imported


def test_verbs_without_records_do_not_import_them() -> None:
    """`topic list` is called again and again by scripts; checksums and batches cost it a third."""
    script = "import sys, odradek.cli.records.topic, odradek.cli.records.group\nprint(*sys.modules)"
    ended = python("-c", script)
    assert ended.returncode == 0, ended.stderr
    unneeded = {"crc32c", "odradek.records.batch", "odradek.config.table"}
    unneeded |= {"odradek.cli.replicas.logdirs", "odradek.security.mechanisms.oauth"}
    unneeded |= {"odradek.security.tokens"}
    assert not unneeded & set(ended.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["topci", "list"], "did you mean 'topic'"),
        (["grouped"], "did you mean 'group"),
        (["topic", "lst"], "did you mean 'list'"),
        (["topic", "remove"], "there are: "),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(
    run: Run, arguments: list[str], near: str
) -> None:
    """Nobody has to look through the help for a letter."""
    code, _, err = run(*arguments)
    assert code == 2
    assert near in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["version"], f"odradek {__version__}"),
        (["help"], "Usage: odradek"),
        (["help", "topic"], "Usage: odradek topic"),
        (["help", "topics", "create"], "Usage: odradek topic"),
        (["topics", "--help"], "Topics: create"),
    ],
)
def test_what_people_type_first_is_understood(run: Run, arguments: list[str], says: str) -> None:
    """`help` and `version` as words, and nouns in the plural."""
    code, out, _ = run(*arguments)
    assert code == 0
    assert says in out


@pytest.mark.parametrize("width", [80])
def test_help_fits_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Every noun's help, within eighty columns."""
    monkeypatch.setenv("COLUMNS", str(width))
    for noun in nouns.NOUNS:
        code, out, _ = run(noun, "--help")
        assert code == 0
        assert max(map(len, out.splitlines())) <= width, noun


@pytest.mark.parametrize("words", ["127.0.0.1:abc", "::1:9092", "127.0.0.1:99999", "kafka://a:1"])
def test_an_address_that_is_none(run: Run, words: str) -> None:
    """A wrong call, not a cluster that refuses; and how it is written."""
    code, _, err = run("topic", "list", "-b", words)
    assert code == 2
    assert f"{words!r} is not host:port\n  next: --bootstrap HOST:PORT" in err


def test_an_address_of_ipv6_is_told_as_it_is_written(run: Run) -> None:
    """In brackets: its port would be one more part of it otherwise."""
    _, _, err = run("topic", "list", "-b", "[::1]:1", "--timeout", "3")
    assert err.startswith("odradek: no broker answers at [::1]:1: "), err
    assert "::1" not in err.removeprefix("odradek: no broker answers at [::1]:1: ")


def test_a_password_is_not_asked_for_without_a_terminal(run: Run) -> None:
    """A script is told what it did not give."""
    code, _, err = run("user", "add", "bob", "-b", "127.0.0.1:1")
    assert code == 2
    assert err == "odradek: the password of bob is not given\n  next: --password TEXT\n"


def test_nobody_answers(run: Run) -> None:
    """A broker that is not there: which one, why, what to do, and an exit code of its own."""
    code, out, err = run("topic", "list", "-b", "127.0.0.1:1")
    assert (code, out) == (3, "")
    assert err.splitlines() == [
        "odradek: no broker answers at 127.0.0.1:1: connection refused",
        "  next: odradek up starts a broker; --bootstrap HOST:PORT names another",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["-b", "127.0.0.1:1", "topic", "list"],
        ["topic", "-b", "127.0.0.1:1", "list"],
        ["topic", "list", "--bootstrap", "127.0.0.1:1"],
        ["topic", "list", "--bootstrap-server", "127.0.0.1:1"],
        ["topic", "list", "-X", "bootstrap.servers=127.0.0.1:1"],
        ["topic", "list", "-X", "metadata.broker.list=127.0.0.1:1"],
    ],
)
def test_common_options_stand_anywhere(run: Run, arguments: list[str]) -> None:
    """Before the noun, between noun and verb, behind the verb."""
    assert "127.0.0.1:1:" in run(*arguments)[2]


def test_the_nearest_source_of_a_setting_counts(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command line, the environment, --command-config, the context, in this order."""

    def asked(*more: str) -> str:
        return run("topic", "list", "--timeout", "5", *more)[2].split()[5].rstrip(":")

    monkeypatch.setenv("ODRADEK_CONTEXTS", str(tmp_path / "contexts.ini"))
    monkeypatch.delenv("ODRADEK_BOOTSTRAP", raising=False)
    assert run("context", "set", "near", "-b", "127.0.0.1:2").code == 0
    assert run("context", "set", "far", "-X", "bootstrap.servers=127.0.0.1:3").code == 0
    assert asked() == "127.0.0.1:2"
    assert asked("--context", "far") == "127.0.0.1:3"
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=127.0.0.1:4\nmax.poll.records=7\n")
    assert asked("--command-config", str(file)) == "127.0.0.1:4"
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "127.0.0.1:5")
    assert asked("--command-config", str(file)) == "127.0.0.1:5"
    assert asked("-X", "bootstrap.servers=127.0.0.1:6") == "127.0.0.1:6"
    assert asked("-X", "bootstrap.servers=127.0.0.1:6", "-b", "127.0.0.1:7") == "127.0.0.1:7"


def test_settings_of_clients_may_stand_elsewhere(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By `config.providers`, as for Kafka's clients; a context keeps what was written."""
    monkeypatch.setenv("ODRADEK_CONTEXTS", str(tmp_path / "contexts.ini"))
    monkeypatch.delenv("ODRADEK_BOOTSTRAP", raising=False)
    secrets, file = tmp_path / "secrets", tmp_path / "client.properties"
    secrets.write_text("address=127.0.0.1:4\n")
    file.write_text(
        "config.providers=file\n"
        "config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n"
        f"bootstrap.servers=${{file:{secrets}:address}}\n"
    )
    listing = ("topic", "list", "--timeout", "5")
    assert "127.0.0.1:4:" in run(*listing, "--command-config", str(file))[2]
    assert run("context", "set", "near", "--command-config", str(file)).code == 0
    assert "127.0.0.1:4" not in (tmp_path / "contexts.ini").read_text()
    assert "127.0.0.1:4:" in run(*listing)[2]
    secrets.write_text("other=1\n")
    assert (
        f"bootstrap.servers (settings of this client): provider file: {secrets} has no"
        in (run(*listing)[2])
    )


def test_contexts_are_kept_in_a_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Made, listed, chosen, deleted; an unknown one is answered with the nearest."""
    monkeypatch.setenv("ODRADEK_CONTEXTS", str(tmp_path / "below" / "contexts.ini"))
    assert run("context", "list").out == "context\tcurrent\tbootstrap\n"
    run("context", "set", "laptop", "-b", "127.0.0.1:1")
    run("context", "set", "prod", "-b", "b1:9092,b2:9092", "-X", "client.id=me")
    assert run("context", "use", "prod").out == "context prod is the current one\n"
    assert run("context", "list").out.splitlines()[1:] == [
        "laptop\tno\t127.0.0.1:1",
        "prod\tyes\tb1:9092,b2:9092",
    ]
    code, _, err = run("context", "use", "pord")
    assert (code, "did you mean 'prod'" in err) == (1, True)
    assert run("context", "delete", "prod").code == 0
    assert [row["context"] for row in json.loads(run("context", "list", "--json").out)] == [
        "laptop"
    ]
    assert run("context", "set", "empty").code == 2


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("bootstrap.server=b:1", "did you mean 'bootstrap.servers'"),
        ("security.protocol=TLS", "must be one of PLAINTEXT, SSL"),
        ("security.protocol=SASL_SSL", "Kerberos is not spoken here"),
        ("sasl.username=me", "not honoured here"),
        ("ssl.engine.factory.class=mine", "not honoured here"),
        ("nonsense", "is not NAME=VALUE"),
    ],
)
def test_client_settings_that_cannot_be_honoured(run: Run, setting: str, says: str) -> None:
    """A setting that has no effect on security must not look as if it had."""
    code, _, err = run("topic", "list", "-b", "127.0.0.1:1", "-X", setting)
    assert code != 0
    assert says in err


def test_settings_of_other_clients_are_named_where_they_have_no_effect(run: Run) -> None:
    """-X takes what people have in their fingers, and says what it did not do."""
    err = run("topic", "list", "-b", "127.0.0.1:1", "-X", "fetch.min.bytes=1")[2]
    assert "fetch.min.bytes has no effect" in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run: Run, shell: str) -> None:
    """A script for each shell."""
    code, out, _ = run("completion", shell)
    assert code == 0
    assert "_ODRADEK_COMPLETE" in out


def test_a_closed_output_is_an_error(tmp_path: Path) -> None:
    """What nobody could read was not printed, and that is not success."""
    script = f"exec {sys.executable} -m odradek context list >&-"
    ended = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(sys.path), "ODRADEK_CONTEXTS": str(tmp_path / "none")},
    )
    assert ended.returncode == 1
    assert ended.stderr == "odradek: standard output is closed\n"
