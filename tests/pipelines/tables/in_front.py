"""A server in front of another one, which hands on requests, or some of them."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from urllib.parse import urlsplit

ITS_OWN = {"content-length", "transfer-encoding", "connection"}


@contextmanager
def in_front_of(endpoint: str, *, without: str = "", away: Event | None = None) -> Iterator[str]:
    """Its URL. It leaves out a header; while `away` is set it answers that it cannot."""
    behind = urlsplit(endpoint)

    class Handler(BaseHTTPRequestHandler):
        def _hand_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if away is not None and away.is_set():
                self._answer(503, [], b"")
                return
            headers = {name: it for name, it in self.headers.items() if name.lower() != without}
            connection = http.client.HTTPConnection(str(behind.hostname), behind.port)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            self._answer(answer.status, answer.getheaders(), answer.read())
            connection.close()

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _hand_on  # noqa: N815

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response(status)
            length = [it for name, it in headers if name.lower() == "content-length"]
            for name, value in headers:
                if name.lower() not in ITS_OWN:
                    self.send_header(name, value)
            is_head = self.command == "HEAD" and length
            self.send_header("Content-Length", length[0] if is_head else str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is said."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
