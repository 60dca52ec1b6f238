"""States of groups and of transactional ids, as options name them: in any letters."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])


def state_option(known: Sequence[str], text: str) -> Callable[[F], F]:
    """`--state`, which may be given several times."""
    return click.option("--state", "states", type=State(known), multiple=True, help=text)


class State(click.ParamType[str]):
    """One of these; a list of those in a state that there is not would be empty for ever."""

    name = "state"

    def __init__(self, known: Sequence[str]) -> None:
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """As the brokers write it."""
        named = str(value)
        found = next((it for it in self._known if it.lower() == named.lower()), None)
        if found is None:
            self.fail(f"there is no state {named!r}: {', '.join(self._known)}", param, ctx)
        return found

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Those that begin so."""
        del ctx, param
        start = incomplete.lower()
        return [CompletionItem(it) for it in self._known if it.lower().startswith(start)]
