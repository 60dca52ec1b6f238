"""Documents by HTTPS: where an answer may lead."""

import socketserver
import ssl
import threading
from contextlib import suppress
from typing import ClassVar
from urllib.request import Request

import pytest

from odradek.model.units import Millis
from odradek.security.https import Https, _OnlyHttps
from tests.samples.certificate_files import certificates


def test_a_secret_is_not_led_elsewhere() -> None:
    """A form carries one; a document that is only read may be elsewhere, by https."""
    form = Request("https://a/", b"x", {"Authorization": "Basic c2VjcmV0"})
    with pytest.raises(OSError, match="a secret is not shown there"):
        _OnlyHttps().redirect_request(form, None, 302, "", {}, "https://b/")
    read = Request("https://a/")
    led = _OnlyHttps().redirect_request(read, None, 302, "", {}, "https://b/")
    assert led is not None
    assert led.full_url == "https://b/"
    with pytest.raises(OSError, match="not https"):
        _OnlyHttps().redirect_request(read, None, 302, "", {}, "http://b/")


class Dripping(socketserver.BaseRequestHandler):
    """Sends its answer a byte at a time; the client's time passes with each."""

    clock: ClassVar[list[int]] = [0]

    def handle(self) -> None:
        """Until the client has gone."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates("broker.pem"))
        with suppress(OSError), context.wrap_socket(self.request, server_side=True) as client:
            client.recv(4_096)
            for byte in b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1_000:
                self.clock[0] += 500
                client.sendall(bytes([byte]))


def test_an_issuer_that_drips_holds_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, and all of them do not."""
    monkeypatch.setenv("SSL_CERT_FILE", certificates("trusted.crt"))
    Dripping.clock[0] = 0
    with socketserver.TCPServer(("127.0.0.1", 0), Dripping) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        https = Https(lambda: Millis(Dripping.clock[0]), Millis(8_000))
        with pytest.raises(OSError, match="has not answered in 8000 ms"):
            https.read(f"https://localhost:{server.server_address[1]}/keys")
        thread.join()
