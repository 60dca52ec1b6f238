"""`odradek completion SHELL`: the script by which a shell completes nouns, verbs and live names."""

import click
from click.shell_completion import get_completion_class

from odradek.cli.words.grammar import SETTINGS

WHERE = {
    "bash": "odradek completion bash > ~/.local/share/bash-completion/completions/odradek",
    "zsh": 'odradek completion zsh > "${fpath[1]}/_odradek"',
    "fish": "odradek completion fish > ~/.config/fish/completions/odradek.fish",
}


HELP = (
    "Print the shell's completion script.\n\nNames of topics and groups come from the cluster that "
    "the command would talk to.\n\n\b\n" + "\n".join(WHERE.values())
)


@click.command(context_settings=SETTINGS, help=HELP)
@click.argument("shell", type=click.Choice(list(WHERE)))
def command(shell: str) -> None:
    """From the whole command, which is imported for it."""
    from odradek.cli.root import command as root

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(root, {}, "odradek", "_ODRADEK_COMPLETE").source())
