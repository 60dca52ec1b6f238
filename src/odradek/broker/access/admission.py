"""What of a request is served: the answers to what is refused of it stand beside those to the rest.

Each API says what it needs, and how it answers what it does not serve; so no handler that is about
rows of a request knows of access rules.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from odradek.broker.access.authorizer import Authorizer, NotAuthorized
from odradek.broker.access.need import REFUSALS, Need
from odradek.broker.access.refusals import refused_in_slices
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.slices import Steps, dropped_rows
from odradek.model.errors import ErrorCode
from odradek.wire.schema import Request, Response


class Refusing(Protocol):
    """An API, as far as it says what it needs and how it refuses."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What must be allowed."""
        ...

    def refuse(
        self, request: Request, version: int, code: ErrorCode, message: str, /
    ) -> Response | None:
        """The response that says nothing but the code; None where the client reads none."""
        ...


def admit(
    authorizer: Authorizer, pending: PendingRequest, request: Request, api: Refusing
) -> Steps[bool]:
    """Whether something of it is to be served; raises NotAuthorized if it is refused as a whole."""
    found = yield from authorizer.take_out(pending.connection, request, api.needs)
    if found is None:
        return True
    need, refused = found
    served = getattr(request, need.rows)
    code = REFUSALS[need.resource]
    setattr(request, need.rows, refused)
    answer = yield from _refusal(api, pending, request, code)
    if answer is None:
        raise NotAuthorized(need.resource)
    setattr(request, need.rows, served)
    if not served:
        pending.answer(answer)
    else:
        refusals = getattr(answer, need.answers)
        pending.beside = partial(_add, need.answers, refusals, pending.beside)
    if pending.slices is not None:
        yield from dropped_rows(refused)
    return bool(served)


def _refusal(
    api: Refusing, pending: PendingRequest, request: Request, code: ErrorCode
) -> Steps[Response | None]:
    """With all the rows that the request has now."""

    def refuse(part: Request) -> Response | None:
        return api.refuse(part, pending.version, code, code.sentence)

    if pending.slices is None:
        return refuse(request)
    return (yield from refused_in_slices(refuse, request))


def _add(
    name: str,
    refused: Sequence[object],
    then: Callable[[Response], None] | None,
    response: Response,
) -> None:
    setattr(response, name, [*getattr(response, name), *refused])
    if then is not None:
        then(response)
