"""What a client may do: its proven name and its address, held against the rules.

There is one only where `authorizer.class.name` says so; without it no handler asks.
"""

from collections.abc import Iterable
from ipaddress import IPv6Address
from typing import Final

from odradek.access.decisions import Answers, Caller, Decisions
from odradek.broker.access.need import REFUSALS, Each, Need, Whole
from odradek.broker.network.pending_request import Client
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps
from odradek.model.access import CLUSTER, OPERATIONS, Operation, ResourceType
from odradek.model.errors import BrokerError
from odradek.security.principal import ANONYMOUS, Principal
from odradek.wire.schema import Request

CALLERS_MAX: Final = 10_000
"""Whose names are kept as rules write them; then all are written anew."""
CLUSTER_ACTION: Final = Operation.CLUSTER_ACTION


def _bits(operations: Iterable[Operation]) -> int:
    return sum(1 << it for it in operations)


NOTHING_IS_ALLOWED: Final = Answers(lambda _: False)
ALL_ON: Final = {kind: _bits(operations) for kind, operations in OPERATIONS.items()}
"""Without an authorizer every operation is allowed; answers have a bit for each."""


class NotAuthorized(BrokerError):
    """A client asks for what it may not do; it is told the code and no more."""

    def __init__(self, resource: ResourceType) -> None:
        code = REFUSALS[resource]
        super().__init__(code.sentence)
        self.code = code  # type: ignore[misc]  # one class for all of them


class Authorizer:
    """Decides for handlers. Rules change under it; each question is asked of those of now.

    ANONYMOUS is a client without a proven name: what brokers do, it may do by their listener alone,
    unless it is a super user, who may do worse on any listener. So a cluster changes the listener
    of its brokers one by one, when some still speak by the one before.
    """

    def __init__(self, decisions: Decisions, inter_broker_listener: str) -> None:
        self.decisions = decisions
        self._inter_broker_listener = inter_broker_listener
        self._has_open_brokers = decisions.is_super_user(str(ANONYMOUS))
        self._callers: dict[tuple[Principal, str], Caller] = {}

    def may(self, client: Client, operation: Operation, kind: ResourceType, name: str) -> bool:
        """Whether a client may do something to a resource."""
        return self.answers(client, operation, kind)[name]

    def answers(self, client: Client, operation: Operation, kind: ResourceType) -> Answers:
        """Whether it may to each resource of the type, as the rules of now say."""
        if operation is CLUSTER_ACTION and not self._can_be_broker(client):
            return NOTHING_IS_ALLOWED
        return self.decisions.answers(self._caller(client), operation, kind)

    def may_on_cluster(self, client: Client, operation: Operation) -> bool:
        """Likewise to the cluster."""
        return self.may(client, operation, *CLUSTER)

    def may_write_somewhere(self, client: Client) -> bool:
        """Whether there can be a topic that it may write to (KIP-679)."""
        caller = self._caller(client)
        return self.decisions.may_to_some(caller, Operation.WRITE, ResourceType.TOPIC)

    def check(self, client: Client, operation: Operation, kind: ResourceType, name: str) -> None:
        """Raises NotAuthorized."""
        if not self.may(client, operation, kind, name):
            raise NotAuthorized(kind)

    def check_cluster(self, client: Client, operation: Operation) -> None:
        """Likewise for the cluster."""
        self.check(client, operation, *CLUSTER)

    def operations(self, client: Client, kind: ResourceType, name: str) -> int:
        """All that it may do to a resource."""
        return _bits(it for it in OPERATIONS[kind] if self.may(client, it, kind, name))

    def operations_on_cluster(self, client: Client) -> int:
        """Likewise to the cluster; nothing is told to who may not describe it."""
        if not self.may_on_cluster(client, Operation.DESCRIBE):
            return 0
        return self.operations(client, *CLUSTER)

    # What is decided before a request is served

    def take_out(
        self, client: Client, request: Request, needs: Iterable[Need]
    ) -> Steps[tuple[Each, list[object]] | None]:
        """The rows of a request that are refused; the others stay. Raises if all of it is."""
        found: tuple[Each, list[object]] | None = None
        for need in needs:
            if isinstance(need, Whole):
                self._check_whole(client, request, need)
            elif isinstance(need, Each):
                refused = yield from self._refused(client, request, need)
                found = (need, refused) if refused else None
        return found

    def _check_whole(self, client: Client, request: Request, need: Whole) -> None:
        name = CLUSTER.name if need.named_by is None else getattr(request, need.named_by)
        if name is None or (need.instead and self.may_on_cluster(client, need.instead)):
            return
        self.check(client, need.operation, need.resource, name)

    def _refused(self, client: Client, request: Request, need: Each) -> Steps[list[object]]:
        if need.instead is not None and self.may_on_cluster(client, need.instead):
            return []
        allowed, refused = list[object](), list[object]()
        may = self.answers(client, need.operation, need.resource)
        for seen, row in enumerate(getattr(request, need.rows) or (), 1):
            name = row if need.named_by is None else getattr(row, need.named_by)
            (allowed if may[name] else refused).append(row)
            if not seen % ROWS_IN_A_SLICE:
                yield
                may = self.answers(client, need.operation, need.resource)
        if refused:
            setattr(request, need.rows, allowed)
        return refused

    def _can_be_broker(self, client: Client) -> bool:
        return (
            client.principal != ANONYMOUS
            or client.listener == self._inter_broker_listener
            or self._has_open_brokers
        )

    def _caller(self, client: Client) -> Caller:
        key = (client.principal, client.peer[0])
        known = self._callers.get(key)
        if known is None:
            if len(self._callers) >= CALLERS_MAX:
                self._callers.clear()
            known = self._callers[key] = Caller(str(client.principal), java_address(client.peer[0]))
        return known


def java_address(host: str) -> str:
    """An address as Java writes it, and so as rules have it: `0:0:0:0:0:0:0:1`."""
    if ":" not in host:
        return host
    text, percent, scope = host.partition("%")
    address = IPv6Address(text)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    groups = (f"{int(it, 16):x}" for it in address.exploded.split(":"))
    return ":".join(groups) + percent + scope
