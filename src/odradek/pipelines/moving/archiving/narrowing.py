"""Values of a type that holds more than their column does, in a table whose types stay as they are.

A newer schema of Avro may say `long` where an older one said `int`. A value that is the same in the
column's type is stored so; any other makes its record a dead letter.
"""

from collections.abc import Mapping

import pyarrow as pa

from odradek.pipelines.moving.values import Converted
from odradek.pipelines.tables.growth import named, stored
from odradek.pipelines.tables.writing import Layout


def narrowed(found: Converted, layout: Layout) -> Converted:
    """The rows in the types that the table has; new columns and other types are left alone."""
    if layout.can_widen or found.rows.schema.equals(layout.schema):
        return found
    rows, misfits = found.rows, dict[int, str]()
    for number, field in enumerate(rows.schema):
        if (at := layout.schema.get_field_index(field.name)) < 0:
            continue
        column = layout.schema.field(at)
        kind = stored(column.type, field.type)
        if kind.equals(field.type):
            continue
        narrow, wrong = _cast(rows.column(number), kind)
        for row, value in wrong.items():
            reason = f"column {field.name}: {value} is no {column.type}{named(column)}"
            misfits.setdefault(row, reason)
        rows = rows.set_column(number, field.with_type(kind), narrow)
    return _without(Converted(rows, found.dead, found.dropped), misfits)


def _cast(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, dict[int, str]]:
    """The values in another type, and those that are others in it, as texts."""
    try:
        whole = column.cast(kind)
        if whole.cast(column.type).equals(column):
            return whole, {}
    except pa.ArrowInvalid:
        pass
    parts, wrong = [], {}
    for at in range(len(column)):
        one = column.take(pa.array([at]))  # of a slice Arrow casts all that it was cut from
        try:
            part = one.cast(kind)
        except pa.ArrowInvalid:
            part = None
        said = repr(one[0].as_py())  # of what is no number, too
        if part is None or repr(part.cast(column.type)[0].as_py()) != said:
            wrong[at], part = said[:60], pa.nulls(1, kind)
        parts.append(part)
    return pa.concat_arrays(parts), wrong


def _without(found: Converted, misfits: Mapping[int, str]) -> Converted:
    if not misfits:
        return found
    count = found.rows.num_rows + len(found.dead) + len(found.dropped)
    alive = [at for at in range(count) if at not in found.dead and at not in found.dropped]
    dead = {**found.dead, **{alive[row]: reason for row, reason in misfits.items()}}
    kept = pa.array([row not in misfits for row in range(found.rows.num_rows)])
    return Converted(found.rows.filter(kept), dead, found.dropped)
