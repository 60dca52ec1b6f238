"""Turns a definition into a Python module: typed classes, each with the table of its fields."""

import re
from collections.abc import Iterator
from typing import Final

from codegen.definitions import LATEST, PRIMITIVES, Field, Message, Module, Struct

PYTHON_TYPES: Final = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "short_string": "str",
    "bytes": "Buffer",
    "records": "Records",
}
PYTHON_DEFAULTS: Final = {
    "bool": "False",
    "float64": "0.0",
    "uuid": "NO_UUID",
    "string": '""',
    "short_string": '""',
    "bytes": 'b""',
    "records": "None",
}
BASES: Final = {
    "request": "Request",
    "response": "Response",
    "key": "RecordKey",
    "value": "RecordValue",
    "message": "Message",
}
WRITTEN_CONSTANTS: Final = {"null": "None", "true": "True", "false": "False"}


def render(module: Module) -> str:
    """The whole text of a module, before the formatter has been over it."""
    users = _users(module)
    body = "\n".join(
        line for struct in module.inner_first() for line in _class(struct, module, users)
    )
    words = set(re.findall(r"\w+", body))
    names = {"Array", "Buffer", "DEFAULT", "Field", "NO_UUID", "Records", "Struct", *BASES.values()}
    names |= {name.upper() for name in PRIMITIVES}
    lines = [
        f'"""{_title(module)}',
        "",
        f"Generated from `codegen/messages/{module.name}.txt` by `python -m codegen`.",
        '"""',
        "",
        "from collections.abc import Sequence\n" if "Sequence" in words else "",
        f"from odradek.wire.schema import {', '.join(sorted(names & words, key=_import_order))}",
    ]
    return "\n".join(lines) + "\n" + body


def _import_order(name: str) -> tuple[bool, str]:
    """Constants first, then classes, and INT8 before INT16: what the linter wants to see."""
    return not name.isupper(), re.sub(r"\d+", lambda digits: digits[0].zfill(3), name)


def _title(module: Module) -> str:
    if module.api is not None:
        return f"{module.api} (key {module.key}), {_span(module.messages[0])}."
    if module.topic is not None:
        names = dict.fromkeys(re.sub("(Key|Value)$", "", m.name) for m in module.messages)
        return f"Records of {module.topic}: {', '.join(names)}."
    return f"{', '.join(message.name for message in module.messages)}."


def _span(message: Message) -> str:
    span = f"versions {message.versions.first} to {message.versions.last}"
    if message.versions.first == message.versions.last:
        span = f"version {message.versions.first}"
    if message.flexible_from is None:
        return span
    return f"{span}, flexible from {message.flexible_from}"


def _users(module: Module) -> dict[str, list[str]]:
    """Where each struct is used: `FetchTopic.partitions`."""
    users: dict[str, list[str]] = {}
    for struct in (*module.messages, *module.structs.values()):
        for field in struct.fields:
            users.setdefault(field.type, []).append(f"`{struct.name}.{field.name}`")
    return users


def _class(struct: Struct, module: Module, users: dict[str, list[str]]) -> Iterator[str]:
    message = struct if isinstance(struct, Message) else None
    base = BASES[message.kind] if message else "Struct"
    yield f"\n\nclass {struct.name}({base}):"
    yield f'    """{_summary(struct, users)}"""\n'
    names = [f'"{field.name}"' for field in struct.fields]
    yield f"    __slots__ = ({', '.join(names)}{',' if len(names) == 1 else ''})\n"
    if message:
        yield from _constants(message, module)
    if struct.fields:
        yield "    FIELDS = ("
        for field in struct.fields:
            yield f"        {_row(field)},"
        yield "    )\n"
        yield "    def __init__(\n        self,"
        for field in struct.fields:
            yield f"        {field.name}: {_annotation(field)} = {_parameter(field)},"
        yield "    ) -> None:"
        for field in struct.fields:
            yield f"        self.{field.name} = {_assigned(field)}"


def _summary(struct: Struct, users: dict[str, list[str]]) -> str:
    if isinstance(struct, Message):
        return (
            f"Its {_span(struct)}."
            if struct.kind == "message"
            else f"{_span(struct).capitalize()}."
        )
    return f"Of {' and '.join(users[struct.name])}."


def _constants(message: Message, module: Module) -> Iterator[str]:
    yield f"    VERSIONS = range({message.versions.first}, {message.versions.last + 1})"
    if message.flexible_from is not None:
        yield f"    FLEXIBLE_FROM = {message.flexible_from}"
    if message.kind in {"request", "response"}:
        yield f"    KEY = {message.number}"
    if message.kind in {"key", "value"}:
        yield f'    TOPIC = "{module.topic}"\n    TYPE = {message.number}'
    yield ""


def _is_struct(field: Field) -> bool:
    return field.type not in PRIMITIVES and not field.array


def _may_be_none(field: Field) -> bool:
    """Tagged structs too: `None` is their absence, which is cheaper than a struct of defaults."""
    absent = _is_struct(field) and field.tag is not None
    return field.null is not None or field.type == "records" or absent


def _annotation(field: Field) -> str:
    name = PYTHON_TYPES.get(field.type, "int" if field.type in PRIMITIVES else field.type)
    if field.array:
        name = f"Sequence[{name}]"
    return f"{name} | None" if _may_be_none(field) else name


def _parameter(field: Field) -> str:
    if field.default is not None:
        return WRITTEN_CONSTANTS.get(field.default, field.default)
    if field.array:
        return "()"
    if field.type in PRIMITIVES:
        return PYTHON_DEFAULTS.get(field.type, "0")
    return "None" if field.tag is not None and field.null is None else "DEFAULT"


def _assigned(field: Field) -> str:
    if _parameter(field) == "DEFAULT":
        return f"{field.type}() if {field.name} is DEFAULT else {field.name}"
    return field.name


def _row(field: Field) -> str:
    kind = field.type.upper() if field.type in PRIMITIVES else field.type
    parts = [f'"{field.name}"', f"Array({kind})" if field.array else kind]
    if field.versions.first:
        parts.append(f"since={field.versions.first}")
    if field.versions.last != LATEST:
        parts.append(f"until={field.versions.last}")
    if field.default is not None:
        parts.append(f"default={_parameter(field)}")
    if field.null is not None:
        parts.append(f"null=({field.null.first}, {field.null.last})")
    if field.tag is not None:
        parts.append(f"tag={field.tag}")
    if field.ignorable:
        parts.append("ignorable=True")
    return f"Field({', '.join(parts)})"
