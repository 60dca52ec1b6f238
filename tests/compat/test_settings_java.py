"""The settings beside Kafka 3.9.1: its table, its way to read values, and Java's to read files."""

import csv
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from odradek.config.kinds import ConfigType, NotAllowed
from odradek.config.properties import parse
from odradek.config.setting import BrokerSetting, Setting
from odradek.config.table import BROKER_SETTINGS, TOPIC_SETTINGS
from tests.external.oracle import JavaRefused, Oracle
from tests.unit.config.test_versions import REFUSED, TAKEN

pytestmark = pytest.mark.xdist_group("java")

FACTS: Final = Path(__file__).parents[1] / "unit" / "config" / "kafka_3_9_settings.tsv"
QUOTAS: Final = {
    name for name in BROKER_SETTINGS if name.endswith(("throttled.rate", "per.second"))
}
TEXTS: Final = [
    *("", "0", "1", "-1", "-2", "2", "9", "13", "14", "007", "+3", " 5 ", "1.0", "1e2", "0x1"),
    *("1_0", "2147483647", "2147483648", "-2147483649", "32768", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775809", "99999999999999999999"),
    *("true", "FALSE", "True", "yes", "null", "0.5", ".5", "1.5", "-0.5", "12345678.9", "0.0001"),
    *("delete", "compact", "compact,delete", "compact , delete", "delete,burn", "Delete", ","),
]
TIERED: Final = {"remote.storage.enable", "remote.log.storage.system.enable"}
"""True is refused: there is no tiered storage."""
PROTOCOLS: Final = {"ssl.enabled.protocols", "zookeeper.ssl.enabled.protocols"}
"""Without one that is served nobody could connect, so others are refused."""
UNPROTECTED: Final = {"zookeeper.ssl.crl.enable", "zookeeper.ssl.ocsp.enable"}
"""True is refused: nobody shall believe that withdrawn certificates are noticed."""
OF_THE_AUTHORIZER: Final = "allow.everyone.if.no.acl.found"
"""AclAuthorizer reads it by itself: it stands in no table of Kafka's."""
VERSIONS: Final = ("inter.broker.protocol.version", "log.message.format.version")
NUMBERS: Final = {ConfigType.INT, ConfigType.LONG, ConfigType.SHORT}
SPECIAL: Final = " \t\f\\=:#!ab\n\r"


def test_the_facts_are_kafkas(kafka_in_java: Oracle) -> None:
    """What the unit tests compare the table with is what Kafka itself says."""
    said = {tuple(text or "" for text in row) for row in kafka_in_java.ask("settings")["rows"]}
    with FACTS.open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    ours = set()
    for scope, name, kind, default, _, importance, *tail in rows:
        ours.add((scope, name, kind, default.removeprefix("null"), importance, "".join(tail)))
    assert ours == said


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=f"{type(row).__name__}-{row.name}")
        for row in (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values())
        if not row.ours and row.kind.type is not ConfigType.STRING
        if row.name != OF_THE_AUTHORIZER
    ],
)
def test_values_are_read_as_kafka_reads_them(kafka_in_java: Oracle, row: Setting[Any]) -> None:
    """What we take Kafka takes, and prints alike; we refuse more numbers, and little else."""
    scope = "broker" if isinstance(row, BrokerSetting) else "topic"
    printed = kafka_in_java.ask("setting", scope=scope, name=row.name, texts=TEXTS)["printed"]
    for text, expected in zip(TEXTS, printed, strict=True):
        try:
            value = row.kind.parse(text.strip())
        except NotAllowed:
            assert (
                expected is None
                or row.name.endswith("throttled.replicas")
                or row.kind.type in NUMBERS
                or row.name in TIERED | PROTOCOLS | UNPROTECTED
            ), text
        else:
            assert expected is not None, text
            if value is not None:
                assert row.kind.text(value) == expected, text


@pytest.mark.parametrize("name", VERSIONS)
def test_versions_are_read_as_kafka_reads_them(kafka_in_java: Oracle, name: str) -> None:
    """Releases, their parts and their revisions; Kafka alone takes its next, unstable one."""
    texts = [*TAKEN, *REFUSED]
    printed = kafka_in_java.ask("setting", scope="broker", name=name, texts=texts)["printed"]
    assert printed == [*TAKEN, *[None] * len(REFUSED)]


def files(seed: int) -> bytes:
    """A short file of the characters that matter."""
    random = Random(seed)
    pieces = [*SPECIAL, "\\u0061", "\\t", "\\\n  ", "\r\n", "name", "= "]
    text = "".join(random.choices(pieces, k=random.randrange(60)))
    return f"{text}\nlast=1".encode()  # of a lone backslash at the end Java makes an empty name


def test_files_are_read_as_java_reads_them(kafka_in_java: Oracle) -> None:
    """Thousands of files that nobody would write: what they mean is Java's word."""
    for seed in range(3_000):
        data = files(seed)
        entries, faults = parse(data, "f")
        if faults:
            with pytest.raises(JavaRefused, match="Malformed"):
                kafka_in_java.ask("properties", bytes=data)
        else:
            expected = kafka_in_java.ask("properties", bytes=data)["properties"]
            assert {entry.name: entry.value for entry in entries} == expected, seed
