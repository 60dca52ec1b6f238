"""What listing verbs show where names are as long as they may be: all, on 80 columns and in a pipe.

The verbs are those that only look, so a new one is seen here, and those that show a plan.
"""

import json
import re
from typing import Final

import pytest

from tests.compat.broker_process import OdradekBroker
from tests.compat.calls import Ended, side_by_side
from tests.compat.test_nothing_unasked import HARMLESS
from tests.unit.cli.test_every_verb import VERBS

TOPIC: Final = "orders." + "very-long-name_" * 16 + "x2"
GROUP: Final = "readers of " + "a long name, " * 12
USER: Final = (
    "user with a rather long name of more than eighty columns, which fits no terminal at all"
)
CLIENT: Final = "client-" + "of-a-long-name-" * 9
assert len(TOPIC) == 249, "Kafka takes no longer one"

ARGUMENTS: Final = {
    "broker clients": ["1", "--seconds", "1"],
    "broker describe": ["1"],
    "broker drain": ["1", "--status"],
    "cluster roll": ["--command", "true", "--dry-run"],
    "config describe": ["topic", TOPIC],
    "consume": [TOPIC, "-e", "-f", "%t %p %o"],
    "doctor": ["--timeout", "20"],  # all verbs ask at once
    "group describe": [GROUP],
    "group members": [GROUP],
    "group reset-offsets": [GROUP, "-t", TOPIC, "--to-earliest"],
    "partition reassign": [TOPIC, "--replicas", "1", "--dry-run"],
    "producer-id list": [TOPIC],
    "topic describe": [TOPIC],
    "transaction producers": [TOPIC],
}
ELSEWHERE: Final = {
    "acl list": "tests/live/test_access_rules.py",  # there are no rules without an authorizer
    "audit": "tests/pipelines",
    "transaction describe": "tests/live/test_transactions_cli.py",  # of an id that there is
    "transaction hanging": "tests/live/test_transactions_cli.py",
    "verify": "tests/pipelines",
}
NAMES: Final = {
    "consume": (TOPIC,),
    "group describe": (TOPIC,),
    "group list": (GROUP,),
    "group reset-offsets": (TOPIC,),
    "logdirs partitions": (TOPIC,),
    "offsets list": (TOPIC,),
    "quota list": (USER, CLIENT),
    "topic describe": (TOPIC,),
    "topic list": (TOPIC,),
    "user list": (USER,),
}
"""What each has to show; others show none of them."""
PLANNING: Final = (
    "broker drain",
    "cluster roll",
    "group reset-offsets",
    "logdirs balance",
    "partition elect",
    "partition reassign",
)
"""These change something, and show without doing so what it would be."""
LISTING: Final = [
    *(
        name
        for name in re.split(r"\s*[;\n]\s*", HARMLESS["only looks"].strip())
        if name in VERBS and name not in ELSEWHERE
    ),
    *PLANNING,
]
CALLS: Final = [[*it.split(), *ARGUMENTS.get(it, [])] for it in LISTING]
PRODUCED: Final = ("--num-records", "20", "--record-size", "10", "--throughput", "-1")
MARKS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def prepared(broker: OdradekBroker) -> dict[str, str]:
    """One of everything, each with a long name; the environment of calls."""
    around = {"ODRADEK_BOOTSTRAP": broker.bootstrap, "TERM": "xterm", "NO_COLOR": ""}
    for calls in (
        (["topic", "create", TOPIC, "-p", "2"],),
        (
            ["kafka-producer-perf-test", "--topic", TOPIC, *PRODUCED],
            ["user", "add", USER, "--password", "secret"],
            ["quota", "set", "--user", USER, "--client", CLIENT, "producer_byte_rate=10M"],
        ),
        (["consume", TOPIC, "-e", "-g", GROUP],),
    ):
        for ended in side_by_side(calls, around):
            assert ended.code == 0, ended
    return around


def shown(around: dict[str, str], *, on_a_terminal: bool) -> dict[str, Ended]:
    """All of them."""
    ended = side_by_side(CALLS, around, on_a_terminal=on_a_terminal)
    assert not [it for it in ended if it.code], ended
    return dict(zip(LISTING, ended, strict=True))


def test_names_are_whole_and_pipes_are_plain(prepared: dict[str, str]) -> None:
    """A terminal breaks what is too long by itself; a cut name is the name of nothing."""
    piped, seen = (shown(prepared, on_a_terminal=it) for it in (False, True))
    for name in LISTING:
        text = MARKS.sub("", seen[name].out)
        assert "\x1b" not in text + piped[name].out + piped[name].err, name
        assert "…" not in text + piped[name].out, name
        for long in NAMES.get(name, ()):
            assert long in text, (name, text)
            assert long in piped[name].out, (name, piped[name].out)
        lines = piped[name].out.splitlines()
        assert len(text.splitlines()) >= len(lines) > 0, (name, text)
        assert not [it for it in lines if it != it.rstrip(" ")], name


def test_tables_in_a_pipe_have_as_many_columns_as_names(prepared: dict[str, str]) -> None:
    """What `cut` and `awk` rely on, whatever stands in a name: no sentence stands among the rows.

    Nor are there names twice, where there are several of something.
    """
    for name, ended in shown(prepared, on_a_terminal=False).items():
        lines = ended.out.splitlines()
        if "\t" in ended.out:
            assert len({it.count("\t") for it in lines}) == 1, (name, ended.out)
        assert lines.count(lines[0]) == 1, (name, ended.out)


def test_a_terminal_that_is_dumb_gets_no_marks(prepared: dict[str, str]) -> None:
    """Neither colours nor bold letters; nor one whose user wants none."""
    for asked in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
        for name, ended in shown({**prepared, **asked}, on_a_terminal=True).items():
            assert "\x1b" not in ended.out, name


def test_programs_read_whole_names(prepared: dict[str, str]) -> None:
    """Each document is one, with the names in it."""
    calls = [[*call, "--json"] for call in CALLS]
    calls[LISTING.index("consume")] = ["consume", TOPIC, "-e", "--json"]
    for name, ended in zip(LISTING, side_by_side(calls, prepared), strict=True):
        documents = ended.out.splitlines() if name == "consume" else [ended.out]
        assert ended.code == 0, ended
        assert all(json.loads(it) is not None for it in documents), name
        assert all(it in ended.out for it in NAMES.get(name, ())), (name, ended.out)
