"""`odradek controller`: where the controller is, where it shall be, and where it was."""

import asyncio
from typing import Any, Final

import click

from odradek.cli.reaching.acting_controller import Seen, seen_in, tell_doubt
from odradek.cli.reaching.naming import brokers_named
from odradek.cli.reaching.talking import talk
from odradek.cli.showing.cells import cell
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import print_json, show, show_outcomes, show_table
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import DestroyingVerb, Noun
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import options
from odradek.client.admin import admin
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.config.rows.controller import PREFERRED_CONTROLLER
from odradek.model.admin_operations import (
    CONTROLLER_DESCRIBE,
    CONTROLLER_MOVE,
    CONTROLLER_PLACEMENT,
    CONTROLLER_UNPREFER,
)
from odradek.model.moments import moment_text

LOOK_SECONDS: Final = 0.1
TITLES: Final = {
    "to_delete": "topics to delete",
    "preferred": "preferred brokers",
    "fallback": "others stand in for preferred brokers",
    "wish": "move that is asked for",
    "ready": "broker that has loaded the metadata for it",
}
LOST_LOOKS: Final = 20
"""How often a wish may be found nowhere: its end and its entry in the history are two reads."""
_broker = click.argument("broker", type=Whole(min=0))


@click.group(cls=Noun)
def command() -> None:
    """The controller: describe, move, prefer brokers for it, history."""


async def _placement(cluster: Cluster) -> dict[str, Any]:
    return await operate(cluster, Wanted(CONTROLLER_PLACEMENT))


@command.command()
def describe() -> None:
    """Show which broker is the controller, what it has to do, and where it shall be."""

    async def ask(cluster: Cluster) -> dict[str, Any]:
        placement = await _placement(cluster)
        own: dict[str, Any] = {}
        if placement["controller"] is not None:
            own = await operate(cluster, Wanted(CONTROLLER_DESCRIBE))
            own.pop("registrations", None)  # of use to `cluster roll` alone
        names = ("preferred", "fallback", "wish", "ready")
        return {"controller": None, **own, **{name: placement[name] for name in names}}

    found = talk(ask)
    show(found, *(f"{_title(name)}: {_shown(it)}" for name, it in found.items()))


def _title(name: str) -> str:
    return TITLES.get(name, name.replace("_", " "))


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return f"to broker {value['broker']}, {value['why']}"
    return cell(value) or "-"


@command.command()
@_broker
def move(*, broker: int) -> None:
    """Move the controller to BROKER, and wait until it acts there.

    No partition changes its leader. The broker loads the metadata first; a broker that is dead, or
    is not one of Odradek's, is refused, and so is one that is not preferred while a preferred one
    lives. Another move that is made meanwhile replaces this one.
    """

    async def ask(cluster: Cluster) -> str:
        await brokers_named(cluster, [broker])
        asked = Wanted(CONTROLLER_MOVE, {"broker": broker})
        wish = (await operate(cluster, asked))["wish"]
        return await _outcome(cluster, wish, broker)

    refusal = talk(ask)
    if refusal:
        raise Failed(f"the controller was not moved: {refusal}")
    show_outcomes([(f"broker {broker} is the controller", {"controller": broker})])


async def _outcome(cluster: Cluster, wish: str, broker: int) -> str:
    """Why it came to nothing; empty if it was fulfilled. Steps are told on a terminal."""
    said, lost = "", 0
    while True:
        found = await _placement(cluster)
        for it in found["wishes"]:
            if it["id"] == wish:
                return str(it["refusal"])
        stands = found["wish"] is not None and found["wish"]["id"] == wish
        if found["wish"] is not None and not stands:
            return f"a later wish asks for broker {found['wish']['broker']}"
        lost = 0 if stands else lost + 1
        if lost > LOST_LOOKS:
            return "the wish was taken away, and nothing tells why"
        now = _step(found, broker) if stands else said
        if now != said and not options().as_json:
            click.echo(now, err=True)
        said = now
        await asyncio.sleep(LOOK_SECONDS)


def _step(found: dict[str, Any], broker: int) -> str:
    if found["wish"]["handed_over"]:
        return f"broker {found['controller']} has handed over"
    if found["ready"] == broker:
        return f"broker {broker} is ready"
    return f"broker {broker} loads the metadata"


@command.command()
@_broker
def prefer(*, broker: int) -> None:
    """Prefer BROKER as the controller, from now on.

    It becomes the controller once it has been up for preferred.controller.settle.ms, at once if
    there is none: where allow.preferred.controller.fallback is false and no preferred broker
    lives, this gives the cluster a controller again.
    """
    _set_preference(broker, preferred=True)


@command.command(cls=DestroyingVerb)
@_broker
def unprefer(*, broker: int) -> None:
    """Prefer BROKER no longer; if it is the controller, it stays so until another is ready.

    A broker that is gone is not preferred either when it comes back, unless its own settings file
    says so.
    """
    found = talk(_placement)
    others = [it for it in found["preferred"] if it != broker]
    if not others and not found["fallback"]:
        confirm(
            f"broker {broker} is the last preferred one, and no other may be the controller "
            "(allow.preferred.controller.fallback is false): without it there is none"
        )
    _set_preference(broker, preferred=False)


def _set_preference(broker: int, *, preferred: bool) -> None:
    async def ask(cluster: Cluster) -> bool:
        if not preferred and await _was_preferred_and_is_gone(cluster, broker):
            return True
        await brokers_named(cluster, [broker])
        before = broker in (await _placement(cluster))["preferred"]
        to = {PREFERRED_CONTROLLER.name: "true" if preferred else "false"}
        await admin.alter_settings(cluster, admin.BROKER, str(broker), to=to, delete=())
        return before

    if talk(ask) == preferred:
        said = f"broker {broker} {'is preferred already' if preferred else 'was not preferred'}"
    else:
        said = f"broker {broker} is {'preferred' if preferred else 'preferred no longer'}"
    show_outcomes([(said, {"broker": broker, "preferred": preferred})])


async def _was_preferred_and_is_gone(cluster: Cluster, broker: int) -> bool:
    """Then another broker has taken the preference away: the one that is gone cannot."""
    await cluster.refresh([])
    if broker in cluster.brokers:
        return False
    asked = Wanted(CONTROLLER_UNPREFER, {"broker": broker})
    return bool((await operate(cluster, asked))["was"])


@command.command()
def history() -> None:
    """List the last controllers: which broker, in which epoch, from when to when, and why.

    `now` stands where a broker acts as the controller and has answered; where that is not known,
    or it is not known when it ended, nothing stands.
    """

    async def ask(cluster: Cluster) -> tuple[list[dict[str, Any]], Seen]:
        placement = await _placement(cluster)
        seen = await seen_in(cluster, placement)
        for it in placement["controllers"]:
            it["acts"] = it["until"] is None and seen.acts(it["broker"])
        return placement["controllers"], seen

    controllers, seen = talk(ask)
    if options().as_json:
        print_json(controllers)
    else:
        rows = [
            (it["broker"], it["epoch"], moment_text(it["since"]), _until(it), it["why"])
            for it in reversed(controllers)
        ]
        show_table(("broker", "epoch", "from", "to", "why"), rows)
    tell_doubt(seen)


def _until(controller: dict[str, Any]) -> str | None:
    if controller["until"] is not None:
        return moment_text(controller["until"])
    return "now" if controller["acts"] else None
