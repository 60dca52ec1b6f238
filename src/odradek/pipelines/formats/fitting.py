"""A value of a record as its column holds it: the very value, or none.

A number keeps what was written. `long`, `int` and `decimal` hold it exactly; `double` and `float`
hold the nearest one that they have, if that becomes the text again once it is rounded to as many
digits as the text has. So `0.1` fits a double, `9007199254740993` and `1e999` fit none.
"""

import datetime as dt
import re
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.model.moments import EPOCH
from odradek.pipelines.formats.names import Unfit, once
from odradek.pipelines.tables.growth import is_pairs

DIGITS_MAX: Final = 400
"""Before or behind the point: a double has 309 and 324, no other column has as many."""
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
FRACTION_OF_MICROS: Final = re.compile(r"[.,]\d{6}0*[1-9]", re.ASCII)
EXACT: Final = Context(
    prec=2 * DIGITS_MAX, traps=[Inexact, InvalidOperation, Overflow, DivisionByZero]
)
SHOWN_MAX: Final = 60
MICROS: Final = 1_000


def fitted(value: Any, kind: pa.DataType) -> Any:
    """The value as a column of this type takes it; Unfit says why it cannot."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        if not isinstance(value, dict):
            raise _unfit(value, kind)
        return {it.name: fitted(once(value, it.name), it.type) for it in kind}
    if pa.types.is_map(kind):
        if not isinstance(value, dict):
            raise _unfit(value, kind)
        at = _name if pa.types.is_string(kind.key_type) else partial(fitted, kind=kind.key_type)
        return [(at(name), fitted(once(value, name), kind.item_type)) for name in value]
    if pa.types.is_list(kind):
        if isinstance(value, dict) and is_pairs(kind):
            inner = kind.value_type.field("value").type
            return [{"key": _name(it), "value": fitted(value[it], inner)} for it in value]
        if not isinstance(value, list):
            raise _unfit(value, kind)
        return [fitted(it, kind.value_type) for it in value]
    try:
        return _scalar(value, kind)
    except (ArithmeticError, ValueError) as error:
        raise _unfit(value, kind) from error


def _name(name: str) -> str:
    """A key of a map: any text but one with half a character."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise Unfit(f"key {name[:SHOWN_MAX]!r} is no text") from error
    return name


def _scalar(value: Any, kind: pa.DataType) -> Any:
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    if pa.types.is_boolean(kind) and isinstance(value, bool):
        return value
    if pa.types.is_integer(kind) and is_number:
        return _whole(value, kind)
    if pa.types.is_floating(kind) and is_number:
        return _floating(value, kind)
    if pa.types.is_decimal(kind) and (is_number or isinstance(value, str)):
        return _decimal(value, kind)
    if pa.types.is_string(kind) and isinstance(value, str):
        value.encode()
        return value
    if pa.types.is_binary(kind) and isinstance(value, (bytes, str)):
        return value.encode() if isinstance(value, str) else value
    if pa.types.is_timestamp(kind):
        return _milliseconds(value) if is_number else _moment(value)
    if pa.types.is_date(kind) and isinstance(value, str):
        return dt.date.fromisoformat(value)
    if pa.types.is_date(kind) and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    raise _unfit(value, kind)


def _exact(number: float | Decimal) -> Decimal:
    """The number, if it has no more digits than any column could hold."""
    found = Decimal(number)
    is_long = len(found.as_tuple().digits) > DIGITS_MAX
    if is_long or not found.is_finite() or abs(found.adjusted()) >= DIGITS_MAX:
        raise ValueError(number)
    return found


def _whole(value: float | Decimal, kind: pa.DataType) -> int:
    found = value if isinstance(value, int) else int(_integral(_exact(value)))
    if not -(1 << kind.bit_width - 1) <= found < 1 << kind.bit_width - 1:
        raise ValueError(value)
    return found


def _integral(number: Decimal) -> Decimal:
    return number.quantize(Decimal(1), context=EXACT)


def _decimal(value: Any, kind: pa.DataType) -> Decimal:
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        raise ValueError(value)
    exact = _exact(Decimal(value)) if isinstance(value, str) else _exact(value)
    context = Context(prec=kind.precision, traps=[Inexact, InvalidOperation])
    return exact.quantize(Decimal(1).scaleb(-kind.scale), context=context)


def _floating(value: float | Decimal, kind: pa.DataType) -> float:
    if isinstance(value, float):
        found = value if kind.bit_width == 64 else _single(value)
        if found == value or value != value:  # noqa: PLR0124 - no number is itself
            return found
        raise ValueError(value)
    exact = _exact(value)
    found = float(exact)
    if kind.bit_width != 64:
        found = _nearest_single(exact, _single(found))
    digits = len(exact.normalize(EXACT).as_tuple().digits)
    if not np.isfinite(found) or Decimal(f"{found:.{digits - 1}e}") != exact:
        raise ValueError(value)
    return found


def _nearest_single(exact: Decimal, near: float) -> float:
    """Of two floats beside each other: a text that went through a double may be at the other."""
    ends = (np.float32("-inf"), np.float32("inf"))
    with np.errstate(over="ignore"):
        found = [near, *(float(np.nextafter(np.float32(near), it)) for it in ends)]
    return min(
        (it for it in found if np.isfinite(it)),
        key=lambda it: abs(Decimal(it) - exact),
        default=near,
    )


def _single(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _milliseconds(value: float | Decimal) -> dt.datetime:
    """As Kafka's times are."""
    micros = _integral(EXACT.multiply(_exact(value), Decimal(MICROS)))
    return EPOCH + dt.timedelta(microseconds=int(micros))


def _moment(value: object) -> dt.datetime:
    """ISO 8601, UTC unless it says otherwise."""
    if isinstance(value, str):
        if FRACTION_OF_MICROS.search(value):
            raise ValueError(value)
        value = dt.datetime.fromisoformat(value)
    if not isinstance(value, dt.datetime):
        raise ValueError(value)  # noqa: TRY004 - it becomes Unfit like what cannot be parsed
    return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


def _unfit(value: object, kind: pa.DataType) -> Unfit:
    match value:
        case dict():
            text = "an object"
        case list():
            text = "an array"
        case Decimal():
            text = str(value)
        case int() if abs(value) >= 1 << 1_000:
            text = f"a number of {value.bit_length()} bits"
        case _:
            text = repr(value)
    return Unfit(f"{text if len(text) <= SHOWN_MAX else text[:57] + '...'} is no {kind}")
