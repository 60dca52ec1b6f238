"""Turns the definitions into one table, so that a look-up by number imports nothing else."""

from codegen.definitions import Module

HEAD = '''"""Every API, and every type of record in an internal topic, with the module that has it.

Generated from `codegen/messages` by `python -m codegen`.
"""

from typing import Final, NamedTuple


class ApiRow(NamedTuple):
    """One API: its name, the versions of which we know the wire, and where they are."""

    name: str
    module: str
    last_version: int
    flexible_from: int | None


class RecordRow(NamedTuple):
    """One type of record, and where it is."""

    name: str
    module: str
'''


def render(definitions: list[Module]) -> str:
    """The text of `index.py`, before the formatter has been over it."""
    lines = [HEAD, "", "API_ROWS: Final = {"]
    apis = [definition for definition in definitions if definition.key is not None]
    for api in sorted(apis, key=lambda definition: definition.key or 0):
        request, response, *_ = api.messages
        assert request.versions == response.versions, api.name
        assert request.flexible_from == response.flexible_from, api.name
        assert request.versions.first == 0, api.name
        row = (api.api, api.name, request.versions.last, request.flexible_from)
        lines.append(f"    {api.key}: ApiRow({', '.join(map(repr, row))}),")
    lines += ["}", "", "RECORD_ROWS: Final = {"]
    for definition in definitions:
        for message in definition.messages:
            if message.kind == "key":
                where = (definition.topic, message.number)
                row_ = (message.name.removesuffix("Key"), definition.name)
                lines.append(f"    {where!r}: RecordRow({', '.join(map(repr, row_))}),")
    return "\n".join([*lines, "}", ""])
