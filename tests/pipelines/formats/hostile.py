"""Values as topics have them that others fill: mostly orders, and whatever else somebody sent."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

COLUMNS: Final = {
    "id": "long",
    "count": "int",
    "amount": "double",
    "ratio": "float",
    "price": "decimal(12,2)",
    "big": "decimal(38,6)",
    "at": "timestamp",
    "day": "date",
    "active": "boolean",
    "note": "string",
    "bytes": "binary",
    "address": "struct<street: string, lat: double, since: timestamp>",
    "tags": "array<string>",
    "lines": "array<struct<sku: string, weight: float, price: decimal(9,3), seen: array<date>>>",
}
NUMBERS: Final = (
    "0", "-0", "1", "-1", "0.0", "-0.0", "0.1", "1.0", "1.50", "100.000", "1e0", "1E2", "1e-2",
    "2.5e+3", "2147483647", "2147483648", "-2147483648", "16777217", "16777216",
    "0.30000000000000004", "0.10000000000000001", "9007199254740992", "9007199254740993",
    "9007199254740993.0", "1e15", "123456789012345.6", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "18446744073709551617", "12345678901234567.89", "1234567890.12",
    "9999999999.99", "10000000000.00", "0.000000000000000000001", "1e300", "-1e300", "1e308",
    "1.7976931348623157e308", "1.8e308", "1e999", "1e-300", "5e-324", "1e-324", "1e-999",
    "1.401298464324817e-45", "3.4028235e38", "3.5e38", "1e-46", "0.1234567890123456789",
    "123456.789", "1700000000000", "1700000000000.5", "1700000000000.0005", "-62135596800000",
    "-62135596800001", "253402300799999", "253402300800000", "1e13", "1" * 400, "1" * 5000,
    "0." + "1" * 500, "1e99999999999999999999", "1234567890123456e-3", "12345678901234567e-10",
    "01", "1.", ".5", "+1", "-", "1e", "0x10", "1_000", "NaN", "Infinity", "-Infinity",
)  # fmt: skip
STRINGS: Final = (
    '""', '"x"', '"long customer name"', '"\\u0041"', '"\\ud83d\\ude00"', '"\\ud800"', '"\\udc00x"',
    '"\\u0000"', '"é😀"', '"a\\nb"', '"a\nb"', '"a\tb"', '"} {"', '"}\\n{"', '"\\"}{\\""', '"1"',
    '"1.50"', '" 1.5"', '"1_0.5"', '"+1.5"', '".5"', '"1e2"', '"NaN"', '"Infinity"', '"٣"', '"1,5"',
    '"true"', '"null"', '"2026-01-31"', '"2026-02-31"', '"0000-01-01"', '"0001-01-01"',
    '"9999-12-31"', '"20260131"', '"2026-W05-6"', '"2026-01-31T10:00:00Z"', '"2026-01-31T10:00:00"',
    '"2026-01-31 10:00:00Z"', '"2026-01-31T10:00:00+02:00"', '"2026-01-31T10:00:00.123Z"',
    '"2026-01-31T10:00:00.123456Z"', '"2026-01-31T10:00:00.123456789Z"',
    '"2026-01-31T10:00:00.1234560Z"', '"2026-01-31T24:00:00Z"', '"2026-01-31T23:59:60Z"',
    '"2026-01-31T10:00Z"', '"0001-01-01T00:00:00+01:00"', '"9999-12-31T23:59:59-01:00"',
    '"0000-01-01T00:00:00Z"', '"2026-01-31T10:00:00+25:00"', '"2026-13-31T10:00:00Z"',
    '"2026-02-30T10:00:00Z"', '"-1"', '"' + "9" * 50 + '"', '"1970-01-01T00:00:00.000001-00:00"',
    '"\\/"', '"\\x"', '"unclosed', '"' + "x" * 9_000 + '"', '"\x7f\u2028"',
)  # fmt: skip
OTHERS: Final = (
    "null", "true", "false", "[]", "{}", "[null]", "[[]]", "[{}]", '[""]', "[1, 2.5]",
    '["a", null, "b"]', '[1, "x"]', '{"street": "a", "lat": 1.5}', '{"street": 1}', '{"lat": "x"}',
    '{"street": "a", "street": "b"}', '{"street": null, "city": "c"}', '{"Street": "a"}', '{"": 1}',
    '{"a b": 1}', '{"lat": 0.12345678901234567}', '{"since": 1700000000000}',
    '{"since": "2026-01-31T10:00:00Z", "lat": null}', '{"city": null}', '{"city": []}',
    '[{"sku": "s", "weight": 0.5, "price": 1.125, "seen": ["2026-01-31"]}]',
    '[{"sku": "s"}, null, {}]', '[{"sku": "s", "weight": 0.1}, {"weight": 1e39}]',
    '[{"price": "1.5"}, {"price": 1.0000}]', '[{"SKU": 1}]',
    '[{"seen": []}, {"seen": [null, "2026-01-31", "x"]}]', '[{"seen": ["2026-01-31"], "other": 1}]',
    '[{"sku": null}]', "[" * 40 + "]" * 40, "[" * 600 + "]" * 600, '{"a":' * 40 + "1" + "}" * 40,
    "[" * 100_000, "undefined", "[1,]", "",
)  # fmt: skip
NAMES: Final = (
    "new", "new", "newer", "New", "ID", "Id", "", "a.b", "a,b;{}()=", "a b", "ä", "Ä", "_offset",
    "_x", "a\\u0000b", "a`b", "x" * 300, "\\ud800", "at_day", "1", "select", "a\\nb", "-",
    "é", "😀",
    "e\u0301", "\u0131", "\u0130", "ß", "SS", "$x",
)  # fmt: skip
WHOLE: Final[tuple[bytes, ...]] = (
    b"", b" ", b"null", b"1", b'"x"', b"[]", b"[{}]", b"{}", b"{", b"}", b"{}{}", b"{} {}",
    b"{}\n{}", b'{"id":1}{"id":2}', b'{"id":1}\n{"id":2}\n', b" {} ", b"\n{}\n", b"\xef\xbb\xbf{}",
    b"\xff\xfe{\x00}\x00", b'{"note":"\xff"}', b'{"\xff":1}', b'{"id":1', b'{"id":1}}',
    b'{"id":{"a":1}', b'{"id":1},', b"{'id':1}", b'{"id":1}//x', b'{"id":1}\x00', b"{\x00}",
    b'{"note":"\xed\xa0\x80"}', b"\x00\x00\x00\x00\x01abc", b"{" * 100_000, b'{"id" 1}',
    b'{"id":1 "count":2}', b"{,}", b'{"address":{"lat":1}\n', b'{"note":"', b'"}', b"\xa0{}",
    b"{}\xa0", b"\x0b{}", b'{"id":1;}', b"tru", b"no order",
)  # fmt: skip


def hostile_values(count: int, seed: int, dirt: float = 0.5) -> list[bytes | None]:
    """So many values, of which about this part has something odd."""
    chance = Random(seed)
    return [_hostile(chance) if chance.random() < dirt else _order(chance) for _ in range(count)]


def _order(chance: Random) -> bytes:
    """What the topic is meant for."""
    order = {
        "id": chance.getrandbits(62),
        "count": chance.randrange(1 << 31),
        "amount": round(chance.random() * 10_000, 2),
        "ratio": chance.randrange(1_000) / 8,
        "price": chance.randrange(10**7) / 100,
        "at": f"2026-01-{chance.randrange(1, 29):02d}T10:00:00.{chance.randrange(1_000):03d}Z",
        "day": f"2026-01-{chance.randrange(1, 29):02d}",
        "active": chance.random() < 0.5,
        "note": "x" * chance.randrange(20),
        "address": {"street": "Long Street", "lat": round(chance.random() * 90, 5)},
        "tags": ["a"] * chance.randrange(3),
        "lines": [{"sku": "s", "weight": 0.5, "price": 1.25}] * chance.randrange(3),
    }
    kept = {name: it for name, it in order.items() if chance.random() < 0.9}
    return json.dumps(kept).encode()


def _hostile(chance: Random) -> bytes | None:
    roll = chance.random()
    if roll < 0.02:
        return None
    if roll < 0.12:
        return chance.choice(WHOLE)
    names = [*chance.sample(list(COLUMNS), chance.randrange(4)), *_odd_names(chance)]
    pairs = ", ".join(f'"{name}": {_value(chance)}' for name in names)
    text = f"{{{pairs}}}".encode("utf-8", "surrogatepass")
    if chance.random() < 0.02:
        at = chance.randrange(len(text) + 1)
        text = (
            text[:at] + chance.choice((b"", b"\x00", b"}", b"{", b"\n", b"\xff", b'"')) + text[at:]
        )
    return text


def _odd_names(chance: Random) -> Sequence[str]:
    return [chance.choice(NAMES)] if chance.random() < 0.3 else []


def _value(chance: Random) -> str:
    kinds: tuple[Callable[[], str], ...] = (
        lambda: chance.choice(NUMBERS),
        lambda: chance.choice(STRINGS),
        lambda: chance.choice(OTHERS),
        lambda: repr(chance.uniform(-1e4, 1e4)),
        lambda: str(chance.getrandbits(chance.randrange(1, 80))),
        lambda: f"{chance.getrandbits(70)}e{chance.randrange(-330, 320)}",
    )
    return chance.choice(kinds)()
