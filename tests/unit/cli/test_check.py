"""`odradek check`: what a broker would say of a file, without starting one."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from odradek.cli.serving.check import command
from odradek.config.not_here import absent, is_secret
from odradek.config.table import BROKER_SETTINGS
from odradek.model.errors import InvalidSetting


def check(tmp_path: Path, text: str, *options: str, variable: str | None = None) -> Result:
    """The answer about a file with this text."""
    file = tmp_path / "server.properties"
    file.write_text(text)
    runner = CliRunner(env={"KAFKA_NUM_PARTITIONS": variable})
    return runner.invoke(command, [str(file), "--settings-only", *options])


def test_a_right_file_is_right(tmp_path: Path) -> None:
    """It says so, and exits with 0."""
    result = check(tmp_path, "log.dirs=/a\n")
    assert result.exit_code == 0
    assert result.output == f"{tmp_path}/server.properties: 0 errors, 0 warnings\n"


def test_every_finding_is_told_errors_first(tmp_path: Path) -> None:
    """A script sees by the exit code whether a broker would start."""
    result = check(tmp_path, "log.dirs=/a\nno.such=1\nbroker.rack=\\u1\nnum.partitions=0\n")
    assert result.exit_code == 1
    lines = [
        line.partition(" (")[0].partition(str(tmp_path))[0] for line in result.output.splitlines()
    ]
    assert lines == ["error: ", "error: num.partitions=0", "warning: no.such=1", ""]
    assert result.output.endswith("server.properties: 2 errors, 1 warning\n")


def test_warnings_alone_do_not_fail(tmp_path: Path) -> None:
    """A broker would start with them, so a script may go on."""
    assert check(tmp_path, "log.dirs=/a\nno.such=1\n").exit_code == 0


def test_the_environment_and_overrides_are_read_as_a_broker_reads_them(tmp_path: Path) -> None:
    """What is checked is what would hold, and each finding says who said it."""
    text = "log.dirs=/a\nnum.partitions=1\n"
    result = check(tmp_path, text, variable="0")
    assert "num.partitions=0 (environment variable KAFKA_NUM_PARTITIONS)" in result.output
    result = check(tmp_path, text, "--override", "num.partitions=-1", variable="0")
    assert "num.partitions=-1 (--override)" in result.output
    assert check(tmp_path, text, "--override", "num.partitions=2", variable="0").exit_code == 0


@pytest.mark.parametrize("override", ["num.partitions", "=1", ""])
def test_an_override_that_is_none_is_a_wrong_call(tmp_path: Path, override: str) -> None:
    """Not a wrong setting: the command line is at fault, not the file."""
    result = check(tmp_path, "log.dirs=/a\n", "--override", override)
    assert result.exit_code == 2
    assert "is not NAME=VALUE" in result.output


def test_programs_can_read_it(tmp_path: Path) -> None:
    """A list of objects, empty if all is well."""
    result = check(tmp_path, "log.dirs=/a\nnum.partitions=0\n", "--json")
    assert result.exit_code == 1
    (finding,) = json.loads(result.output)
    assert (finding["severity"], finding["effect"]) == ("error", "refused")
    assert finding["settings"] == ["num.partitions"]
    assert "line 2" in finding["sentence"]
    assert json.loads(check(tmp_path, "log.dirs=/a\n", "--json").output) == []


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    """Garbage, and what is too large to be meant, are told from wrong settings."""
    assert isinstance(check(tmp_path, "\x00").exception, InvalidSetting)
    assert isinstance(check(tmp_path, "a" * (2 << 20)).exception, InvalidSetting)


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path: Path) -> None:
    """The command's root makes a sentence of it."""
    result = CliRunner().invoke(command, [str(tmp_path / "missing")])
    assert isinstance(result.exception, FileNotFoundError)


KRAFT = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=/a
"""


def test_a_file_for_kraft_is_refused_with_what_to_change(tmp_path: Path) -> None:
    """Half of it would be obeyed otherwise, and the controller's port be opened to clients."""
    result = check(tmp_path, KRAFT)
    assert result.exit_code == 1
    assert "process.roles=broker,controller" in result.output
    assert "Take out process.roles, controller.*" in result.output
    assert "1 error, 0 warnings" in result.output, "one cause is told once"


def test_a_file_for_kraft_has_its_notes(tmp_path: Path) -> None:
    """Who makes a file of it for here sees what to take out, and what else does nothing."""
    result = check(tmp_path, f"{KRAFT}num.io.threads=8\nmetric.reporters=x\n")
    notes = [line for line in result.output.splitlines() if line.startswith("note: ")]
    for name in ("controller.quorum.voters", "num.io.threads", "metric.reporters"):
        assert any(name in line for line in notes), result.output
    assert "1 error, 0 warnings" in result.output


@pytest.mark.parametrize(
    ("counts", "beside"),
    [
        ("log.dirs", "log.dir"),
        ("log.retention.ms", "log.retention.minutes"),
        ("log.retention.minutes", "log.retention.hours"),
        ("log.roll.ms", "log.roll.hours"),
    ],
)
def test_of_two_that_say_the_same_it_is_told_which_counts(
    tmp_path: Path, counts: str, beside: str
) -> None:
    """As in Kafka, which passes over the other in silence."""
    text = f"{beside}=9\n{counts}=7\n" + ("" if "dirs" in counts else "log.dirs=/a\n")
    lines = check(tmp_path, text).output.splitlines()
    assert lines[0].startswith(f"note: {beside}=9 ("), lines
    assert lines[0].endswith(f": it has no effect; {counts} counts, as in Kafka")
    assert len(lines) == 2
    told = json.loads(check(tmp_path, text, "--json").output)
    assert [(it["settings"], it["effect"]) for it in told] == [([beside], "none")]


def test_a_listeners_setting_in_capitals(tmp_path: Path) -> None:
    """Kafka passes over it; here it counts, for a port must not be open because of its letters."""
    text = "log.dirs=/a\nlisteners=CLIENT://:9093\ninter.broker.listener.name=CLIENT\n"
    text += "listener.security.protocol.map=CLIENT:PLAINTEXT\n"
    text += "listener.name.CLIENT.max.connections=9\n"
    output = check(tmp_path, text).output
    assert "warning: listener.name.CLIENT.max.connections=9" in output
    assert "here it counts; write listener.name.client.max.connections" in output
    output = check(tmp_path, f"{text}listener.name.client.max.connections=7\n").output
    assert "it has no effect; listener.name.client.max.connections counts" in output
    text += 'listener.name.CLIENT.SCRAM-SHA-512.sasl.jaas.config=x password="hers";\n'
    output = check(tmp_path, text).output
    assert "listener.name.CLIENT.SCRAM-SHA-512.sasl.jaas.config=[hidden]" in output
    assert "here it counts; write listener.name.client.scram-sha-512.sasl" in output


def test_what_kafka_has_and_we_lack_says_whether_it_matters(tmp_path: Path) -> None:
    """A warning where somebody gets less than was asked for, a note where nothing is lost."""
    text = "log.dirs=/a\ndelegation.token.secret.key=k\n"
    text += "metric.reporters=x\nremote.log.reader.threads=2\n"
    lines = check(tmp_path, text).output.splitlines()
    assert lines[0].startswith("warning: delegation.token.secret.key=[hidden]")
    assert "delegation tokens are not made here" in lines[0]
    assert "there is no tiered storage" in lines[1]
    assert lines[2].startswith("note: metric.reporters=x")
    assert "metrics are served by admin.listener" in lines[2]
    output = check(tmp_path, "log.dirs=/a\nzookeeper.ssl.ocsp.enable=true\n").output
    assert "zookeeper.ssl.ocsp.enable=true" in output.partition("error: ")[2]


def test_a_typing_error_finds_its_setting(tmp_path: Path) -> None:
    """And so does the name that a topic has for what a broker calls otherwise."""
    output = check(tmp_path, "log.dirs=/a\nlog.retension.hours=5\nretention.ms=5\n").output
    assert "log.retension.hours=5" in output
    assert "did you mean log.retention.hours?" in output
    assert "did you mean log.retention.ms?" in output


def test_every_setting_of_kafka_is_known() -> None:
    """None of Kafka 3.9's is taken for a typing error."""
    table = Path(__file__).parents[1] / "config" / "kafka_3_9_settings.tsv"
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    names = [name for scope, name, *_ in rows if scope == "broker"]
    unknown = [it for it in names if it not in BROKER_SETTINGS and absent(it) is None]
    assert len(names) > 300
    assert not unknown


def test_variables_of_other_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`KAFKA_CFG_` is `KAFKA_`; no file is needed where they say everything."""
    monkeypatch.setenv("KAFKA_CFG_NUM_PARTITIONS", "0")
    assert "num.partitions=0 (environment variable KAFKA_CFG_NUM_PARTITIONS)" in (
        check(tmp_path, "log.dirs=/a\n").output
    )
    monkeypatch.setenv("KAFKA_CFG_NUM_PARTITIONS", "1")
    monkeypatch.setenv("KAFKA_CFG_LOG_DIRS", "/a")
    alone = CliRunner().invoke(command, ["--settings-only"])
    assert alone.output == "settings: 0 errors, 0 warnings\n"


def table_of_kafka() -> list[tuple[str, str]]:
    """The broker's settings of Kafka 3.9, with their types."""
    table = Path(__file__).parents[1] / "config" / "kafka_3_9_settings.tsv"
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    return [(name, kind) for scope, name, kind, *_ in rows if scope == "broker"]


def test_every_setting_without_effect_is_told(tmp_path: Path) -> None:
    """A note, also where the value is Kafka's default: nobody shall tune what does nothing."""
    inert = [row for row in BROKER_SETTINGS.values() if row.inert]
    assert len(inert) > 10
    for row in inert:
        value = row.default_text or "1"
        output = check(tmp_path, f"log.dirs=/a\n{row.name}={value}\n").output
        assert output.startswith(f"note: {row.name}={value} "), output
        assert row.inert in output


def test_settings_of_transactions_count(tmp_path: Path) -> None:
    """They are coordinated here, so each of these is read."""
    text = "transaction.max.timeout.ms=1000\ntransaction.state.log.replication.factor=3\n"
    output = check(tmp_path, f"log.dirs=/a\n{text}").output
    assert "no effect" not in output
    assert "0 errors, 0 warnings" in output


def test_one_reason_is_told_once(tmp_path: Path) -> None:
    """Lines about Kerberos are a sentence with their names; programs get each by itself."""
    names = [name for name, _ in table_of_kafka() if name.startswith("sasl.kerberos.")]
    text = "log.dirs=/a\n" + "".join(f"{name}=x\n" for name in names)
    output = check(tmp_path, text).output
    assert output.count("Kerberos is not spoken here") == 1
    assert f"warning: {len(names)} settings without effect; " in output
    assert all(f"\nwarning:   {name}=" in output for name in names)
    assert len(json.loads(check(tmp_path, text, "--json").output)) >= len(names)


def test_secrets_are_hidden_and_nothing_else() -> None:
    """By Kafka's own types: a password is one, how long a token lives is none."""
    for name, kind in table_of_kafka():
        row = BROKER_SETTINGS.get(name)
        is_hidden = is_secret(name) if row is None else row.sensitive
        assert is_hidden == (kind == "PASSWORD"), name


def test_a_secret_of_a_stranger_is_hidden_and_nothing_else(tmp_path: Path) -> None:
    """By its name, or because a URL holds a login."""
    hidden = ["db.passwd", "private_key", "my.api.token", "x.license", "basic.auth.user.info"]
    shown = ["tokens.per_second", "token.key.path", "author.name", "key.converter", "some.url"]
    text = "log.dirs=/a\n" + "".join(f"{name}=value-of-it\n" for name in (*hidden, *shown))
    output = check(tmp_path, f"{text}registry.url=https://alice:hers@registry:8081\n").output
    for name in (*hidden, "registry.url"):
        assert f"{name}=[hidden]" in output, name
    for name in shown:
        assert f"{name}=value-of-it" in output, name


def test_a_listener_that_there_is_not(tmp_path: Path) -> None:
    """Its settings do nothing, so the port that was meant may be open; that is said, once."""
    text = "log.dirs=/a\nlisteners=CLIENT://:9093\ninter.broker.listener.name=CLIENT\n"
    text += "listener.security.protocol.map=CLIENT:PLAINTEXT\n"
    assert (
        "no listener"
        not in check(tmp_path, f"{text}listener.name.client.max.connections=9\n").output
    )
    text += "listener.name.cleint.max.connections=9\n"
    text += 'listener.name.cleint.plain.sasl.jaas.config=x password="hers";\n'
    output = check(tmp_path, text).output
    assert output.count("there is no listener CLEINT, only CLIENT") == 1
    assert "listener.name.cleint.max.connections=9" in output
    assert "listener.name.cleint.plain.sasl.jaas.config=[hidden]" in output


def test_strangers_are_told_together(tmp_path: Path) -> None:
    """A sentence for all that nothing is near to, for what has moved, for other programs."""
    text = "log.dirs=/a\nmonkey.business=1\nalso.unknown=2\nlog.retension.hours=5\n"
    text += "host.name=a\nport=9092\nplugin.path=/p\nkey.converter=x\nA->B.enabled=true\n"
    output = check(tmp_path, text).output
    assert "2 settings without effect; there is no such setting:" in output
    assert "2 settings without effect; Kafka has dropped them; set listeners" in output
    assert "3 settings without effect; it belongs to clients, or to Kafka Connect" in output
    assert "did you mean log.retention.hours?" in output


def test_a_listener_has_what_all_have(tmp_path: Path) -> None:
    """A name that Kafka knows for one listener is no typing error."""
    text = "log.dirs=/a\nlistener.name.client.num.network.threads=9\n"
    output = check(tmp_path, text).output
    assert "note: listener.name.client.num.network.threads=9" in output
    assert "no such setting" not in output


def test_what_becomes_of_each_setting_of_kafka(tmp_path: Path) -> None:
    """A whole file of Kafka 3.9: what is not named works, the rest has no effect, and each once."""
    table = Path(__file__).parents[1] / "config" / "kafka_3_9_settings.tsv"
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    given = {
        name: default
        for scope, name, _, default, *_ in rows
        if scope == "broker" and default != "null" and name != "process.roles"
    }
    assert len(given) > 200
    text = "".join(f"{name}={value}\n" for name, value in given.items())
    told = json.loads(check(tmp_path, text, "--json").output)
    named = [name for finding in told for name in finding["settings"]]
    expected = [it for it in given if it not in BROKER_SETTINGS or BROKER_SETTINGS[it].inert]
    assert sorted(named) == sorted(expected)
    assert {finding["effect"] for finding in told} == {"none"}


SERVER_PROPERTIES = """\
broker.id=0
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/a
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
log.retention.hours=168
log.retention.check.interval.ms=300000
zookeeper.connect=localhost:2181
zookeeper.connection.timeout.ms=18000
group.initial.rebalance.delay.ms=0
"""
"""The values of the file that comes with Kafka, but for the place of its logs."""


def test_errors_come_first_for_programs_too(tmp_path: Path) -> None:
    """In one order, whatever the order of the file: errors, warnings, notes."""
    more = "zookeeper.ssl.client.enable=true\nno.such=1\ncleanup.policy=compact\nnum.partitions=0\n"
    lines = f"{SERVER_PROPERTIES}{more}".splitlines()
    told = json.loads(check(tmp_path, "\n".join(lines), "--json").output)
    severities = [finding["severity"] for finding in told]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert severities[0] == "error"
    assert [it["effect"] for it in told if it["settings"] == ["no.such"]] == ["none"]
    text = check(tmp_path, "\n".join(lines)).output
    places = [text.find(f"{severity}: ") for severity in ("error", "warning", "note")]
    assert places == sorted(places)


def test_the_file_that_comes_with_kafka(tmp_path: Path) -> None:
    """A broker starts with it; three settings for threads are named as having no effect."""
    told = json.loads(check(tmp_path, SERVER_PROPERTIES, "--json").output)
    assert [it["settings"] for it in told] == [
        ["num.network.threads"],
        ["num.io.threads"],
        ["num.recovery.threads.per.data.dir"],
    ]
    assert {(it["severity"], it["effect"]) for it in told} == {("note", "none")}
