"""Values are read as Java reads them, and what is none is refused with what is allowed."""

from typing import Any

import pytest

from odradek.config import kinds
from odradek.config.kinds import ConfigType, Kind, NotAllowed
from odradek.config.listeners import (
    Auto,
    Listener,
    SecurityProtocol,
    advertised_listeners,
    counts_by_host,
    listeners,
    security_map,
)
from odradek.config.rows.broker import ADMIN_LISTENER
from odradek.config.rows.zookeeper import ZOOKEEPER_CONNECT
from odradek.model.units import DAY, HOUR, Millis

LONG = ConfigType.LONG

WRONG: list[tuple[str, Kind[Any], str]] = [
    ("integer", kinds.number(), text)
    for text in (
        "",
        "x",
        "1.0",
        "1e3",
        "0x10",
        "1_000",
        "1 0",
        "--1",
        "٣",
        "²",
        "null",
        "9" * 5_000,
        "2147483648",
        "-2147483649",
    )
]
WRONG += [("short", kinds.number(type=ConfigType.SHORT), text) for text in ("32768", "-32769")]
WRONG += [("long", kinds.number(type=LONG), text) for text in (str(1 << 63), str(-(1 << 63) - 1))]
WRONG += [("bounds", kinds.number(low=1, high=9, also=-1), text) for text in ("0", "10", "-2")]
WRONG += [("size", kinds.size(low=14), text) for text in ("13", "1k", "1 MB", "")]
WRONG += [("duration", kinds.duration(low=1), text) for text in ("0", "1s", "1h", "PT1S")]
WRONG += [
    ("unlimited", kinds.unlimited(kinds.duration(low=1)), text) for text in ("-2", "0", "x", "")
]
WRONG += [("boolean", kinds.flag(), text) for text in ("", "yes", "1", "on", "truee", "wahr")]
WRONG += [
    ("decimal", kinds.decimal(0, 1), text)
    for text in ("", "x", "nan", "inf", "1.1", "-0.1", "1e999", "0x1p3", "1_0", "0.5f", "9" * 9_999)
]
WRONG += [("any decimal", kinds.decimal(), text) for text in ("", "x", "nan", "-inf", "1e999")]
WRONG += [("choice", kinds.choice("a", "b"), text) for text in ("", "c", "A", "a,b")]
WRONG += [("listing", kinds.listing("a", "b"), text) for text in ("c", "a,c", "a,,b", "a,", "A")]
WRONG += [("pattern", kinds.listing(pattern="[0-9]:[0-9]"), text) for text in ("1", "1:2;3:4")]
WRONG += [("string", kinds.string("[a-z]+"), text) for text in ("", "A", "a\n", "ä")]
WRONG += [
    ("listeners", listeners(), text)
    for text in (
        "",
        ",",
        "9092",
        "localhost:9092",
        "PLAINTEXT://:",
        "PLAINTEXT://:x",
        "PLAINTEXT://:-1",
        "PLAINTEXT://:65536",
        "PLAINTEXT://a b:1",
        "PLAINTEXT:/:1",
        "://:1",
        "PLAINTEXT://:1 PLAINTEXT://:2",
        "PLAINTEXT://:9092/path",
        "PLAINTEXT://" + "a" * 100_000,
        "auto",
    )
]
WRONG += [("advertised", advertised_listeners(), text) for text in ("", "automatic", "auto,auto")]
WRONG += [
    ("security", security_map(), text) for text in ("PLAINTEXT", "A:TLS", "A:", ":SSL", "A=SSL")
]
WRONG += [
    ("counts", counts_by_host(), text)
    for text in ("host", "host:", ":1", "host:-1", "host:x", "a b:1", "host:9999999999")
]
WRONG += [("admin", ADMIN_LISTENER.kind, text) for text in (":", "here", "here:65536", "a b:1")]
WRONG += [
    ("ensemble", ZOOKEEPER_CONNECT.kind, text)
    for text in (",", "/kafka", "a:65536", "a:b", "a:", "::1", "[::1", "[::1]x", "a:1 b:2")
]


@pytest.mark.parametrize(
    ("kind", "text"),
    [pytest.param(kind, text, id=f"{name}-{text[:20]!r}") for name, kind, text in WRONG],
)
def test_what_is_no_value_is_refused_with_what_is_allowed(kind: Kind[Any], text: str) -> None:
    """A typed error whose clause tells what to write, and never one of Python's own."""
    with pytest.raises(NotAllowed, match=r"^must be ") as refusal:
        kind.parse(text)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    ("kind", "text", "value", "canonical"),
    [
        (kinds.number(), "+7", 7, "7"),
        (kinds.number(), "007", 7, "7"),
        (kinds.number(low=1, high=9, also=-1), "-1", -1, "-1"),
        (kinds.number(type=LONG), str((1 << 63) - 1), (1 << 63) - 1, str((1 << 63) - 1)),
        (kinds.size(), "1024", 1024, "1024"),
        (kinds.duration(unit=HOUR), "168", 7 * DAY, "168"),
        (kinds.unlimited(kinds.size()), "-1", None, "-1"),
        (kinds.unlimited(kinds.size(low=0), below=0), "-7", None, "-1"),
        (kinds.unlimited(kinds.size(low=1), below=1), "0", None, "-1"),
        (kinds.unlimited(kinds.size(low=1)), "5", 5, "5"),
        (kinds.flag(), "TRUE", True, "true"),
        (kinds.flag(), "False", False, "false"),
        (kinds.decimal(), "5", 5.0, "5.0"),
        (kinds.decimal(), ".5", 0.5, "0.5"),
        (kinds.decimal(), "1e3", 1000.0, "1000.0"),
        (kinds.listing(), "a , b,c", ("a", "b", "c"), "a,b,c"),
        (kinds.listing(), "", (), ""),
        (
            listeners(),
            "plaintext://:9092, EXT://[::1]:0,",
            (Listener("PLAINTEXT", "", 9092), Listener("EXT", "::1", 0)),
            "PLAINTEXT://:9092,EXT://[::1]:0",
        ),
        (advertised_listeners(), "AUTO", Auto.AUTO, "auto"),
        (
            advertised_listeners(),
            "A://broker-1.example:19092",
            (Listener("A", "broker-1.example", 19092),),
            "A://broker-1.example:19092",
        ),
        (
            security_map(),
            "internal:ssl, CLIENT : SASL_PLAINTEXT",
            {"INTERNAL": SecurityProtocol.SSL, "CLIENT": SecurityProtocol.SASL_PLAINTEXT},
            "INTERNAL:SSL,CLIENT:SASL_PLAINTEXT",
        ),
        (counts_by_host(), "::1:5,host:0", {"::1": 5, "host": 0}, "::1:5,host:0"),
        (counts_by_host(), "", {}, ""),
    ],
)
def test_values_survive_their_text(
    kind: Kind[Any], text: str, value: object, canonical: str
) -> None:
    """What people write is understood, and printed as Kafka's tools expect it."""
    assert kind.parse(text) == value
    assert kind.text(kind.parse(text)) == canonical
    assert kind.parse(canonical) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (0.5, "0.5"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1234567.8, "1234567.8"),
        (10_000_000.0, "1.0E7"),
        (12_345_678.9, "1.23456789E7"),
        (-12_345_678.9, "-1.23456789E7"),
        (1e16, "1.0E16"),
        (1.5e300, "1.5E300"),
        (kinds.JAVA_DOUBLE_MAX, "1.7976931348623157E308"),
    ],
)
def test_numbers_with_a_fraction_look_as_in_java(value: float, text: str) -> None:
    """DescribeConfigs carries text, and Kafka's tools compare it."""
    assert kinds.java_double(value) == text
    assert float(text) == value


def test_durations_are_milliseconds_whatever_their_unit() -> None:
    """Nobody who reads a setting has to know whether its line says hours or minutes."""
    assert kinds.duration(unit=HOUR).parse("2") == Millis(7_200_000)


def test_a_secret_does_not_print_itself() -> None:
    """A password that comes into a log by mistake is not in the log."""
    secret = kinds.secret().parse("swordfish")
    assert "swordfish" not in f"{secret} {secret!r} {[secret]}"
    assert kinds.secret().text(secret) == "[hidden]"
    assert secret.value == "swordfish"
    assert secret == kinds.secret().parse("swordfish")
