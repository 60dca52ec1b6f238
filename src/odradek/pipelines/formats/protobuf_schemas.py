"""Schemas of Protobuf from a registry: the messages that its values are.

The registry gives them as descriptors (`format=serialized`), not as source: so nothing here parses
`.proto` files. What a schema imports it names as references; what every library of Protobuf brings
along (`google/protobuf`, `google/type`, Confluent's own) it does not.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final
from urllib.parse import quote

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.registry import (
    RegistryFailed,
    SchemaRegistry,
    WrongSchema,
    answer_by_id,
    newest,
    understood,
)

BROUGHT: Final = re.compile(r"google/(protobuf|type)/[a-z_]+\.proto")
CONFLUENTS: Final = re.compile(r"confluent/(meta|types?/[a-z_]+)\.proto")

Message = Any
"""A class of messages."""


def message_at(registry: SchemaRegistry, number: int, indexes: Sequence[int]) -> Descriptor:
    """The message at these places: among those of the file, then among those within that one."""
    found: Any = None
    among: Sequence[Any] = _messages(schema_file(registry, number))
    for at in indexes:
        if not 0 <= at < len(among):
            raise ValueError(f"schema {number} has no message {list(indexes)}")
        found = among[at]
        among = found.nested_types
    return found


def class_of(message: Descriptor) -> Message:
    """What parses such messages."""
    return GetMessageClass(message)


def newest_message(registry: SchemaRegistry, subject: str) -> Descriptor | None:
    """The one that no other of its file has as a field; None: the registry does not tell."""
    answer = newest(registry, subject)
    if answer is None:
        return None
    with understood(f"the newest schema of {subject}"):
        number = int(answer["id"])
    among = _messages(schema_file(registry, number))
    used = {it.full_name for one in among for it in _used(one, set())}
    roots = [it for it in among if it.full_name not in used]
    return roots[0] if len(roots) == 1 else None


def _used(message: Descriptor, seen: set[str]) -> Iterator[Descriptor]:
    if message.full_name not in seen:
        seen.add(message.full_name)
        for field in message.fields:
            if field.message_type is not None:
                yield field.message_type
                yield from _used(field.message_type, seen)


def _messages(file: FileDescriptor) -> list[Descriptor]:
    """In the order of the file."""
    return list(file.message_types_by_name.values())


@lru_cache(maxsize=1_000)
def schema_file(registry: SchemaRegistry, number: int) -> FileDescriptor:
    """A schema with all that it imports; its own pool, for names of two schemas can be the same."""
    pool = DescriptorPool()
    name = f"schema-{number}.proto"
    with understood(f"Protobuf schema {number}"):
        _add(pool, (name,), _found(registry, number), registry)
    return pool.FindFileByName(name)


def _found(registry: SchemaRegistry, number: int) -> Mapping[str, Any]:
    answer = answer_by_id(registry, number, "serialized")
    kind = answer.get("schemaType", "AVRO")
    if kind != "PROTOBUF":
        raise WrongSchema(f"schema {number} is of type {kind}, not PROTOBUF")
    return dict(answer)


def _add(
    pool: DescriptorPool,
    names: tuple[str, ...],
    answer: Mapping[str, Any],
    registry: SchemaRegistry,
) -> None:
    """The last of these names, which those before it have led to by their imports."""
    file = _descriptor(answer["schema"], registry)
    file.name = names[-1]
    references = {it["name"]: it for it in answer.get("references", ())}
    for imported in file.dependency:
        if _has(pool, imported):
            continue
        if imported in names:
            raise WrongSchema(f"{imported} imports itself, by {', '.join(names[1:])}")
        if (reference := references.get(imported)) is not None:
            _add(pool, (*names, imported), _referred(registry, reference), registry)
        else:
            _add_brought(pool, imported)
    _into(pool, file)


def _referred(registry: SchemaRegistry, reference: Mapping[str, Any]) -> Mapping[str, Any]:
    subject, version = quote(reference["subject"], safe=""), reference["version"]
    return _found(registry, registry.get(f"/subjects/{subject}/versions/{version}")["id"])


def _add_brought(pool: DescriptorPool, name: str) -> None:
    if CONFLUENTS.fullmatch(name):
        _into(pool, _of_confluent(name))
        return
    if not BROUGHT.fullmatch(name):
        raise InvalidOption(f"the schema imports {name}, which the registry does not have")
    try:
        module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError as error:
        raise InvalidOption(f"the schema imports {name}, which is not known") from error
    file = FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
    for imported in file.dependency:
        if not _has(pool, imported):
            _add_brought(pool, imported)
    _into(pool, file)


def _of_confluent(name: str) -> FileDescriptorProto:
    """What fields can be of; its options of files and fields mean nothing to a reader."""
    package = "confluent.types" if name.startswith("confluent/types/") else "confluent.type"
    file = FileDescriptorProto(name=name, package=package, syntax="proto3")
    if name.endswith("/decimal.proto"):
        message = file.message_type.add(name="Decimal")
        kinds = FieldDescriptorProto.TYPE_BYTES, *[FieldDescriptorProto.TYPE_INT32] * 2
        for at, (of, kind) in enumerate(zip(("value", "precision", "scale"), kinds, strict=True)):
            message.field.add(
                name=of, number=at + 1, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL
            )
    return file


def _descriptor(text: str, registry: SchemaRegistry) -> FileDescriptorProto:
    try:
        return FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except DecodeError as error:
        raise InvalidOption("it is no descriptor of Protobuf") from error
    except binascii.Error as error:
        raise RegistryFailed(
            f"the schema registry at {registry.url} gives no descriptors of Protobuf: it must know "
            "'format=serialized', as Confluent's, Karapace and Redpanda from 25.2 on do"
        ) from error


def _has(pool: DescriptorPool, name: str) -> bool:
    try:
        pool.FindFileByName(name)
    except KeyError:
        return False
    return True


def _into(pool: DescriptorPool, file: FileDescriptorProto) -> None:
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:
        raise InvalidOption(f"the schema {file.name} is no schema of Protobuf: {error}") from error
