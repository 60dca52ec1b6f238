"""`kafka-configs`: settings of topics and brokers, and passwords of users."""

from typing import Any

import click

from odradek.cli.failing import Failed
from odradek.cli.kafka import user_configs
from odradek.cli.kafka.script import Misused, Script, ask, pairs_of, the_one
from odradek.client import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.config.describe import Source
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)

KINDS = {"topics": admin.TOPIC, "brokers": admin.BROKER}
USERS = "users"
SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
}


@click.command("kafka-configs", cls=Script)
@click.option("--describe", is_flag=True)
@click.option("--alter", is_flag=True)
@click.option("--entity-type", type=click.Choice([*KINDS, USERS]))
@click.option("--entity-name")
@click.option("--entity-default", is_flag=True)
@click.option("--topic", help="Short for --entity-type topics --entity-name.")
@click.option("--broker", help="Short for --entity-type brokers --entity-name.")
@click.option("--broker-defaults", is_flag=True)
@click.option("--user", help="Short for --entity-type users --entity-name.")
@click.option(
    "--zookeeper",
    metavar="HOST:PORT,.../PATH",
    help="Write a user's password to ZooKeeper: for the first user, before brokers start.",
)
@click.option("--add-config", default="", metavar="NAME=VALUE,NAME=[VALUE,VALUE]")
@click.option("--delete-config", default="", metavar="NAME,...")
@click.option("--all", "everything", is_flag=True, help="Those with their default, too.")
def command(*, describe: bool, alter: bool, **said: Any) -> None:
    """Kafka's script for settings."""
    action = the_one({"describe": describe, "alter": alter})
    kind, name = _entity(said)
    changes, gone = pairs_of(said["add_config"]), _names(said["delete_config"])
    if action == "alter" and not changes and not gone:
        raise Misused("At least one of --add-config or --delete-config must be specified")
    if action == "alter" and name is None:
        raise Misused("an entity name must be specified with --alter")
    if kind == USERS:
        _of_users(action, name, (changes, gone), said["zookeeper"])
        return
    if said["zookeeper"] is not None:
        raise Misused("--zookeeper is for users alone; others are asked of a broker")

    async def run(cluster: Cluster) -> None:
        if action == "alter":
            await _alter(cluster, (kind, name or ""), changes, gone)
        else:
            await _describe(cluster, kind, name, everything=said["everything"])

    ask(run)


def _of_users(
    action: str, name: str | None, wanted: tuple[dict[str, str], list[str]], zookeeper: str | None
) -> None:
    if action == "describe":
        ask(lambda cluster: user_configs.describe(cluster, name or None))
    elif not name:
        raise Misused("there are no defaults for users here; name one with --entity-name")
    elif zookeeper is not None:
        user_configs.alter_in_zookeeper(zookeeper, name, *wanted)
    else:
        ask(lambda cluster: user_configs.alter(cluster, name, *wanted))


def _entity(said: dict[str, Any]) -> tuple[str, str | None]:
    """The kind and the name: empty for all brokers, None for each."""
    if said["topic"] is not None:
        return "topics", said["topic"]
    if said["broker"] is not None:
        return "brokers", said["broker"]
    if said["user"] is not None:
        return USERS, said["user"]
    if said["broker_defaults"]:
        return "brokers", ""
    if said["entity_type"] is None:
        raise Misused("At least one of --entity-type, --topic, --broker, --user must be specified")
    return said["entity_type"], "" if said["entity_default"] else said["entity_name"]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


async def _alter(
    cluster: Cluster, entity: tuple[str, str], changes: dict[str, str], gone: list[str]
) -> None:
    kind, name = entity
    if gone:
        known = {row.name for row in await _rows(cluster, kind, name, dynamic=True)}
        missing = [it for it in gone if it not in known]
        if missing:
            raise Failed(f"Invalid config(s): {','.join(missing)}")
    await admin.alter_settings(cluster, KINDS[kind], name, to=changes, delete=gone)
    of = f"{kind[:-1]} {name}" if name else f"{kind} in the cluster"
    click.echo(f"Completed updating {'' if name else 'default '}config for {of}.")


async def _describe(cluster: Cluster, kind: str, name: str | None, *, everything: bool) -> None:
    names: list[str | None] = [name]
    if name is None:
        answer = await cluster.refresh(None)
        topics: list[str | None] = [*sorted(it.name for it in answer.topics if it.name)]
        names = topics if kind == "topics" else [*map(str, sorted(cluster.brokers)), ""]
    for each in names:
        assert each is not None
        if not each:
            click.echo(f"Default configs for {kind} in the cluster are:")
        else:
            which = "All" if everything else "Dynamic"
            click.echo(f"{which} configs for {kind[:-1]} {each} are:")
        for row in await _rows(cluster, kind, each, dynamic=not everything):
            click.echo(_line(row))


async def _rows(
    cluster: Cluster, kind: str, name: str, *, dynamic: bool
) -> list[DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(KINDS[kind], name, None)
    request = DescribeConfigsRequest([resource], include_synonyms=True)
    connection = await admin.who_knows(cluster, KINDS[kind], name)
    (result,) = (await connection.ask(request)).results
    check(result.error_code, result.error_message)
    own = _own(kind, name)
    rows = [row for row in result.configs if not dynamic or row.config_source == own]
    return sorted(rows, key=lambda row: row.name)


def _own(kind: str, name: str) -> Source:
    if kind == "topics":
        return Source.TOPIC
    return Source.DYNAMIC_BROKER if name else Source.DYNAMIC_DEFAULT_BROKER


def _line(row: DescribeConfigsResourceResult) -> str:
    value = "null" if row.value is None else row.value
    synonyms = ", ".join(
        f"{SOURCES.get(it.source, 'UNKNOWN')}:{it.name}={'null' if it.value is None else it.value}"
        for it in row.synonyms
    )
    sensitive = "true" if row.is_sensitive else "false"
    return f"  {row.name}={value} sensitive={sensitive} synonyms={{{synonyms}}}"
