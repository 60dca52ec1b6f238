"""`odradek group` against a broker, as people call it."""

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from confluent_kafka import Consumer

from tests.compat.odradek_shell import Shell, fresh


def test_a_group_reads_and_remembers(odradek: Shell, letters: str) -> None:
    """As a member, for so many records; the next one goes on behind them."""
    group = fresh("readers")
    assert odradek("consume", letters, "-g", group, "-n", "3").out == "a\nb\nc\n"
    assert odradek("consume", letters, "-g", group, "-n", "2").out == "d\ne\n"
    assert [group, "Empty", "consumer"] in odradek("group", "list").rows
    (found,) = odradek("group", "describe", group, "--json").json
    assert (found["group"], found["state"]) == (group, "Empty")
    (row,) = [row for row in found["partitions"] if row["partition"] == 0]
    assert (row["topic"], row["committed"], row["end"], row["lag"]) == (letters, 5, 8, 3)
    described = odradek("group", "describe", group)
    assert described.err == f"{group}  Empty  0 members  lag 3\n"
    assert [group, letters, "0", "5", "8", "3", *"---"] in described.rows


def test_a_group_ends_where_it_was_told_to(odradek: Shell, letters: str) -> None:
    """-e and --read-committed hold for a member as they do for one alone."""
    group = fresh("readers")
    said = odradek("consume", letters, "-g", group, "-e", "--read-committed").out
    assert said == "a\nb\nc\nd\ne\nf\ng\nh\n"
    assert odradek("consume", letters, "-g", group, "-e").out == ""
    assert odradek("consume", letters, "-g", fresh("readers"), "-e", "-o", "end").out == ""


def test_unknown_lag_is_not_nought(odradek: Shell, letters: str) -> None:
    """What was never committed is told as unknown, in sums too."""
    group = fresh("readers")
    odradek("group", "reset-offsets", group, "-t", f"{letters}:1", "--to-latest", "--execute")
    rows = odradek("group", "describe", group, "--json").json[0]["partitions"]
    assert [row["lag"] for row in rows] == [0]
    with Members(odradek, group, letters):
        rows = odradek("group", "describe", group, "--json").json[0]["partitions"]
        assert {row["partition"]: row["lag"] for row in rows} == {0: None, 1: 0}
        assert "lag 0 and 1 partition unknown" in odradek("group", "describe", group).err
        (member,) = odradek("group", "members", group, "--json").json
        assert member["partitions"] == 2
        assert "members first" in odradek.fails("group", "delete", group, "--yes")


def test_a_static_member_that_has_stopped_is_removed(odradek: Shell, letters: str) -> None:
    """It says nothing at its end, and the group waits for it; without a yes nothing is done."""
    group = fresh("readers")
    with Members(odradek, group, letters, **{"group.instance.id": "till-1"}):
        pass
    remove = ("group", "remove-member", group)
    assert "has no member 'till-2'" in odradek.fails(*remove, "till-2", "--yes")
    refused = odradek.fails(*remove, "till-1", code=2)
    assert refused.endswith(f" from group {group}: not done without --yes\n")
    (member,) = odradek("group", "members", group, "--json").json
    assert odradek(*remove, "till-1", "--yes").out.startswith(f"group {group}: till-1")
    assert odradek("group", "members", group, "--json").json == []
    assert "has no member" in odradek.fails(*remove, member["member"], "--yes")


class Members:
    """A member that has been assigned everything and has read nothing, while it lasts."""

    def __init__(self, odradek: Shell, group: str, topic: str, **more: str) -> None:
        settings = more | {
            "bootstrap.servers": odradek.bootstrap,
            "group.id": group,
            "auto.offset.reset": "latest",
            "enable.auto.commit": False,
        }
        self._consumer = Consumer(settings)
        self._assigned = Event()
        self._consumer.subscribe([topic], on_assign=lambda *_: self._assigned.set())

    def __enter__(self) -> None:
        while not self._assigned.is_set():
            self._consumer.poll(0.1)

    def __exit__(self, *_: object) -> None:
        self._consumer.close()


Reset = Callable[[Shell, str, str], None]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 8),
        (("--to-offset", "4"), 4),
        (("--to-offset", "99"), 8),
        (("--shift-by", "-2"), 3),
        (("--shift-by", "-99"), 0),
        (("--to-datetime", "1970-01-01"), 0),
        (("--to-datetime", "2999-01-01T00:00:00+02:00"), 8),
        (("--to-current",), 5),
        (("--by-duration", "PT1H"), 0),
        (("--by-duration", "PT0S"), 8),
    ],
)
def test_a_group_is_moved(
    odradek: Shell, letters: str, how: tuple[str, ...], expected: int
) -> None:
    """Within what is there; without --execute it is a plan, as with Kafka's tool."""
    group = fresh("readers")
    odradek("consume", letters, "-g", group, "-n", "5")

    def committed() -> list[int]:
        found = odradek("group", "describe", group, "--json").json[0]["partitions"]
        return [row["committed"] for row in found if row["partition"] == 0]

    about = ("group", "reset-offsets", group, *how)
    moved = {"topic": letters, "partition": 0, "before": 5, "after": expected}
    planned = odradek(*about, "--json")
    assert moved in planned.json
    assert "this is a plan" in planned.err
    assert committed() == [5]
    assert moved in odradek(*about, "--execute", "--json").json
    assert committed() == [expected]


def test_a_plan_can_be_kept_and_carried_out_later(
    odradek: Shell, letters: str, tmp_path: Path
) -> None:
    """As the JSON of a plan, or as lines of Kafka's tool."""
    group = fresh("readers")
    odradek("consume", letters, "-g", group, "-n", "5")
    file = tmp_path / "plan"
    about = ("group", "reset-offsets", group)
    file.write_text(odradek(*about, "--shift-by", "-2", "--json").out)
    after = {row[1]: row[3] for row in odradek(*about, "--from-file", str(file), "--execute").rows}
    assert after == {"0": "3", "1": "0"}
    file.write_text(f"{letters},0,7\n")
    assert odradek(*about, "--from-file", str(file)).rows == [[letters, "0", "3", "7"]]
    file.write_text("nonsense\n")
    assert "topic,partition,offset" in odradek.fails(*about, "--from-file", str(file))


def test_groups_are_forgotten(odradek: Shell, letters: str) -> None:
    """Where one was in a topic, or all of it."""
    group, other = fresh("readers"), fresh("readers")
    for name in (group, other):
        odradek("consume", letters, "-g", name, "-n", "5")
    said = odradek("group", "delete-offsets", group, letters, "--yes").out
    assert said == f"group {group}: offsets of 2 partitions of {letters} deleted\n"
    said = odradek("group", "delete", other, "--yes").out
    assert said == f"group {other} deleted\n"
    assert other not in odradek("group", "list").out


def test_groups_that_cannot_be(odradek: Shell, letters: str) -> None:
    """Called wrongly, or about groups that nobody knows: one sentence each."""
    assert "exactly one" in odradek.misused("group", "reset-offsets", "readers")
    both = ("--to-latest", "--shift-by", "1")
    assert "exactly one" in odradek.misused("group", "reset-offsets", "readers", *both)
    assert "no time" in odradek.fails(
        "group", "reset-offsets", fresh("new"), "-t", letters, "--to-datetime", "soon", code=2
    )
    assert "no duration" in odradek.fails(
        "group", "reset-offsets", fresh("new"), "-t", letters, "--by-duration", "1h", code=2
    )
    odradek.fails("group", "delete-offsets", "not-there", letters, "--yes")
