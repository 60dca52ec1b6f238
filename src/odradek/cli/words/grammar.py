"""The grammar: `odradek NOUN VERB [ARGUMENTS] [OPTIONS]`, and what all nouns and verbs share.

A noun is a module `cli/<noun>.py` with a `command` of the class `Noun`, and a row in `nouns.py`.
A verb is a function below it:

    @command.command()
    def describe(...) -> None:
        '''Show ...'''
        show_table(("topic", "partitions"), talk(ask))

It takes the common options (`options.py`) without naming them, by `talk` and by the functions of
`printing.py`. `cls=LocalVerb` is for a verb that talks to no cluster, `cls=DestroyingVerb` for one
that calls `confirm`. A name that is unknown is refused with the nearest one that is known.
"""

from typing import Any

import click

from odradek.cli.words import options
from odradek.cli.words.failing import nearest

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Sections(click.Command):
    """Prints the common options apart from a command's own."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        for parameter in self.params:
            is_number = isinstance(parameter.type, click.types.IntParamType)
            if is_number and isinstance(parameter, click.Option) and parameter.metavar is None:
                parameter.metavar = "N"

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Its own first."""
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                (common if isinstance(parameter, options.CommonOption) else own).append(record)
        for title, records in (("Options", own), ("Common options", common)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class Verb(_Sections):
    """One thing that can be done with a noun of a cluster."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        attributes.setdefault("context_settings", SETTINGS)
        super().__init__(*args, **attributes)
        self.params += [*self.more(), options.for_programs()]

    def more(self) -> list[click.Parameter]:
        """The options beside `--json`."""
        return options.of_the_cluster()


class DestroyingVerb(Verb):
    """One that loses records, offsets or settings, and asks before."""

    def more(self) -> list[click.Parameter]:
        """And `--yes`."""
        return [options.without_asking(), *super().more()]


class LocalVerb(Verb):
    """One that reads files or runs a server: there is no cluster to name."""

    def more(self) -> list[click.Parameter]:
        """None."""
        return []


class Noun(click.Group, _Sections):
    """The verbs of one noun. The common options may stand before the verb, too."""

    command_class: type[click.Command] | None = Verb
    metavar_of_verbs = "VERB [ARGUMENTS]..."

    def __init__(self, *args: Any, **attributes: Any) -> None:
        attributes.setdefault("context_settings", SETTINGS)
        attributes.setdefault("no_args_is_help", True)
        attributes.setdefault("subcommand_metavar", self.metavar_of_verbs)
        super().__init__(*args, **attributes)
        self.params += [*options.of_the_cluster(), options.for_programs()]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs, each with the whole first line; their own help shows the options."""
        verbs = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Verbs"):
            formatter.write_dl(
                [(name, (verb.help or "").partition("\n")[0]) for name, verb in verbs if verb]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the verb, or the one that was meant."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            refuse_verb(ctx, name, self.list_commands(ctx))
        return super().resolve_command(ctx, args)


def refuse_verb(ctx: click.Context, name: str, known: list[str]) -> None:
    """Says what there is."""
    near = nearest(name, known) or f"; there are: {', '.join(known)}"
    raise click.UsageError(f"{ctx.command_path} has no verb {name!r}{near}", ctx)
