"""What a pipeline's file says of a table in which each key has one row."""

from typing import Final

from odradek.pipelines.definition.sections import Section, WrongFile
from odradek.pipelines.formats.avro_values import AvroValues
from odradek.pipelines.formats.debezium import Debezium
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.given import nearest
from odradek.pipelines.moving.values import Values

ENVELOPES: Final = ("debezium",)
MODES: Final = ("append", "upsert")
KEYED_FILE_BYTES: Final = 32 << 20
"""Where each key has one row a file is written anew for one of its rows."""


def keys_of(table: Section, form: str) -> tuple[str, ...]:
    """The columns of keys of a table in which each has one row; none of others."""
    mode, keys = table.text("mode", MODES[0]), table.texts("keys")
    if mode not in MODES:
        raise WrongFile(f"table.mode must be {' or '.join(MODES)}, not {mode!r}")
    if mode == MODES[0]:
        if keys:
            raise WrongFile('table.keys has a meaning with table.mode = "upsert" alone')
        return ()
    if not keys:
        raise WrongFile(
            'table.mode = "upsert" needs table.keys: the columns that a row is known by'
        )
    if form == "parquet":
        raise WrongFile(
            'table.mode = "upsert" needs a table that readers see whole while its files are '
            "exchanged: take delta: or iceberg:"
        )
    return keys


def unwrapped(envelope: str, values: Values, keys: tuple[str, ...]) -> Values:
    """Change records in this format."""
    if envelope not in ENVELOPES:
        raise WrongFile(
            f"values.envelope: there is {', '.join(ENVELOPES)}, not {envelope!r}"
            f"{nearest(envelope, ENVELOPES)}"
        )
    if not keys:
        raise WrongFile(
            'values.envelope = "debezium" makes rows of changes, which takes table.mode = "upsert" '
            "and table.keys. Without it each change record is a row, with op, before and after"
        )
    if not isinstance(values, (JsonValues, AvroValues)):
        raise WrongFile('values.envelope = "debezium" takes values.format json or avro')
    return Debezium(values, keys)
