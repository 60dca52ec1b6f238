"""Schemas of Protobuf as a registry gives them: descriptors, made here without a compiler."""

import base64
import json
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from odradek.pipelines.formats.registry import SchemaRegistry


def field(name: str, number: int, kind: str, *more: str) -> str:
    """One field; `kind` is a scalar, or the full name of a message with a dot before it."""
    of = f'type_name: "{kind}"' if kind.startswith(".") else f"type: TYPE_{kind.upper()}"
    label = "" if any("label" in it for it in more) else "label: LABEL_OPTIONAL"
    return f'field {{ name: "{name}" number: {number} {of} {label} {" ".join(more)} }}'


def message(name: str, *parts: str) -> str:
    """With these fields, and whatever else it holds."""
    return f'name: "{name}" {" ".join(parts)}'


def file(
    *messages: str, syntax: str = "proto3", imports: tuple[str, ...] = (), more: str = ""
) -> str:
    """A file as the registry has it."""
    dependencies = " ".join(f'dependency: "{it}"' for it in imports)
    types = " ".join(f"message_type {{ {it} }}" for it in messages)
    text = f'name: "default" package: "shop" syntax: "{syntax}" {dependencies} {types} {more}'
    found = text_format.Parse(text, FileDescriptorProto())
    return base64.b64encode(found.SerializeToString()).decode()


def answer(schema: str, **references: tuple[str, int]) -> dict[str, Any]:
    """What a registry says of one; references are subjects and versions by the name imported."""
    said = [
        {"name": f"{name}.proto", "subject": subject, "version": version}
        for name, (subject, version) in references.items()
    ]
    return {"schema": schema, "schemaType": "PROTOBUF", "references": said}


@contextmanager
def serving(answers: Mapping[str, Any]) -> Iterator[SchemaRegistry]:
    """A registry with these answers by path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """One of them."""
            found = answers.get(self.path)
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield SchemaRegistry(f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()


def framed(number: int, body: bytes, indexes: bytes = b"\x00") -> bytes:
    """As Confluent's serializer writes it."""
    return struct.pack(">bI", 0, number) + indexes + body
