"""Values that stand elsewhere: `config.providers` (KIP-297).

`${file:/run/secrets/broker:keystore}` is a key of a properties file, `${dir:/run/secrets:keystore}`
a file of a directory, `${env:KEYSTORE}` a variable of the process. The names before the colon are
those of `config.providers`; of Kafka's three classes each is a function here. What is found is not
looked through again.

As in Kafka, `allowed.paths` bounds which files may be read (by their names; links are followed),
and `allowlist.pattern` which variables. Kafka leaves a reference that leads nowhere as it is, and
goes on with `${...}` as a password; here it is an error. What was found is never shown: a setting
is printed as it was written (`Given.written`).
"""

import re
from collections.abc import Callable, Mapping
from posixpath import isabs, normpath
from typing import Final, NamedTuple

from odradek.config.findings import Finding, Given, Severity
from odradek.config.properties import parse
from odradek.model.errors import InvalidSetting

PROVIDERS: Final = "config.providers"
KAFKA_CLASSES: Final = "org.apache.kafka.common.config.provider."
ALLOWED_PATHS: Final = "allowed.paths"
ALLOWED_NAMES: Final = "allowlist.pattern"
_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


class Outside(NamedTuple):
    """What providers read: the world of the process that has the settings."""

    read: Callable[[str], bytes]
    """A file; raises OSError."""
    variables: Mapping[str, str]


Provider = Callable[[str, str], str]
"""The value for a path and a key; raises InvalidSetting."""


def _from_file(parameters: Mapping[str, str], outside: Outside) -> Provider:
    def value(path: str, key: str) -> str:
        file = _allowed(path, parameters)
        entries, _ = parse(_read(file, outside), file)
        found = [it.value for it in entries if it.name == key]
        if not found:
            raise InvalidSetting(f"{file} has no key {key!r}")
        return found[-1]

    return value


def _from_directory(parameters: Mapping[str, str], outside: Outside) -> Provider:
    def value(path: str, key: str) -> str:
        directory = _allowed(path, parameters)
        if "/" in key or key in {"", ".", ".."}:
            raise InvalidSetting(f"{key!r} is not the name of a file in {directory}")
        file = f"{directory}/{key}"
        try:
            return _read(file, outside).decode()
        except UnicodeDecodeError:
            raise InvalidSetting(f"{file} is not in UTF-8") from None

    return value


def _from_variables(parameters: Mapping[str, str], outside: Outside) -> Provider:
    pattern = re.compile(parameters.get(ALLOWED_NAMES, ""))

    def value(path: str, key: str) -> str:
        if path:
            raise InvalidSetting(f"a variable has no path, and {path!r} is given")
        if pattern.search(key) is None:
            raise InvalidSetting(f"variable {key} does not match {ALLOWED_NAMES}")
        if key not in outside.variables:
            raise InvalidSetting(f"variable {key} is not set")
        return outside.variables[key]

    return value


_KINDS: Final[Mapping[str, Callable[[Mapping[str, str], Outside], Provider]]] = {
    "FileConfigProvider": _from_file,
    "DirectoryConfigProvider": _from_directory,
    "EnvVarConfigProvider": _from_variables,
}


def _read(path: str, outside: Outside) -> bytes:
    try:
        return outside.read(path)
    except OSError as error:
        raise InvalidSetting(f"{path}: {error.strerror}") from None


def _allowed(path: str, parameters: Mapping[str, str]) -> str:
    if not path:
        raise InvalidSetting("a path is missing before the key")
    allowed = parameters.get(ALLOWED_PATHS, "")
    if not allowed:
        return path
    normal = normpath(path)
    for one in map(normpath, allowed.split(",")):
        if normal == one or normal.startswith(f"{one.rstrip('/')}/"):
            return normal
    raise InvalidSetting(f"{path} is not below {ALLOWED_PATHS}")


def is_of_providers(name: str) -> bool:
    """Whether a setting is about them."""
    return name == PROVIDERS or name.startswith(f"{PROVIDERS}.")


def provider_names(given: Mapping[str, Given]) -> tuple[str, ...]:
    """The providers that the settings name."""
    said = given[PROVIDERS].text if PROVIDERS in given else ""
    return tuple(name for it in said.split(",") if (name := it.strip()))


def references(text: str, providers: tuple[str, ...]) -> bool:
    """Whether a value stands elsewhere."""
    return any(match[1] in providers for match in _REFERENCE.finditer(text))


def resolve(
    given: Mapping[str, Given], outside: Outside
) -> tuple[dict[str, Given], tuple[Finding, ...]]:
    """The settings with the values that stand elsewhere, and which could not be found."""
    providers: dict[str, Provider] = {}
    findings: list[Finding] = []
    for name in provider_names(given):
        try:
            providers[name] = _provider(name, given, outside)
        except InvalidSetting as error:
            findings.append(Finding(Severity.ERROR, (PROVIDERS,), str(error)))
    resolved = dict(given)
    for name, one in given.items():
        if not is_of_providers(name):
            text, faults = _replaced(one.text, providers, provider_names(given))
            findings += (_fault(name, one, severity, clause) for severity, clause in faults)
            if text != one.text:
                resolved[name] = Given(text.strip(), one.where, one.text)
    return resolved, tuple(findings)


def _fault(name: str, given: Given, severity: Severity, clause: str) -> Finding:
    return Finding(severity, (name,), f"{name} ({given.where}): {clause}")


def _provider(name: str, given: Mapping[str, Given], outside: Outside) -> Provider:
    setting = f"{PROVIDERS}.{name}.class"
    if setting not in given:
        raise InvalidSetting(f"{PROVIDERS} names {name}, and {setting} is not set")
    said = given[setting].text
    kind = _KINDS.get(said.removeprefix(KAFKA_CLASSES))
    if kind is None or not said.startswith(KAFKA_CLASSES):
        known = ", ".join(_KINDS)
        raise InvalidSetting(
            f"{setting}={said}: it names a class of Java, and none is run here; known are {known} "
            f"of {KAFKA_CLASSES.rstrip('.')}"
        )
    prefix = f"{PROVIDERS}.{name}.param."
    parameters = {
        it.removeprefix(prefix): one.text for it, one in given.items() if it.startswith(prefix)
    }
    for path in filter(None, parameters.get(ALLOWED_PATHS, "").split(",")):
        if not isabs(path):
            raise InvalidSetting(f"{prefix}{ALLOWED_PATHS}: {path} is not an absolute path")
    try:
        return kind(parameters, outside)
    except re.error as error:
        raise InvalidSetting(f"{prefix}{ALLOWED_NAMES}: no pattern: {error}") from None


def _replaced(
    text: str, providers: Mapping[str, Provider], names: tuple[str, ...]
) -> tuple[str, list[tuple[Severity, str]]]:
    faults: list[tuple[Severity, str]] = []

    def found(match: re.Match[str]) -> str:
        name, path, key = match[1], match[2] or "", match[3]
        if name not in providers:
            if name not in names and name in {"file", "dir", "directory", "env"}:
                why = f"{PROVIDERS} names no provider {name}: the value is taken as it is written"
                faults.append((Severity.WARNING, why))
            return match[0]
        try:
            return providers[name](path, key)
        except InvalidSetting as error:
            faults.append((Severity.ERROR, f"provider {name}: {error}"))
        return match[0]

    return _REFERENCE.sub(found, text), faults
