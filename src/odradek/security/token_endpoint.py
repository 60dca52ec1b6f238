"""Where a client has its tokens from: a file, or an endpoint of OAuth (client credentials)."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlencode

from odradek.config.kinds import Secret
from odradek.model.errors import InvalidSetting
from odradek.model.units import SECOND, Millis
from odradek.security.addresses import Read, path_of
from odradek.security.errors import AuthenticationFailed
from odradek.security.jaas import LoginModule

SETTING: Final = "sasl.oauthbearer.token.endpoint.url"
ISSUER_MS_MAX: Final = Millis(8 * SECOND)
"""For the whole of an issuer's answer."""

Post = Callable[[str, bytes, Mapping[str, Secret]], bytes]
"""The answer to a form that is sent to an address. It blocks."""


class TokenEndpoint(NamedTuple):
    """As settings and login module name it."""

    url: str
    client: str = ""
    secret: Secret = Secret("")
    scope: str = ""


def token_endpoint(url: str | None, module: LoginModule | None, setting: str) -> TokenEndpoint:
    """What a login module says, which stands in `setting`; InvalidSetting says what is missing."""
    if url is None or not (url.startswith("https://") or path_of(url) is not None):
        raise InvalidSetting(f"{SETTING}: OAUTHBEARER needs it, with https: or file:")
    said = {} if module is None else module.options
    client, secret = said.get("clientId", ""), said.get("clientSecret", "")
    if path_of(url) is None and not (client and secret):
        raise InvalidSetting(f"{setting}: it must have a clientId and a clientSecret")
    return TokenEndpoint(url, client, Secret(secret), said.get("scope", ""))


def token_of(endpoint: TokenEndpoint, read_file: Read, post: Post) -> str:
    """A token, as it is given now. It blocks; AuthenticationFailed says why there is none."""
    try:
        path = path_of(endpoint.url)
        return _asked(endpoint, post) if path is None else read_file(path).decode().strip()
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = str(error) if isinstance(error, OSError) else "its answer has no access_token"
        raise AuthenticationFailed(f"{SETTING}={endpoint.url}: {why}") from None


def _asked(endpoint: TokenEndpoint, post: Post) -> str:
    form = {"grant_type": "client_credentials"}
    if endpoint.scope:
        form["scope"] = endpoint.scope
    pair = b64encode(f"{endpoint.client}:{endpoint.secret.value}".encode()).decode()
    head = {"Authorization": Secret(f"Basic {pair}"), "Accept": Secret("application/json")}
    found = json.loads(post(endpoint.url, urlencode(form).encode(), head))["access_token"]
    if not isinstance(found, str):
        raise TypeError
    return found
