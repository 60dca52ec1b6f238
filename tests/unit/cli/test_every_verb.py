"""Every verb and every script, however it is called: no broker, a wrong option, no traceback."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from odradek.cli import main
from odradek.cli.nouns import NOUNS, SCRIPTS
from odradek.cli.root import command
from odradek.cli.words.grammar import LocalVerb, Verb
from tests.external.ports import free_port

MORE = {
    "user add": ["--password", "secret"],
    "acl add": ["--topic", "x", "--allow-principal", "User:x"],
    "acl remove": ["--topic", "x", "--yes"],
    "debug bundle": ["--out", "debug.tar.gz"],
    "topic alter": ["-p", "9"],
    "topic trim": ["--all", "--yes"],
    "topic delete": ["--yes"],
    "group delete": ["--yes"],
    "group delete-offsets": ["--yes"],
    "group remove-member": ["--yes"],
    "group reset-offsets": ["--to-earliest"],
    "config alter": ["x", "-s", "retention.ms=1"],
    "config describe": ["x"],
    "cluster roll": ["--command", "true"],
    "partition reassign": ["--brokers", "1"],
    "kafka-topics": ["--list"],
    "kafka-console-producer": ["--topic", "x"],
    "consume": ["-e"],
    "kafka-console-consumer": ["--topic", "x", "--timeout-ms", "3000"],
    "kafka-consumer-groups": ["--list"],
    "kafka-configs": ["--describe", "--entity-type", "topics"],
    "user remove": ["--yes"],
    "quota set": ["--user", "x", "producer_byte_rate=1M"],
    "quota remove": ["--user", "x", "--yes"],
    "kafka-acls": ["--list"],
    "kafka-log-dirs": ["--describe"],
    "kafka-reassign-partitions": ["--list"],
    "kafka-leader-election": ["--election-type", "preferred", "--all-topic-partitions"],
    "kafka-transactions": ["list"],
    "kafka-features": ["describe"],
    "kafka-producer-perf-test": ["--topic", "x", "--num-records", "1", "--record-size", "1"],
    "kafka-consumer-perf-test": ["--topic", "x", "--messages", "1"],
}
"""What a call needs beside its arguments."""
OF_NO_BROKER = {"kafka-dump-log", "kafka-delete-records", "zookeeper-security-migration"}


def verbs() -> Iterator[tuple[str, click.Command]]:
    """Those that talk to a cluster; Spark's are not imported."""
    context = click.Context(command)
    for noun in NOUNS:
        found = command.get_command(context, noun)
        below = found.commands if isinstance(found, click.Group) else {"": found}
        for name, verb in below.items():
            if isinstance(verb, Verb) and not isinstance(verb, LocalVerb) and noun != "context":
                yield f"{noun} {name}".strip(), verb


VERBS = dict(verbs())
CALLS = [*VERBS, *(it for it in SCRIPTS if it not in OF_NO_BROKER)]


def arguments_of(name: str) -> list[str]:
    """One of each, of the right type."""
    if name == "partition throttle":
        return ["none"]
    found = []
    for parameter in VERBS[name].params if name in VERBS else ():
        if isinstance(parameter, click.Argument) and parameter.required:
            kind = parameter.type
            numbered = isinstance(kind, click.types.IntParamType)
            choice = kind.choices[0] if isinstance(kind, click.Choice) else "x"
            found.append("1" if numbered else str(choice))
    return [*found, *MORE.get(name, [])]


@pytest.mark.parametrize("name", CALLS)
def test_without_a_broker(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A sentence says where none answers and what to do; nothing is waited for."""
    monkeypatch.chdir(tmp_path)
    nobody = f"127.0.0.1:{free_port()}"
    call = [*name.split(), *arguments_of(name), "--bootstrap-server", nobody]
    monkeypatch.setattr(sys, "argv", ["odradek", *call])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    if end.value.code == 2 and name not in MORE and name in VERBS:
        assert "Error: " in err  # it needs more than its arguments, and says so
        return
    if name == "debug bundle":  # it says in the archive that they are missing
        assert f"missing: brokers: no broker answers at {nobody}" in out
        return
    assert end.value.code == (3 if name in VERBS else 1), err
    if name == "doctor":  # it finds that, and prints what it finds
        assert f"error: {nobody}: connection refused (127.0.0.1)\n  next: " in out
        return
    assert f"no broker answers at {nobody}: connection refused" in err
    if name in VERBS:
        assert (out, err.count("\n")) == ("", 2)


@pytest.mark.parametrize("name", CALLS)
def test_help_fits_a_terminal(name: str) -> None:
    """No line of any help is wider than 80 columns."""
    context = click.Context(command, terminal_width=80, info_name="odradek")
    found: click.Command | None = command
    for word in name.split():
        assert isinstance(found, click.Group)
        found = found.get_command(context, word)
        assert found is not None
        context = click.Context(found, info_name=word, parent=context)
    assert found is not None
    lines = found.get_help(context).splitlines()
    assert max(map(len, lines)) <= 80
    assert re.match(r"Usage: odradek ", lines[0])
    assert lines[2].strip()
