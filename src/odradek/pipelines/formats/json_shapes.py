"""Which JSON objects look like another one, by one expression for many of them.

What writes to a topic writes its fields in one order. So an expression made of one object and of
the columns knows most of those that Arrow reads, for a tenth of what parsing them takes. It knows
nothing else: an object that it does not match has to be looked at.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

BLANK: Final = r"[ \t\r\n]*"
COMMA: Final = f"{BLANK},{BLANK}"
FIELDS_MAX: Final = 60
LENGTH_MAX: Final = 8_000
"""An expression of more states is slower than parsing."""
WITHIN_TEXT: Final = r'[^"\\\x00-\x1f]'
CHARACTER: Final = r"\\u(?:[0-9a-cA-CefEF][0-9a-fA-F]|[dD][0-7])[0-9a-fA-F]{2}"
TEXT: Final = rf'"(?:{WITHIN_TEXT}|\\["\\/bfnrt]|{CHARACTER})*"'
"""Without the halves of characters."""
WHOLE: Final[Mapping[int, str]] = {
    8: "-?(?:0|[1-9][0-9]?)",
    16: "-?(?:0|[1-9][0-9]{0,3})",
    32: "-?(?:0|[1-9][0-9]{0,8}|1[0-9]{9}|20[0-9]{8})",
    64: "-?(?:0|[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17})",
}
"""By their bits: not the very greatest, but most."""
FLOATING: Final = (
    r"-?(?:(?:0|[1-9][0-9]{0,6})(?:\.[0-9]{1,8})?|[1-9][0-9]{7,11}(?:\.[0-9]{1,3})?)"
    r"(?:[eE][+-]?[0-9]{1,2})?"
)
"""Of fewer digits than each double keeps."""


def shape_of(example: Mapping[str, Any], kinds: Mapping[str, pa.DataType]) -> str | None:
    """Matches objects with at most the fields of this one, in its order, that fit these types."""
    if not 0 < len(example) <= FIELDS_MAX or not example.keys() <= kinds.keys():
        return None
    found = _object(example, kinds)
    if found is None or len(found) > LENGTH_MAX:
        return None
    return rf"\A{BLANK}{found}{BLANK}\z"


def _object(example: Mapping[str, Any], kinds: Mapping[str, pa.DataType]) -> str | None:
    fields = []
    for name, value in example.items():
        found = _value(value, kinds[name]) if name in kinds else None
        if found is None or not re.fullmatch(f"{WITHIN_TEXT}*", name):
            return None
        fields.append(f'"{_escaped(name)}"{BLANK}:{BLANK}(?:null|{found})')
    if not fields:
        return None
    first, *others = fields
    more = "".join(f"(?:{COMMA}{it})?" for it in others)
    return rf"\{{{BLANK}{first}{more}{BLANK}\}}"


def _escaped(text: str) -> str:
    return re.sub(r"([^\w])", r"\\\1", text, flags=re.ASCII) if text.isascii() else text


def _value(example: Any, kind: pa.DataType) -> str | None:
    """All texts of JSON that Arrow reads as this type, or many of them; None: it is not known."""
    if pa.types.is_struct(kind):
        inner = {it.name: it.type for it in kind}
        return _object(example, inner) if isinstance(example, dict) else "null"
    if pa.types.is_list(kind):
        item = _value(
            example[0] if isinstance(example, list) and example else None, kind.value_type
        )
        if item is None:
            return None
        item = f"(?:null|{item})"
        return rf"\[{BLANK}(?:{item}(?:{COMMA}{item})*)?{BLANK}\]"
    if pa.types.is_integer(kind):
        return WHOLE[kind.bit_width]
    if pa.types.is_decimal(kind):
        return _decimal(kind)
    if pa.types.is_floating(kind):
        return FLOATING
    if pa.types.is_boolean(kind):
        return "(?:true|false)"
    return TEXT if pa.types.is_string(kind) else None


def _decimal(kind: pa.Decimal128Type) -> str:
    digits = kind.precision - kind.scale
    whole = f"(?:0|[1-9][0-9]{{0,{digits - 1}}})" if digits > 0 else "0"
    fraction = rf"(?:\.[0-9]{{1,{kind.scale}}})?" if kind.scale > 0 else ""
    return f'(?:-?{whole}{fraction}|"-?{whole}{fraction}")'
