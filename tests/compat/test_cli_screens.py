"""What a person sees on a terminal of 80 columns, kept as text in `screens/`.

`ODRADEK_SCREENS=write` writes them anew; then they are looked at. What differs from run to run
(ids, ports, times) is replaced by a word of the same meaning.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.compat.broker_process import OdradekBroker, eventually
from tests.compat.calls import side_by_side
from tests.compat.test_long_names import ARGUMENTS, LISTING
from tests.external import tools
from tests.external.ports import free_port
from tests.terminal import shown

SCREENS: Final = Path(__file__).with_name("screens")
COLUMNS: Final = 80
COLOURS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CALLS: Final = {
    "help of a noun": "topic --help",
    "help of a verb": "topic create --help",
    "help of a destroying verb": "topic trim --help",
    "help of a script": "kafka-get-offsets --help",
    "cluster describe": "cluster describe",
    "cluster health": "cluster health",
    "broker list": "broker list",
    "topic list": "topic list",
    "topic describe": "topic describe orders",
    "topic create again": "topic create orders",
    "topic describe wrong": "topic describe order",
    "topic trim without yes": "topic trim orders --all",
    "topic wrong verb": "topic descibe orders",
    "user remove wrong": "user remove nobody --yes",
    "wrong noun": "topcs list",
    "wrong option": "topic list --jsn",
    "group describe": "group describe readers",
    "group plan": "group reset-offsets readers --to-earliest",
    "config describe": "config describe topic orders",
    "config wrong": "config alter topic orders -s retention=5",
    "offsets list": "offsets list orders",
    "controller describe": "controller describe",
    "controller move wrong": "controller move 9",
    "partition elect": "partition elect",
    "partition elect wrong": "partition elect orders -p 9",
    "partition reassign": "partition reassign orders -r 1",
    "partition reassign wrong": "partition reassign orders -r 3",
    "partition reassignments": "partition reassignments",
    "logdirs balance": "logdirs balance",
    "producer ids": "producer-id list orders",
    "setting of a topic wrong": "topic create other -c retension.ms=5",
    "help of completion": "completion --help",
    "consume json": "consume orders -n 1 --json",
    "script wrong": "kafka-topics --list --describe",
    "no broker": "-b NOBODY topic list",
    "no broker for a script": "kafka-topics --bootstrap-server NOBODY --list",
}
SENTENCES: Final = {
    "consume json",
    "script wrong",
    "setting of a topic wrong",
    "user remove wrong",
}
"""A terminal breaks them: a record as JSON, an error."""
SHORT: Final = {
    "config describe": ("topic", "orders"),
    "consume": ("orders", "-n", "1"),
    "group describe": ("readers",),
    "group members": ("readers",),
    "group reset-offsets": ("readers", "--to-earliest"),
    "partition reassign": ("orders", "--replicas", "1", "--dry-run"),
    "producer-id list": ("orders",),
    "topic describe": ("orders",),
    "transaction producers": ("orders",),
}
"""What verbs are called with that else have the longest names."""
SHOW_PATHS: Final = {"doctor", "broker describe", *(it for it in LISTING if "logdirs" in it)}
CHANGING: Final = (
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST:PORT"),
    (re.compile(r"(?<=host=)\S+|/127\.0\.0\.1"), "HOST"),
    (
        re.compile(r"(?<=id )[A-Za-z0-9_-]{22}|(?<=Id: )[A-Za-z0-9_-]{22}|(?<=^cluster )\S{22}"),
        "ID",
    ),
    (re.compile(r"\b1[0-9]{12}\b"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"), "TIME".center(25)),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME".rjust(20)),
    (re.compile(r"(?m)^(topics|partitions|controller epoch): \d+"), r"\1: N"),
    (re.compile(r"(?<=127\.0\.0\.1  )\d{5}"), "PORT "),
)


@pytest.fixture(scope="module")
def prepared(broker: OdradekBroker) -> Iterator[OdradekBroker]:
    """A topic with records, and a group that has read some."""
    for call in (
        "topic create orders -p 2 -c retention.ms=86400000",
        "consume orders -g readers -e",
    ):
        screen(broker.bootstrap, call)
    run = ["produce", "orders", "-K", ":"]
    subprocess.run(
        command(*run), input=b"a:1\nb:2\n", env=environment(broker.bootstrap), check=True
    )
    yield broker
    screen(broker.bootstrap, "topic delete orders --yes")


def command(*arguments: str) -> list[str]:
    """In a process of its own."""
    return [sys.executable, "-c", MAIN, *arguments]


MAIN: Final = "import sys; sys.argv[0] = 'odradek'; from odradek.cli import main; main()"


def environment(bootstrap: str) -> dict[str, str]:
    """Nothing of this machine's."""
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(tools.ROOT / "src"),
        "ODRADEK_BOOTSTRAP": bootstrap,
        "TERM": "xterm",
        "XDG_CONFIG_HOME": "nowhere",
    }


def screen(bootstrap: str, call: str) -> str:
    """What stands on the terminal afterwards, and the exit code."""
    text, code = shown(command(*call.split()), environment(bootstrap))
    return f"{COLOURS.sub('', text).rstrip()}\n[exit code {code}]\n"


def told(bootstrap: str, call: str) -> str:
    """It, without what differs from run to run."""
    seen = screen(bootstrap, call)
    for pattern, word in CHANGING:
        seen = pattern.sub(word, seen)
    return seen


@pytest.mark.parametrize("name", CALLS)
def test_a_screen(prepared: OdradekBroker, name: str) -> None:
    """It is the one that was looked at, and no line of help is wider than the terminal."""
    call = CALLS[name].replace("NOBODY", f"127.0.0.1:{free_port()}")
    seen = told(prepared.bootstrap, call)
    if "hangs" in seen:  # a disk of this machine had no answer for a second

        def answers() -> bool:
            nonlocal seen
            seen = told(prepared.bootstrap, call)
            return "hangs" not in seen

        eventually(answers, what="the disk answers again")
    shown = f"$ odradek {CALLS[name]}".rstrip() + f"\n{seen}"
    file = SCREENS / f"{name.replace(' ', '-')}.txt"
    if os.environ.get("ODRADEK_SCREENS") == "write":
        file.write_text(shown)
    assert shown == file.read_text()
    if name not in SENTENCES:
        assert max(map(len, seen.splitlines())) <= COLUMNS
    assert "Traceback" not in seen


def test_every_verb_that_only_looks_fits(prepared: OdradekBroker) -> None:
    """Where names are short; tables that show paths are as wide as these."""
    called = [
        [*name.split(), *SHORT.get(name, tuple(ARGUMENTS.get(name, ())))]
        for name in LISTING
        if name not in SHOW_PATHS
    ]
    ended = side_by_side(called, environment(prepared.bootstrap), on_a_terminal=True)
    for it in ended:
        assert it.code in {0, 1}, it
        lines = COLOURS.sub("", it.out).splitlines()
        assert [line for line in lines if len(line) > COLUMNS] == [], it.call


def test_colours_are_for_terminals_that_want_them(prepared: OdradekBroker) -> None:
    """None in a pipe, and none where NO_COLOR or TERM=dumb asks for none."""
    around = environment(prepared.bootstrap)
    for name in ("broker list", "cluster health", "topic describe", "partition reassign"):
        call = CALLS[name]
        pipe = subprocess.run(
            command(*call.split()), env=around, capture_output=True, check=False, timeout=30
        )
        assert b"\x1b" not in pipe.stdout + pipe.stderr, call
        for refusal in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\x1b[3" not in shown(command(*call.split()), {**around, **refusal})[0], call


def test_every_screen_that_is_kept_is_shown() -> None:
    """One whose call is gone would never be looked at again."""
    assert {path.stem for path in SCREENS.glob("*.txt")} == {it.replace(" ", "-") for it in CALLS}
