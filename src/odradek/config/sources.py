"""Where static settings come from: a file, the environment, the command line. The last one counts.

The environment's names are those of Kafka's official image: `KAFKA_` and the name in capitals, `_`
for a dot, `__` for an underscore, `___` for a dash. Of `KAFKA_OPTS` the words count that say how to
log in.
"""

import shlex
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from odradek.config.broker import BrokerConfig, Layers, read
from odradek.config.checks import contradictions
from odradek.config.findings import Finding, Given, Severity, refuse
from odradek.config.properties import parse
from odradek.model.errors import InvalidSetting

ENVIRONMENT_PREFIX: Final = "KAFKA_"
OTHER_PREFIX: Final = "KAFKA_CFG_"
"""Of the images of Bitnami: `KAFKA_CFG_LOG_DIRS` is `log.dirs`, too."""
JAVA_OPTIONS: Final = "KAFKA_OPTS"
OF_JAVA: Final = frozenset(
    {
        "java.security.auth.login.config",
        "zookeeper.sasl.client",
        "zookeeper.sasl.clientconfig",
    }
)
NOT_SETTINGS: Final = frozenset(
    "KAFKA_" + name
    for name in (
        "CONF_DIR",
        "ENABLE_KRAFT",
        "GC_LOG_OPTS",
        "HEAP_OPTS",
        "HOME",
        "JMX_HOSTNAME",
        "JMX_OPTS",
        "JMX_PORT",
        "JVM_PERFORMANCE_OPTS",
        "KRAFT_CLUSTER_ID",
        "LOG4J_LOGGERS",
        "LOG4J_OPTS",
        "LOG4J_ROOT_LOGLEVEL",
        "OPTS",
        "TOOLS_LOG4J_LOGLEVEL",
        "VERSION",
    )
)
"""Variables of Kafka's image and scripts that speak to the shell and the JVM."""


def from_file(data: bytes, file: str) -> tuple[dict[str, Given], tuple[Finding, ...]]:
    """A file's settings. A name that stands there twice is a warning: the later line counts."""
    entries, faults = parse(data, file)
    given: dict[str, Given] = {}
    findings = [*faults]
    for entry in entries:
        where = f"{file}, line {entry.line}"
        if (earlier := given.get(entry.name)) is not None:
            sentence = f"{entry.name} is set twice: {where} counts, {earlier.where} does not"
            findings.append(Finding(Severity.WARNING, (entry.name,), sentence))
        given[entry.name] = Given(entry.value.strip(), where)
    return given, tuple(findings)


def from_environment(environment: Mapping[str, str]) -> dict[str, Given]:
    """The settings among a process's variables."""
    found = {
        setting_of_variable(variable): Given(value.strip(), f"environment variable {variable}")
        for variable, value in sorted(environment.items())
        if variable.startswith(ENVIRONMENT_PREFIX) and variable not in NOT_SETTINGS
    }
    where = f"environment variable {JAVA_OPTIONS}"
    return found | {name: Given(value, where) for name, value in of_java(environment).items()}


def of_java(environment: Mapping[str, str]) -> dict[str, str]:
    """What is said to Java where it counts here, too: how a process logs in."""
    try:
        words = shlex.split(environment.get(JAVA_OPTIONS, ""))
    except ValueError:  # a quotation mark is not closed: no shell would have taken it
        return {}
    options = [word.removeprefix("-D").partition("=") for word in words if word.startswith("-D")]
    return {name: value for name, _, value in options if name in OF_JAVA}


def setting_of_variable(variable: str) -> str:
    """`KAFKA_LOG_DIRS` is `log.dirs`."""
    name = variable.removeprefix(OTHER_PREFIX).removeprefix(ENVIRONMENT_PREFIX).lower()
    return name.replace("_", ".").replace("...", "-").replace("..", "_")


def from_overrides(overrides: Iterable[str]) -> dict[str, Given]:
    """What the command line says: `name=value`, of two with one name the later."""
    given = {}
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals or not name.strip():
            raise InvalidSetting(f"--override {override[:80]}: must be name=value")
        given[name.strip()] = Given(value.strip(), "--override")
    return given


def examine(
    static: Mapping[str, Given], before: Iterable[Finding] = ()
) -> tuple[BrokerConfig, tuple[Finding, ...]]:
    """The broker's settings, and all that is wrong or doubtful, with what was found `before`."""
    config, findings = read(Layers(static=MappingProxyType(dict(static))))
    return config, (*before, *findings, *contradictions(config, findings))


def load(
    static: Mapping[str, Given], before: Iterable[Finding] = ()
) -> tuple[BrokerConfig, tuple[Finding, ...]]:
    """The settings a broker starts with, and warnings; raises for all errors together."""
    config, findings = examine(static, before)
    refuse(findings)
    return config, findings
