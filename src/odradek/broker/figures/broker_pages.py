"""What a broker shows on its admin listener: that it lives, whether it is ready, its metrics."""

import asyncio
import errno
from collections.abc import Callable
from typing import Final

import structlog

from odradek.broker.figures.metrics import CONTENT_TYPE, Kept, page
from odradek.broker.figures.pages import Guard, Page, PageServer
from odradek.broker.network.certificates import Certificates, listeners_with_tls
from odradek.broker.network.socket_server import naming
from odradek.config.broker import BrokerConfig
from odradek.config.rows.broker import ADMIN_LISTENER, ADMIN_LISTENER_TOKEN

READY: Final = "ready"
UNAVAILABLE: Final = "503 Service Unavailable"

log = structlog.get_logger()


class BrokerPages:
    """Of one broker; `state` is in one word what it does, `kept` is None until it has started."""

    def __init__(
        self,
        server: PageServer,
        state: Callable[[], str],
        kept: Callable[[], Kept | None],
        certificates: Certificates,
    ) -> None:
        self._server = server
        self._state = state
        self._kept = kept
        self._certificates = certificates

    async def listen(self, config: BrokerConfig, tasks: asyncio.TaskGroup) -> None:
        """From now on, if it is asked for. A default port that is taken gives way to another."""
        self._server.pages = {
            "/health/live": self._liveness,
            "/health/ready": self._readiness,
            "/metrics": self._metrics,
        }
        said = config[ADMIN_LISTENER]
        if not said:
            return
        token = config[ADMIN_LISTENER_TOKEN]
        name = ADMIN_LISTENER.name
        has_tls = name in listeners_with_tls(config)
        context = self._certificates.server(name) if has_tls else None
        self._server.guard = Guard(context, token.value if token else None)
        host, _, port = said.rpartition(":")
        address = (host.strip("[]"), int(port))
        with naming(ADMIN_LISTENER, said):
            try:
                await self._server.listen(address, tasks)
            except OSError as error:
                if error.errno != errno.EADDRINUSE or config.is_set(ADMIN_LISTENER):
                    raise
                await self._server.listen((address[0], 0), tasks)
                log.warning("admin.port_is_taken", wanted=said, address=self._server.address)

    async def _liveness(self) -> Page:
        return Page("200 OK", "live\n")

    async def _readiness(self) -> Page:
        state, kept = self._state(), self._kept()
        if state != READY or kept is None:
            return Page(UNAVAILABLE, f"{state}\n")
        standing_by = kept.services.controller.standing_by
        none = f"no controller: {standing_by.abstains}\n" if standing_by.is_withheld else ""
        return Page("200 OK", f"{state}\n{none}")

    async def _metrics(self) -> Page:
        kept = self._kept()
        if kept is None:
            return Page(UNAVAILABLE, "starting\n")
        return Page("200 OK", await page(kept), CONTENT_TYPE)
