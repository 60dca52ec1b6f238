"""A REST catalog of Iceberg for tests: the protocol in front of pyiceberg's own SQL catalog."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final
from urllib.parse import unquote

from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import CommitTableRequest

STATUS: Final[dict[type[Exception], int]] = {
    NoSuchTableError: 404,
    CommitFailedException: 409,
    NamespaceAlreadyExistsError: 409,
    TableAlreadyExistsError: 409,
}


@contextmanager
def serving(
    directory: Path,
    warehouse: str = "",
    store: Mapping[str, str] = MappingProxyType({}),
    away: threading.Event | None = None,
) -> Iterator[str]:
    """The URI of a catalog whose tables lie in this directory, or in a bucket.

    How the bucket is reached is told with each table, as catalogs do that give out credentials.
    While `away` is set it answers that it cannot.
    """
    catalog = SqlCatalog(
        "served",
        uri=f"sqlite:///{directory}/served.db",
        warehouse=warehouse or directory.as_uri(),
        **store,
    )

    class Handler(_Handler):
        served = catalog

    Handler.away = away or threading.Event()
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
    catalog.close()


class _Handler(BaseHTTPRequestHandler):
    served: SqlCatalog
    away: threading.Event

    def log_message(self, *_: Any) -> None:
        """Nothing is said."""

    def do_GET(self) -> None:
        """Asked for something."""
        self._answer({})

    def do_HEAD(self) -> None:
        """Asked whether something is there."""
        self._answer({})

    def do_POST(self) -> None:
        """Told to make or to change something."""
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: dict[str, Any]) -> None:
        parts = [unquote(it) for it in self.path.partition("?")[0].strip("/").split("/")]
        try:
            status, document = 200, {} if self.away.is_set() else self._done(parts[1:], body)
        except tuple(STATUS) as error:
            status = next(code for kind, code in STATUS.items() if isinstance(error, kind))
            text = {"message": str(error), "type": type(error).__name__, "code": status}
            document = {"error": text}
        if self.away.is_set():
            status = 503
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _done(self, parts: list[str], body: dict[str, Any]) -> dict[str, Any]:
        match self.command, parts:
            case _, ["config"]:
                return {"defaults": {}, "overrides": {}}
            case "POST", ["namespaces"]:
                self.served.create_namespace(tuple(body["namespace"]))
                return {"namespace": body["namespace"]}
            case "POST", ["namespaces", namespace, "tables"]:
                return self._created((namespace,), _request(body))
            case "POST", ["namespaces", namespace, "tables", name]:
                request = CommitTableRequest.model_validate(body)
                table: Any = SimpleNamespace(name=lambda: (namespace, name))
                done = self.served.commit_table(table, request.requirements, request.updates)
                return json.loads(done.model_dump_json())  # type: ignore[no-any-return]
            case _, ["namespaces", namespace, "tables", name]:
                return self._table(self.served.load_table((namespace, name)))
            case _, ["namespaces", namespace]:
                return {"namespace": [namespace], "properties": {}}
        raise AssertionError((self.command, parts))

    def _created(self, namespace: tuple[str, ...], request: CreateTableRequest) -> dict[str, Any]:
        identifier = (*namespace, request.name)
        if request.stage_create and self.served.table_exists(identifier):
            raise TableAlreadyExistsError(str(identifier))
        make = (
            self.served._create_staged_table if request.stage_create else self.served.create_table
        )
        return self._table(make(identifier, request.table_schema, properties=request.properties))

    def _table(self, table: Any) -> dict[str, Any]:
        told = self.served.properties.items()
        return {
            "metadata-location": table.metadata_location,
            "metadata": json.loads(table.metadata.model_dump_json()),
            "config": {name: value for name, value in told if name.startswith("s3.")},
        }


def _request(body: dict[str, Any]) -> CreateTableRequest:
    """Fields that a client leaves out are none."""
    fields = {"location": None, "partition-spec": None, "write-order": None, **body}
    return CreateTableRequest.model_validate(fields)
