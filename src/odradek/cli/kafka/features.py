"""`kafka-features`: what the whole cluster has agreed upon.

As Kafka's, and unlike `odradek cluster features`, it waits for no transaction that is open.
"""

from collections.abc import Sequence
from typing import Final

import click

from odradek.cli.kafka.script import Commands, Misused, ask
from odradek.cli.words.failing import Failed
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.errors import ErrorCode
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

UPGRADE: Final = 1
DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3
EPOCH_UNKNOWN: Final = "-"
EACH_ERROR_UP_TO: Final = 1
"""Of UpdateFeatures: later versions have one error for all."""
SHORT_MAX: Final = (1 << 15) - 1

FEATURE: Final = click.option("--feature", "named", multiple=True, metavar="NAME=LEVEL")
UNSAFE: Final = click.option("--unsafe", is_flag=True)
DRY_RUN: Final = click.option("--dry-run", is_flag=True)
METADATA: Final = click.option("--metadata", help="There is none without KRaft.")


@click.group("kafka-features", cls=Commands)
def command() -> None:
    """Kafka's script for features of the cluster."""


@command.command()
def describe() -> None:
    """Describes the current active feature flags."""
    for line in ask(_describe):
        click.echo(line)


async def _describe(cluster: Cluster) -> list[str]:
    answer = await (await cluster.any()).ask(ApiVersionsRequest("odradek", "1"))
    check(answer.error_code)
    levels = {it.name: it.max_version_level for it in answer.finalized_features}
    epoch = answer.finalized_features_epoch
    return [
        f"Feature: {it.name}\tSupportedMinVersion: {it.min_version}\t"
        f"SupportedMaxVersion: {it.max_version}\t"
        f"FinalizedVersionLevel: {levels.get(it.name, 0)}\t"
        f"Epoch: {EPOCH_UNKNOWN if epoch < 0 else epoch}"
        for it in sorted(answer.supported_features, key=lambda it: it.name)
    ]


@command.command()
@METADATA
@FEATURE
@DRY_RUN
def upgrade(*, metadata: str | None, named: tuple[str, ...], dry_run: bool) -> None:
    """Upgrade one or more feature flags."""
    _change("upgrade", _levels(metadata, named), UPGRADE, dry_run=dry_run)


@command.command()
@METADATA
@FEATURE
@UNSAFE
@DRY_RUN
def downgrade(*, metadata: str | None, named: tuple[str, ...], unsafe: bool, dry_run: bool) -> None:
    """Downgrade one or more feature flags."""
    kind = UNSAFE_DOWNGRADE if unsafe else DOWNGRADE
    _change("downgrade", _levels(metadata, named), kind, dry_run=dry_run)


@command.command()
@FEATURE
@UNSAFE
@DRY_RUN
def disable(*, named: tuple[str, ...], unsafe: bool, dry_run: bool) -> None:
    """Disable one or more feature flags: the same as downgrading to level 0."""
    kind = UNSAFE_DOWNGRADE if unsafe else DOWNGRADE
    _change("disable", [(name, 0) for name in named], kind, dry_run=dry_run)


def _levels(metadata: str | None, named: Sequence[str]) -> list[tuple[str, int]]:
    if metadata is not None:
        raise Failed("there is no metadata.version without KRaft")
    found = []
    for text in named:
        name, equals, level = text.partition("=")
        if not equals:
            raise Misused(f"Can't parse feature=level string {text}: equals sign not found.")
        if not level.strip().isdecimal() or int(level) > SHORT_MAX:
            raise Misused(
                f"Can't parse feature=level string {text}: unable to parse {level.strip()} as a "
                "short."
            )
        found.append((name.strip(), int(level)))
    return found


def _change(word: str, levels: Sequence[tuple[str, int]], kind: int, *, dry_run: bool) -> None:
    if not levels:
        raise Misused(f"You must specify at least one feature to {word}")
    names = [name for name, _ in levels]
    for name in names:
        if names.count(name) > 1:
            raise Misused(f"Feature {name} was specified more than once.")

    async def alter(cluster: Cluster) -> dict[str, str]:
        updates = [FeatureUpdateKey(name, level, upgrade_type=kind) for name, level in levels]
        request = UpdateFeaturesRequest(feature_updates=updates, validate_only=dry_run)
        controller = await cluster.controller()
        answer = await controller.ask(request, at_most=EACH_ERROR_UP_TO)
        check(answer.error_code, answer.error_message)
        return {
            row.feature: row.error_message or ErrorCode(row.error_code).sentence
            for row in answer.results
            if row.error_code
        }

    refused = ask(alter)
    for name, level in sorted(levels):
        is_disabled = word == "disable"
        if name in refused:
            to = "" if is_disabled else f" to {level}"
            click.echo(f"{'Can' if dry_run else 'Could'} not {word} {name}{to}. {refused[name]}")
        else:
            done = "disabled." if is_disabled else f"{word}d to {level}."
            click.echo(f"{name} {'can be' if dry_run else 'was'} {done}")
    if refused:
        raise Failed(f"{len(refused)} out of {len(levels)} operation(s) failed.")
