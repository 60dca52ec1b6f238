"""Turns the table of settings into `docs/configuration.md`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from odradek.config.properties import FILE_BYTES_MAX
from odradek.config.rows import topic
from odradek.config.rows.security import ON_LISTENERS
from odradek.config.setting import BrokerSetting, Setting, TopicSetting
from odradek.config.sources import setting_of_variable
from odradek.config.table import LISTENER_SETTINGS, SUBJECTS, rows_of

PATH: Final = Path("docs/configuration.md")
TEXT_MAX: Final = 60  # a longer default makes its table hard to read

VARIABLES: Final = (
    "KAFKA_LOG_DIRS",
    "KAFKA_ADVERTISED_LISTENERS",
    "KAFKA_A__B",
    "KAFKA_A___B",
)

INTRODUCTION: Final = """\
# Configuration

<!-- Written by `./dev fix` from the table in `src/odradek/config/rows/`. Change that. -->

Settings have the names, types, defaults and bounds of Apache Kafka 3.9. A `server.properties` that
starts Kafka in ZooKeeper mode starts Odradek, too, unless it asks for another authorizer than
AclAuthorizer, Kerberos, tiered storage, or tokens of OAuth that could not be told from forged ones:
those are refused ([security](security.md)). A file for KRaft mode is refused.

`odradek check FILE` says what is wrong or doubtful with a file and with the host, all at once, with
the line of each: errors, which keep a broker from starting; warnings, also for each setting of
Kafka that is not here and matters; notes for those that have no effect and need none.

## Where settings come from

The last of these that names a setting counts:

1. the default, below
2. a properties file in Java's format, of at most {file_max} bytes. UTF-8 is read as such, anything
   else as ISO-8859-1
3. environment variables, by the rules of Kafka's official image: `KAFKA_` (or `KAFKA_CFG_`, as in
   the images of Bitnami), then the name in capitals, `_` for a dot, `__` for an underscore, `___`
   for a dash:
   {variables}
4. `--override name=value` on the command line
5. what was set at run time for all brokers, if the setting changes *cluster-wide*
6. what was set at run time for this broker, if it changes *cluster-wide* or *per-broker*

A wrong value stops the start, and the message names every wrong setting, what is allowed, and where
it was set. An unknown name is a warning with the nearest name that is known, and has no effect. At
run time a request that
holds a wrong value is refused as a whole; a wrong value that is stored already is left out, with a
warning.

{listeners} and most of what stands below *Security* can be set for one
listener alone: `listener.name.<name in lower case>.<setting>`.

## How to read the tables

*Changes*: **read-only** needs a restart; **per-broker** can be changed at run time for one broker
at a time; **cluster-wide** also as the default of all brokers. **Odradek** marks what Kafka does
not have, and a default that is not Kafka's. *No effect* marks what is accepted for the sake of
files that were written for Kafka, and says why nothing here needs it.
"""


def render() -> str:
    """The whole page."""
    parts = [
        INTRODUCTION.format(
            file_max=f"{FILE_BYTES_MAX:,}",
            variables=", ".join(f"`{name}` is `{setting_of_variable(name)}`" for name in VARIABLES),
            listeners=", ".join(
                f"`{name}`" for name, row in LISTENER_SETTINGS.items() if row not in ON_LISTENERS
            ),
        )
    ]
    for title, module in SUBJECTS:
        lines = map(_broker_line, rows_of(module, BrokerSetting))
        parts.append(f"## {title}\n\n{_table(lines, 'Changes')}")
    lines = map(_topic_line, rows_of(topic, TopicSetting))
    parts.append(
        "## Topics\n\nIf a topic does not set it, the first of these broker settings counts that "
        f"is set, and otherwise its default.\n\n{_table(lines, 'If not set')}"
    )
    return "\n".join(parts)


def _table(lines: Iterable[str], last: str) -> str:
    head = f"| Setting | Type | Default | Allowed | {last} |\n|---|---|---|---|---|\n"
    return head + "".join(f"{line}\n" for line in lines)


def _broker_line(row: BrokerSetting[Any]) -> str:
    return _line(row, row.mode.value)


def _topic_line(row: TopicSetting[Any]) -> str:
    return _line(row, ", ".join(f"`{setting.name}`" for setting in row.inherits))


def _line(row: Setting[Any], last: str) -> str:
    cells = (
        f"`{row.name}`<br>{' '.join(_sentences(row))}",
        row.kind.type.name.lower(),
        _default(row),
        _escaped(row.kind.allowed),
        last,
    )
    return f"| {' | '.join(cells)} |"


def _sentences(row: Setting[Any]) -> Iterator[str]:
    if row.ours:
        yield "**Odradek.**"
    yield _escaped(row.doc)
    if row.inert:
        yield f"*No effect: {row.inert}.*"


def _default(row: Setting[Any]) -> str:
    text = row.default_text
    if text is None:
        shown = "not set"
    elif not text:
        shown = "empty"
    else:
        shown = f"`{_escaped(text.replace(',', ', ') if len(text) > TEXT_MAX else text)}`"
    return f"{shown} (**Odradek**; Kafka: {row.kafka_default})" if row.kafka_default else shown


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
