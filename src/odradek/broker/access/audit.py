"""The audit log: who was refused what, whose login failed, who changed something, from where.

It is made from answers, so it says what clients were told, by whichever part. A line is a JSON
object with names alone: no password, no value of a setting and no record ever comes here. There is
one only where `audit.log` names a file; without it no request is looked at. What a client can
bring about without a right is bounded: refusals and failures by `repeats`, and names by length.
"""

import json
from datetime import UTC, datetime
from typing import Final

from odradek.broker.access.audited_rows import resources, rows
from odradek.broker.access.need import REFUSALS
from odradek.broker.access.repeats import Refused, Repeats
from odradek.broker.doors import Doors, Lines
from odradek.broker.network.pending_request import Client, PendingRequest
from odradek.broker.network.socket_server import naming
from odradek.broker.slices import Steps
from odradek.broker.timers import Timers
from odradek.config.broker import BrokerConfig
from odradek.config.rows import broker as rows_of_broker
from odradek.model.access import CLUSTER
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.units import MINUTE
from odradek.ports import Address, Clock
from odradek.security.principal import Principal
from odradek.wire.apis import APIS
from odradek.wire.messages.odradek_admin import OdradekAdminRequest
from odradek.wire.schema import Request, Response

REFUSED: Final = {code: kind.name for kind, code in REFUSALS.items()}
CHANGES: Final = frozenset(
    key
    for key, api in APIS.items()
    if api.name
    in {
        "AlterClientQuotas",
        "AlterConfigs",
        "AlterPartitionReassignments",
        "AlterReplicaLogDirs",
        "AlterUserScramCredentials",
        "CreateAcls",
        "CreatePartitions",
        "CreateTopics",
        "DeleteAcls",
        "DeleteGroups",
        "DeleteRecords",
        "DeleteTopics",
        "ElectLeaders",
        "IncrementalAlterConfigs",
        "OdradekAdmin",
        "OffsetDelete",
        "UpdateFeatures",
    }
)
"""What administrators do. Operations of OdradekAdmin that only describe stand here, too."""
ADMIN: Final = OdradekAdminRequest.KEY  # about the cluster, it names nothing
BOUNDED: Final = frozenset({"refused", "failed"})
"""Outcomes that are bounded: what does not exist can be asked for without any right, and fails."""
TEXT_MAX: Final = 500
"""Characters of a name that a client sent."""


class Audit:
    """Of one broker."""

    def __init__(self, lines: Lines, clock: Clock, timers: Timers, *, tells_allowed: bool) -> None:
        self.tells_allowed = tells_allowed  # what was served as well
        self.broker: BrokerId | None = None  # once it knows its number
        self._lines = lines
        self._clock = clock
        self._timers = timers
        self._repeats = Repeats()
        self._in_a_minute = False  # that ends by a timer

    def on_answer(
        self, request: Request, pending: PendingRequest, response: Response
    ) -> Steps[None]:
        """What a client is told. A change of nothing is none: it needs no right."""
        for row in rows(request, response):
            if row is None:
                yield
                continue
            name, code = row
            if name or code or pending.key not in CHANGES or pending.key == ADMIN:
                self._tell_row(pending, request, name, code)

    def on_no_answer(self, pending: PendingRequest, request: Request, code: ErrorCode) -> None:
        """Refused by the end of the connection: this client reads no answers."""
        for name in resources(request) or [""]:
            self._tell_row(pending, request, name, code)

    def login_refused(self, listener: str, peer: Address, reason: str) -> None:
        """No name was proven."""
        self._tell("login", None, listener, peer, outcome="refused", reason=reason)

    def renewal_refused(self, client: Client, reason: str) -> None:
        """A name was not proven again."""
        listener, peer = client.listener, client.peer
        self._tell("login", client.principal, listener, peer, outcome="refused", reason=reason)

    def named(self, client: Client) -> None:
        """A name is proven; told with what is allowed."""
        if self.tells_allowed:
            self._tell("login", client.principal, client.listener, client.peer, outcome="allowed")

    def close(self) -> None:
        """The broker ends."""
        self._end_minute()
        self._lines.close()

    def _tell_row(
        self, pending: PendingRequest, request: Request, name: str, code: ErrorCode
    ) -> None:
        kind = REFUSED.get(code)
        if kind is not None:
            event, outcome = "request", "refused"
        elif pending.key in CHANGES:
            event, outcome = "change", "failed" if code else "done"
        elif self.tells_allowed:
            event, outcome = "request", "allowed"
        else:
            return
        about = {} if kind is None else {"resource_type": kind}
        if isinstance(request, OdradekAdminRequest):
            about["operation"] = request.operation
        client = pending.connection
        self._tell(
            event,
            client.principal,
            client.listener,
            client.peer,
            client_id=pending.client_id,
            api=APIS[pending.key].name,
            **about,
            resource=CLUSTER.name if kind == CLUSTER.type.name else name,
            outcome=outcome,
            code=code.name,
        )

    def _tell(
        self, event: str, who: Principal | None, listener: str, peer: Address, **more: str | None
    ) -> None:
        principal = None if who is None else _cut(str(who))
        is_bounded = more["outcome"] in BOUNDED
        if is_bounded and not self._admit(Refused(event, principal, peer[0])):
            return
        texts = {name: _cut(text) for name, text in more.items()}
        self._write(event, principal, f"{peer[0]}:{peer[1]}", listener=listener, **texts)

    def _admit(self, refused: Refused) -> bool:
        if not self._in_a_minute:
            self._in_a_minute = True
            self._timers.after(MINUTE, self._end_minute)
        return self._repeats.admit(refused)

    def _end_minute(self) -> None:
        self._in_a_minute = False
        for (event, principal, host), count in self._repeats.end():
            outcome = "failed" if event == "change" else "refused"
            self._write(event, principal, host, outcome=outcome, left_out=count)

    def _write(
        self, event: str, principal: str | None, address: str | None, **more: str | int | None
    ) -> None:
        moment = datetime.fromtimestamp(self._clock.wall() / 1_000, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "broker": self.broker,
            "event": event,
            "principal": principal,
            "address": address,
            **more,
        }
        self._lines.write(json.dumps(line))


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}..."


def audit_of(config: BrokerConfig, doors: Doors, timers: Timers) -> Audit | None:
    """Where the settings ask for one; its file is opened by this."""
    path = config[rows_of_broker.AUDIT_LOG]
    if path is None:
        return None
    with naming(rows_of_broker.AUDIT_LOG, path):
        lines = doors.add_lines(path)
    allowed = config[rows_of_broker.AUDIT_LOG_ALLOWED]
    return Audit(lines, doors.clock, timers, tells_allowed=allowed)
