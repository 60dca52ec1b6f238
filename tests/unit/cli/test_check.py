"""`odradek check`: what a broker would say of a file, without starting one."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from odradek.cli.check import command
from odradek.model.errors import InvalidSetting


def check(tmp_path: Path, text: str, *options: str, variable: str | None = None) -> Result:
    """The answer about a file with this text."""
    file = tmp_path / "server.properties"
    file.write_text(text)
    runner = CliRunner(env={"KAFKA_NUM_PARTITIONS": variable})
    return runner.invoke(command, [str(file), *options])


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
    assert lines == ["error: ", "error: num.partitions=0", "warning: no.such=[hidden]", ""]
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
    assert finding["severity"] == "error"
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
