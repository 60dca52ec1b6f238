"""`odradek up --tls`: what it prints can be typed, and without a password nobody is served."""

import re
import stat
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.live.test_up import COLUMNS, Up

PASSWORD: Final = re.compile(r'"sasl.password": "([^"]+)"')


@pytest.mark.parametrize("arguments", [(), ("--brokers", "3")])
def test_tls_and_a_password_in_a_minute(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """The command, and Python, with what is printed; the password is the same at the next start."""
    with Up(tmp_path, "--tls", *arguments) as up:
        assert max(map(len, up.text.splitlines())) <= COLUMNS, up.text
        (me,) = re.findall(r"^  ME=(.*)$", up.text, re.MULTILINE)
        for line in up.lines_to_type:
            up.shell(line.replace("$ME", me))
        up.shell(f"python - <<'END'\n{up.python}\nEND")
        stranger = AdminClient({"bootstrap.servers": up.addresses[0], "log_level": 0})
        with pytest.raises(KafkaException):
            stranger.list_topics(timeout=2)
        files = {it.name: stat.S_IMODE(it.stat().st_mode) for it in tmp_path.rglob("tls/*")}
        assert files.pop("ca.pem") == 0o644
        files |= {
            it.parent.name: stat.S_IMODE(it.stat().st_mode)
            for it in tmp_path.rglob("server.properties")
        }
        assert set(files.values()) == {0o600}
        password = PASSWORD.findall(up.python)
    with Up(tmp_path, "--tls", *arguments) as again:
        assert PASSWORD.findall(again.python) == password
        again.shell(f"python - <<'END'\n{again.python}\nEND")
