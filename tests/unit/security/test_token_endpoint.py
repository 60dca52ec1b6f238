"""What a token endpoint answers."""

import json
from typing import Any

import pytest

from odradek.security.errors import AuthenticationFailed
from odradek.security.token_endpoint import TokenEndpoint, token_of


@pytest.mark.parametrize("said", [{"access_token": None}, {"access_token": 7}, {}, []])
def test_an_answer_without_a_token(said: Any) -> None:
    """What is no string is no token."""
    endpoint = TokenEndpoint("https://issuer.example/token", "billing")
    with pytest.raises(AuthenticationFailed, match="has no access_token"):
        token_of(endpoint, lambda _: b"", lambda *_: json.dumps(said).encode())
