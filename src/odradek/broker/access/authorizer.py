"""What a client may do: its proven name and its address, held against the rules.

There is one only where `authorizer.class.name` says so; without it no handler asks.
"""

from collections.abc import Iterable
from typing import Final

from odradek.access.decisions import Caller, Decisions
from odradek.broker.access.need import REFUSALS, Each, Need, Whole
from odradek.broker.network.pending_request import Client
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps
from odradek.model.access import CLUSTER, OPERATIONS, Operation, Resource, ResourceType
from odradek.model.errors import BrokerError
from odradek.wire.schema import Request


def _bits(operations: Iterable[Operation]) -> int:
    return sum(1 << it for it in operations)


ALL_ON: Final = {kind: _bits(operations) for kind, operations in OPERATIONS.items()}
"""Without an authorizer every operation is allowed; answers have a bit for each."""


class NotAuthorized(BrokerError):
    """A client asks for what it may not do; it is told the code and no more."""

    def __init__(self, resource: ResourceType) -> None:
        code = REFUSALS[resource]
        super().__init__(code.sentence)
        self.code = code  # type: ignore[misc]  # one class for all of them


class Authorizer:
    """Decides for handlers. Rules change under it; each question is asked of those of now."""

    def __init__(self, decisions: Decisions) -> None:
        self.decisions = decisions

    def may(self, client: Client, operation: Operation, kind: ResourceType, name: str) -> bool:
        """Whether a client may do something to a resource."""
        return self.decisions.may(_caller(client), operation, Resource(kind, name))

    def may_on_cluster(self, client: Client, operation: Operation) -> bool:
        """Likewise to the cluster."""
        return self.decisions.may(_caller(client), operation, CLUSTER)

    def may_write_somewhere(self, client: Client) -> bool:
        """Whether there can be a topic that it may write to (KIP-679)."""
        caller = _caller(client)
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
        return _bits(self.decisions.operations(_caller(client), Resource(kind, name)))

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
                name = CLUSTER.name if need.named_by is None else getattr(request, need.named_by)
                self.check(client, need.operation, need.resource, name)
            elif isinstance(need, Each):
                refused = yield from self._refused(client, request, need)
                found = (need, refused) if refused else None
        return found

    def _refused(self, client: Client, request: Request, need: Each) -> Steps[list[object]]:
        if need.instead is not None and self.may_on_cluster(client, need.instead):
            return []
        allowed, refused = list[object](), list[object]()
        for seen, row in enumerate(getattr(request, need.rows) or (), 1):
            name = row if need.named_by is None else getattr(row, need.named_by)
            may = self.may(client, need.operation, need.resource, name)
            (allowed if may else refused).append(row)
            if not seen % ROWS_IN_A_SLICE:
                yield
        if refused:
            setattr(request, need.rows, allowed)
        return refused


def _caller(client: Client) -> Caller:
    return Caller(str(client.principal), client.peer[0])
