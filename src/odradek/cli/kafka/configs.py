"""`kafka-configs`: settings of topics and brokers, passwords of users, and quotas."""

from itertools import zip_longest
from typing import Any

import click

from odradek.cli.kafka import broker_configs, quota_configs, user_configs
from odradek.cli.kafka.quota_configs import Entities
from odradek.cli.kafka.script import Misused, Script, ask, pairs_of, the_one
from odradek.cli.reaching.tree import access_by, tls_option
from odradek.cli.words.failing import Failed
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.config.describe import Source
from odradek.security.mechanisms.scram import SCRAMS
from odradek.security.zookeeper_access import ZooKeeperAccess
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)

KINDS = {"topics": admin.TOPIC, "brokers": admin.BROKER}
USERS = "users"
DEFAULTS = {
    "--entity-default": "--entity-name=",
    "--broker-defaults": "--broker=",
    "--user-defaults": "--user=",
    "--client-defaults": "--client=",
    "--ip-defaults": "--ip=",
}
"""Flags that name what has nothing of its own, and how else that is said."""
SHORT = {"topic": "topics", "broker": "brokers", "user": USERS, "client": "clients", "ip": "ips"}
SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
}


class ConfigsScript(Script):
    """The script, in which the order of entities counts: a kind goes with the next name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A default is an empty name."""
        return super().parse_args(ctx, [DEFAULTS.get(word, word) for word in args])


@click.command("kafka-configs", cls=ConfigsScript)
@click.option("--describe", is_flag=True)
@click.option("--alter", is_flag=True)
@click.option("--entity-type", multiple=True, type=click.Choice([*SHORT.values()]))
@click.option("--entity-name", multiple=True)
@click.option("--entity-default", is_flag=True)
@click.option("--topic", help="Short for --entity-type topics --entity-name.")
@click.option("--broker", help="Short for --entity-type brokers --entity-name.")
@click.option("--broker-defaults", is_flag=True)
@click.option("--user", help="Short for --entity-type users --entity-name.")
@click.option("--user-defaults", is_flag=True)
@click.option("--client", help="Short for --entity-type clients --entity-name.")
@click.option("--client-defaults", is_flag=True)
@click.option("--ip", help="Short for --entity-type ips --entity-name.")
@click.option("--ip-defaults", is_flag=True)
@click.option(
    "--zookeeper",
    metavar="HOST:PORT,.../PATH",
    help="Write to ZooKeeper, before brokers start: a user's password, or settings of a broker.",
)
@tls_option
@click.option("--add-config", default="", metavar="NAME=VALUE,NAME=[VALUE,VALUE]")
@click.option("--delete-config", default="", metavar="NAME,...")
@click.option("--all", "everything", is_flag=True, help="Those with their default, too.")
def command(*, describe: bool, alter: bool, **said: Any) -> None:
    """Kafka's script for settings."""
    action = the_one({"describe": describe, "alter": alter})
    entities = _entities(said)
    kind, name = next(iter(entities.items()))
    changes, gone = pairs_of(said["add_config"]), _names(said["delete_config"])
    if action == "alter" and not changes and not gone:
        raise Misused("At least one of --add-config or --delete-config must be specified")
    if action == "alter" and None in entities.values():
        raise Misused("an entity name must be specified with --alter")
    connect = said["zookeeper"]
    where = None if connect is None else (connect, access_by(said["tls_file"]))
    if kind not in KINDS:
        _of_clients(action, entities, (changes, gone), where)
        return
    if where is not None:
        if kind != "brokers" or action != "alter":
            raise Misused("--zookeeper is to alter users and brokers; others are asked of a broker")
        broker_configs.alter_in_zookeeper(where, name or "", changes, gone)
        click.echo(_done(kind, name or ""))
        return

    async def run(cluster: Cluster) -> None:
        if action == "alter":
            await _alter(cluster, (kind, name or ""), changes, gone)
        else:
            await _describe(cluster, kind, name, everything=said["everything"])

    ask(run)


def _of_clients(
    action: str,
    entities: Entities,
    wanted: tuple[dict[str, str], list[str]],
    zookeeper: tuple[str, ZooKeeperAccess] | None,
) -> None:
    """Of users, clients and addresses; a password is one user's, and stands alone."""
    kind, name = next(iter(entities.items()))
    is_of_users = [*entities] == [USERS]
    changes, gone = wanted
    if action == "describe":
        ask(lambda cluster: _describe_clients(cluster, entities, with_passwords=is_of_users))
        return
    passwords = [it for it in (*changes, *gone) if it in SCRAMS]
    if is_of_users and (passwords or zookeeper is not None):
        if passwords and len(passwords) < len(changes) + len(gone):
            raise Failed("Cannot alter both quota and SCRAM credential configs simultaneously")
        if not name:
            raise Misused("--entity-default is not allowed with User SCRAM Credentials")
        if zookeeper is not None:
            user_configs.alter_in_zookeeper(zookeeper, name, *wanted)
        else:
            ask(lambda cluster: user_configs.alter(cluster, name, *wanted))
    else:
        if zookeeper is not None:
            raise Misused("--zookeeper is for passwords alone; quotas are set at a broker")
        quota_configs.check(entities, [*changes, *gone])
        ask(lambda cluster: quota_configs.alter(cluster, entities, *wanted))
    click.echo(_done(kind, name or ""))


async def _describe_clients(cluster: Cluster, entities: Entities, *, with_passwords: bool) -> None:
    await quota_configs.describe(cluster, entities)
    if with_passwords and entities[USERS] != "":
        await user_configs.describe(cluster, entities[USERS])


def _entities(said: dict[str, Any]) -> Entities:
    """Kinds and names: empty for what has nothing of its own, None for each."""
    kinds, names = list(said["entity_type"]), list(said["entity_name"])
    for option, kind in SHORT.items():
        if said[option] is not None:
            kinds.append(kind)
            names.insert(len(kinds) - 1, said[option])
    if not kinds:
        raise Misused("At least one of --entity-type, --topic, --broker, --user must be specified")
    if len(names) > len(kinds):
        raise Misused("More entity names specified than entity types")
    if len(kinds) > 1 and {*kinds} != {USERS, "clients"}:
        raise Misused("Only users and clients can be named together")
    return dict(zip_longest(kinds, names))


def _done(kind: str, name: str) -> str:
    of = f"{kind[:-1]} {name}" if name else f"{kind} in the cluster"
    return f"Completed updating {'' if name else 'default '}config for {of}."


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
    click.echo(_done(kind, name))


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
