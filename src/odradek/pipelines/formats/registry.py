"""A schema registry as Confluent's and Karapace serve it: schemas by number and by subject.

It may want a login (a name and a password, or a token) and a TLS of its own (who signed it, and a
certificate of the client). Secrets may stand in the environment or in a file of the driver; they
are looked up there when a format goes to the workers, and no text that is shown has them.
"""

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, urlsplit

from odradek.pipelines.errors import Away, InvalidOption, PipelineError
from odradek.pipelines.given import nearest
from odradek.pipelines.secrets import revealed

TIMEOUT_SECONDS: Final = 10
MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What code meets where something is missing, or of another kind than it should be."""
SERVER_ERROR: Final = 500
NOT_IMPLEMENTED: Final = 501
REFUSALS: Final = (401, 403)
OPTIONS: Final = (
    "username",
    "password",
    "token",
    "ca-file",
    "certificate-file",
    "key-file",
    "key-password",
)
NEEDS: Final[Mapping[str, str]] = {
    "username": "password",
    "password": "username",
    "key-file": "certificate-file",
    "key-password": "key-file",
}


class RegistryFailed(PipelineError):
    """The registry does not answer, or does not know the schema."""


class RegistryAway(RegistryFailed, Away):
    """It does not answer, or that it cannot now."""


class UnknownSchema(RegistryFailed):
    """The registry answers, and has no such schema."""


class WrongSchema(InvalidOption):
    """What the registry has is malformed, of another kind, or nothing that a table takes."""


@contextmanager
def understood(what: str) -> Iterator[None]:
    """WrongSchema, which names the schema, for whatever code meets in one that is none."""
    try:
        yield
    except (RegistryFailed, WrongSchema):
        raise
    except InvalidOption as error:
        raise WrongSchema(f"{what}: {error}") from error
    except RecursionError as error:
        raise WrongSchema(f"{what} is nested too deep") from error
    except MALFORMED as error:
        raise WrongSchema(f"{what} is malformed: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """Where it is, and how one gets in."""

    url: str
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __reduce__(self) -> tuple[type["SchemaRegistry"], tuple[Any, ...]]:
        """What stands in the environment or in a file here may not stand there where this goes."""
        return SchemaRegistry, (self.url, tuple(revealed(dict(self.options)).items()))

    def get(self, path: str) -> Any:
        """What it answers."""
        where = self.url.rstrip("/") + path
        options = revealed(dict(self.options))
        request = urllib.request.Request(where)  # noqa: S310 - looked at by `registry_of`
        if login := _login(options):  # and not to where a redirection leads
            request.add_unredirected_header("Authorization", login)
        tls = urllib.request.HTTPSHandler(context=_context(options))
        try:
            with urllib.request.build_opener(tls).open(request, timeout=TIMEOUT_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            error.close()
            raise _refused(error, where) from error
        except (OSError, ValueError) as error:
            kind = RegistryFailed if _is_of_tls(error) else RegistryAway
            raise kind(f"the schema registry at {self.url} does not answer: {error}") from error


def registry_of(url: str, options: Mapping[str, str]) -> SchemaRegistry:
    """InvalidOption for what is no URL, or is no option; what is secret is not shown."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise InvalidOption("the URL holds a login: give username and password as options")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidOption(f"{url!r} is no URL of a schema registry")
    for name in options:
        if name not in OPTIONS:
            raise InvalidOption(f"there is no option {name!r}{nearest(name, OPTIONS)}")
        if name in NEEDS and NEEDS[name] not in options:
            raise InvalidOption(f"option {name!r} needs {NEEDS[name]!r}")
    if "token" in options and "username" in options:
        raise InvalidOption("token and username are two ways to log in: give one")
    return SchemaRegistry(url, tuple(options.items()))


@lru_cache(maxsize=1_000)
def answer_by_id(registry: SchemaRegistry, number: int, form: str = "") -> Any:
    """All that the registry says of a number, which never changes."""
    return registry.get(f"/schemas/ids/{number}{form and f'?format={form}'}")


@lru_cache(maxsize=1_000)
def schema_by_id(registry: SchemaRegistry, number: int) -> Any:
    """The schema that values with this number were written with."""
    return schema_of(answer_by_id(registry, number), f"schema {number}")


def newest_schema(registry: SchemaRegistry, subject: str) -> Any:
    """What is written with now under this name; None: the registry has none."""
    found = newest(registry, subject)
    return None if found is None else schema_of(found, f"the newest schema of {subject}")


def newest(registry: SchemaRegistry, subject: str) -> Mapping[str, Any] | None:
    """All that the registry says of the newest schema of this name."""
    try:
        answer = registry.get(f"/subjects/{quote(subject, safe='')}/versions/latest")
    except UnknownSchema:
        return None
    with understood(f"the newest schema of {subject}"):
        return dict(answer)


def value_subject(topic: str) -> str:
    """The name of the schemas of a topic's values."""
    return f"{topic}-value"


def key_subject(topic: str) -> str:
    """The name of the schemas of a topic's keys."""
    return f"{topic}-key"


def schema_of(answer: Mapping[str, Any], what: str) -> Any:
    """The schema in an answer."""
    with understood(what):
        try:
            return json.loads(answer["schema"])
        except ValueError as error:
            kind = answer.get("schemaType", "AVRO")
            raise WrongSchema(f"{what} is of type {kind}, and no JSON") from error


def _login(options: Mapping[str, str]) -> str:
    if "token" in options:
        return f"Bearer {options['token']}"
    if "username" in options:
        pair = f"{options['username']}:{options['password']}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"
    return ""


def _context(options: Mapping[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=options.get("ca-file"))
        if (certificate := options.get("certificate-file")) is not None:
            context.load_cert_chain(
                certificate, options.get("key-file"), options.get("key-password")
            )
    except OSError as error:
        named = ", ".join(it for it in OPTIONS if it.endswith("-file") and it in options)
        raise InvalidOption(f"what {named} of the registry name cannot be used: {error}") from error
    return context


def _refused(error: urllib.error.HTTPError, where: str) -> RegistryFailed:
    if error.code == 404:
        return UnknownSchema(f"the schema registry knows nothing at {where}")
    if error.code in REFUSALS:
        return RegistryFailed(
            f"the schema registry answers {error.code} at {where}: [values.registry-options] of a "
            "pipeline's file has the login, username and password or token"
        )
    is_away = error.code >= SERVER_ERROR and error.code != NOT_IMPLEMENTED
    kind = RegistryAway if is_away else RegistryFailed
    return kind(f"the schema registry answers {error.code} at {where}")


def _is_of_tls(error: Exception) -> bool:
    """Whether one side does not take the other's certificate, which waiting does not mend."""
    return isinstance(getattr(error, "reason", error), ssl.SSLError)
