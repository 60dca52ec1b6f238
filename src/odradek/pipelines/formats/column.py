"""What a type of another format becomes: a column, and how its values become those of the column.

Values are what was written, exactly, or there is none: ValueError or ArithmeticError says why.
"""

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import Any, Final

import pyarrow as pa

from odradek.model.moments import EPOCH
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.names import Unfit, check_name
from odradek.pipelines.formats.rows import check_own

DIGITS_MAX: Final = 10_000
EXACT: Final = Context(prec=DIGITS_MAX, traps=[Inexact, InvalidOperation, Overflow])
NANOS: Final = 1_000_000_000

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A type of another format."""

    kind: pa.DataType
    convert: Convert


def as_it_is(value: Any) -> Any:
    """For types that columns have, too."""
    return value


def converted(column: Column, value: Any) -> Any:
    """A value as its column has it."""
    return None if value is None else column.convert(value)


def moment(value: int, per_second: int) -> dt.datetime:
    """A time that counts so many units a second since 1970."""
    micros, rest = divmod(value * 1_000_000, per_second)
    if rest:
        raise ValueError(f"{value} has nanoseconds, which no column keeps")
    return EPOCH + dt.timedelta(microseconds=micros)


def unscaled(value: bytes, scale: int) -> Decimal:
    """A decimal whose digits are a whole number, the first byte its most significant."""
    try:
        return Decimal(int.from_bytes(value, signed=True)).scaleb(-scale, EXACT)
    except Inexact as error:
        raise ValueError(f"it is a decimal of more than {DIGITS_MAX:,} digits") from error


def check_columns(names: Iterable[str], *, within: bool = False) -> None:
    """InvalidOption for fields that cannot be columns beside each other, or `within` one."""
    names = list(names)
    for name in names:
        try:
            if not within:
                check_own(name)
            check_name(name, names)
        except Unfit as error:
            raise InvalidOption(str(error)) from error
