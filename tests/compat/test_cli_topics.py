"""`odradek topic` against a broker, as people call it."""

from tests.compat.odradek_shell import Shell, fresh, fresh_topic, group_that_read


def test_topics_come_and_go(odradek: Shell) -> None:
    """Made with settings, listed, described, enlarged, altered, deleted."""
    name = fresh("orders")
    made = odradek("topic", "create", name, "-p", "3", "-r", "1", "-c", "retention.ms=1000")
    assert made.out == f"topic {name} created: 3 partitions, 1 replica each\n"
    assert [name, "3", "1"] in odradek("topic", "list").rows
    assert {"topic": name, "partitions": 3, "replicas": 1} in odradek(
        "topic", "list", "--json"
    ).json
    described = odradek("topic", "describe", name)
    assert described.err.startswith(f"{name}  id ")
    assert described.rows[0] == [name, *"0101100", *"---"]
    (found,) = odradek("topic", "describe", name, "--json").json
    assert (found["topic"], found["settings"]) == (name, {"retention.ms": "1000"})
    assert len(found["partitions"]) == 3
    state = {"leader": 1, "epoch": 0, "replicas": [1], "isr": [1]}
    moves: dict[str, list[int]] = {"adding": [], "removing": [], "offline": []}
    assert found["partitions"][2] == {"partition": 2, **state, "start": 0, "end": 0, **moves}
    changes = ("-p", "4", "-c", "segment.bytes=1000000", "-d", "retention.ms")
    said = odradek("topic", "alter", name, *changes).out
    done = "4 partitions, segment.bytes=1000000, retention.ms back to its default"
    assert said == f"topic {name}: {done}\n"
    assert len(odradek("topic", "describe", name, "--json").json[0]["partitions"]) == 4
    assert odradek("config", "describe", "topic", name).rows == [
        ["segment.bytes", "1000000", "topic"]
    ]
    assert odradek("topic", "delete", name, "--yes").out == f"topic {name} deleted\n"
    assert name not in odradek("topic", "list").out


def test_several_topics_at_once(odradek: Shell) -> None:
    """By names and by patterns; what is there already, or is not, can be no error."""
    prefix = fresh("many")
    names = [f"{prefix}-{letter}" for letter in "abc"]
    made = odradek("topic", "create", *names, "-p", "1", "--json").json
    assert made == [
        {"topic": name, "created": True, "partitions": 1, "replicas": 1} for name in names
    ]
    again = odradek("topic", "create", *names, f"{prefix}-d", "--if-not-exists", "--json").json
    assert [row["created"] for row in again] == [False, False, False, True]
    assert [row[0] for row in odradek("topic", "list", f"{prefix}-[ab]").rows] == names[:2]
    assert "no topic matches" in odradek.fails("topic", "delete", f"{prefix}-x*", "--yes")
    said = odradek("topic", "delete", f"{prefix}-*", "--yes").out
    assert said.count("deleted") == 4
    assert odradek("topic", "delete", *names, "--if-exists", "--yes").out == ""


def test_nothing_is_lost_unasked(odradek: Shell, letters: str) -> None:
    """What destroys says what would be gone, and does nothing without a yes."""
    said = odradek.fails("topic", "delete", letters, code=2)
    assert f"delete topic {letters} (2 partitions, 8 records): not done without --yes" in said
    said = odradek.fails("topic", "trim", letters, "--all", code=2)
    assert f"delete 8 records: {letters}-0 offsets 0 to 7" in said
    assert "--before-offset" in odradek.misused("topic", "trim", letters)
    group = fresh("readers")
    odradek("consume", letters, "-g", group, "-e")
    assert f"their offsets: {group}" in odradek.fails("group", "delete", group, code=2)
    odradek.fails("group", "delete-offsets", group, letters, code=2)
    assert odradek("offsets", "list", letters).rows[0] == [letters, "0", "0", "8", "8"]
    assert group in odradek("group", "list").out


def test_no_success_where_nothing_changed(odradek: Shell, letters: str) -> None:
    """A call that could not change anything is not told as done."""
    assert "nothing to change" in odradek.misused("topic", "alter", letters)
    assert "no topic setting" in odradek.fails("topic", "alter", letters, "-c", "retention.mss=1")
    wrong = odradek.fails("config", "alter", "broker", "-s", "retention.ms=5")
    assert "no broker setting 'retention.ms'; did you mean 'log.retention.ms'?" in wrong
    assert "no records lie before" in odradek.fails("topic", "trim", letters, "-o", "0", "--yes")
    assert "there is no group" in odradek.fails("group", "reset-offsets", "no-such", "--to-latest")
    assert "there is no group" in odradek.fails("group", "describe", "no-such")
    assert "there is no group" in odradek.fails("group", "delete", "no-such", "--yes")
    assert "no committed offsets" in odradek.fails(
        "group", "delete-offsets", group_that_read(odradek, letters), fresh_topic(odradek), "--yes"
    )


def test_a_topic_is_trimmed(odradek: Shell, letters: str) -> None:
    """All of it, or one partition to an offset."""
    trimmed = odradek("topic", "trim", letters, "-p", "0", "-o", "3", "--yes").rows
    assert trimmed == [[letters, "0", "0", "3", "3"]]
    assert odradek("topic", "trim", letters, "--all", "--yes", "--json").json == [
        {"topic": letters, "partition": 0, "start_before": 3, "start": 8, "deleted": 5}
    ]
    odradek("produce", letters, "-p", "0", said=b"i\n")
    assert "no records lie before" in odradek.fails(
        "topic", "trim", letters, "--before-time", "2001-01-01", "--yes"
    )
    assert "ends at 9" in odradek.fails("topic", "trim", letters, "-p", "0", "-o", "99", "--yes")


def test_topics_that_cannot_be(odradek: Shell, topic: str) -> None:
    """One sentence says why, and names what it is about."""
    assert topic in odradek.fails("topic", "create", topic)
    assert "name" in odradek.fails("topic", "create", "no/path")
    assert "5" in odradek.fails("topic", "create", fresh("new"), "-r", "5")
    assert "retention.ms" in odradek.fails("topic", "create", fresh("new"), "-c", "retention.ms=x")
    assert "NAME=VALUE" in odradek.fails("topic", "create", fresh("new"), "-c", "retention.ms")
    assert "not-there" in odradek.fails("topic", "describe", "not-there")
    assert "not-there" in odradek.fails("topic", "delete", "not-there", "--yes")
    assert "partitions" in odradek.fails("topic", "alter", topic, "-p", "1")
    assert "Missing argument" in odradek.misused("topic", "create")
    assert "is not a whole number" in odradek.misused("topic", "create", "new", "-p", "many")
    assert "no verb 'rename'" in odradek.misused("topic", "rename", topic)
    near = odradek.fails("topic", "describe", topic[:-1] + "x")
    assert "did you mean 'orders-" in near
    assert "next: odradek topic list" in near


def test_what_cannot_be_in_a_name_is_shown(odradek: Shell) -> None:
    """The character, and not only that there is one."""
    assert "',' cannot be in one" in odradek.fails("topic", "create", "orders,refunds", "-p", "1")


def test_a_next_step_can_be_pasted(odradek: Shell) -> None:
    """It names the brokers that were named, and none that the environment names."""
    said = odradek.fails("topic", "describe", fresh("none"), "-b", odradek.bootstrap)
    assert f"  next: odradek -b {odradek.bootstrap} topic list\n" in said
    assert "  next: odradek topic list\n" in odradek.fails("topic", "describe", fresh("none"))
