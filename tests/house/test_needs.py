"""What requests need is said beside their handlers, and the page of it is made from that."""

import pytest

from codegen import access
from odradek.broker.access.need import Each, Whole
from odradek.broker.apis import OFFERED
from odradek.broker.handlers.api import Api
from odradek.wire.apis import APIS
from odradek.wire.schema import Array, Field, Struct
from tests.house import tree

UNPROTECTED = {"ApiVersions", "SaslAuthenticate", "SaslHandshake"}
APIS_OFFERED = pytest.mark.parametrize("api", OFFERED.values(), ids=lambda it: APIS[it.key].name)


def _field(struct: type[Struct], name: str) -> Field:
    return next(field for field in struct.FIELDS if field.name == name)


def test_the_page_is_what_the_handlers_say() -> None:
    """Who changes a handler's needs runs `./dev fix`."""
    assert tree.text(tree.ROOT / access.PATH) == access.render(), "./dev fix writes it anew"


def test_nothing_else_is_served_to_everybody() -> None:
    """These come before a name is known."""
    assert {APIS[key].name for key, api in OFFERED.items() if not api.needs} == UNPROTECTED


@APIS_OFFERED
def test_the_fields_that_name_resources_exist(api: Api) -> None:
    """A misspelt one would be found by the first client that asks."""
    request, response = APIS[api.key].request, APIS[api.key].response
    for need in api.needs:
        if isinstance(need, Whole) and need.named_by is not None:
            assert _field(request, need.named_by)
        elif isinstance(need, Each):
            rows = _field(request, need.rows).type
            assert isinstance(rows, Array)
            if need.named_by is not None:
                assert _field(rows.of, need.named_by)  # type: ignore[arg-type]  # a struct
            assert isinstance(_field(response, need.answers).type, Array)
