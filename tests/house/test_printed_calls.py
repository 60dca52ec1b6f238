"""Commands that the product prints run as printed: nobody looks up at night what is missing.

Strings of the sources are read, not documentation. A call ends with its backtick, with punctuation,
or where prose goes on: at a small word for which the verb has no argument. What stands for a value
is in capitals (BROKER), or is put in when it is printed.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

import click
import pytest

from odradek.cli.nouns import SCRIPTS
from odradek.cli.root import command
from tests.house import tree

CALL: Final = re.compile(r"(`?)(?<![\w./-])odradek (?=[a-z])((?:(?!\bodradek )[^`\n])*)")
PUT_IN: Final = "VALUE"
END: Final = (",", ";", ":", ".", ")")
PROSE: Final = re.compile(r"[a-z]+(?:'s)?")
NO_CALLS: Final = {"odradek and odradek_cluster are made of", "odradek command."}
"""Sentences about a package and a program."""
CONTEXT: Final = click.Context(command)


def texts_of(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings below a node, whole; not those that only document."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
        text = text_of(node)
        if text is not None:
            yield getattr(node, "lineno", 0), text
            inner = [it for it in ast.walk(node) if isinstance(it, ast.FormattedValue)]
            for it in inner:
                yield from texts_of(it.value)
            return
    for child in ast.iter_child_nodes(node):
        yield from texts_of(child)


def text_of(node: ast.AST) -> str | None:
    """A string as it is printed, with a word for each value that is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(it) or PUT_IN for it in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            both = text_of(left), text_of(right)
            return None if both == (None, None) else "".join(it or PUT_IN for it in both)
    return None


def wrong(text: str, *, is_quoted: bool) -> str | None:
    """Why this does not run, if it does not; `text` begins behind `odradek `."""
    words = words_of(text, is_quoted=is_quoted)
    name = words.pop(0)
    if name in SCRIPTS:
        return None
    found = command.get_command(CONTEXT, name)
    if isinstance(found, click.Group):
        if not words:
            return None if is_quoted else f"{name} is a noun"
        name = words.pop(0)
        found = found.get_command(CONTEXT, name)
    if found is None:
        return f"there is no {name}"
    return wrong_arguments(found, words, is_quoted=is_quoted)


def words_of(text: str, *, is_quoted: bool) -> list[str]:
    """Up to its end."""
    words = text.split()
    if is_quoted:
        return words
    for at, word in enumerate(words):
        if word.endswith(END):
            return [*words[:at], word.rstrip("".join(END))]
    return words


def wrong_arguments(verb: click.Command, words: list[str], *, is_quoted: bool) -> str | None:
    """Read by the verb's own parser, until it has all and prose begins."""
    known = {name for it in verb.params for name in it.opts}
    needed = [it for it in verb.params if it.required]
    said: list[str] = []
    takes_value = False
    for word in words:
        is_prose = PROSE.fullmatch(word) and not is_quoted and not is_literal(needed, word)
        if is_prose and not takes_value:
            break
        option = next((it for it in verb.params if word.split("=")[0] in it.opts), None)
        is_flag = isinstance(option, click.Option) and option.is_flag
        takes_value = word in known and not is_flag
        said.append(word)
    context = click.Context(verb)
    try:
        values, _, _ = verb.make_parser(context).parse_args(list(said))
    except click.UsageError as error:
        return error.format_message()
    missing = [
        it.opts[0] if isinstance(it, click.Option) else it.human_readable_name
        for it in needed
        if not is_given(values.get(it.name or ""))
    ]
    return f"lacks {', '.join(missing)}" if missing else None


def is_given(value: object) -> bool:
    """What was not has a mark of click's own, or is empty."""
    return isinstance(value, str | tuple | bool) and bool(value)


def is_literal(needed: list[click.Parameter], word: str) -> bool:
    """An argument that is such a word: `throttle none`, `alter topic`."""
    return any(
        word in (it.metavar or "").split("|")
        or (isinstance(it.type, click.Choice) and word in it.type.choices)
        for it in needed
    )


def calls() -> Iterator[tuple[str, str, bool]]:
    """Where it stands, what stands behind `odradek `, and whether backticks end it."""
    for path in tree.files(".py"):
        name = tree.name(path)
        if not name.startswith("src/") or "/wire/messages/" in name:
            continue
        yield from calls_of(name, tree.parsed(path))


def calls_of(name: str, parsed: ast.AST) -> Iterator[tuple[str, str, bool]]:
    """Of one file, or of a piece of one."""
    for line, text in texts_of(parsed):
        for found in CALL.finditer(text):
            if f"odradek {found[2]}" not in NO_CALLS and not found[2].startswith(PUT_IN):
                yield f"{name}:{line}: odradek {found[2]}", found[2], bool(found[1])


def test_what_is_printed_runs_as_printed() -> None:
    """Its verb is there, no argument and no value is missing, each option is known."""
    found = [(where, wrong(text, is_quoted=quoted)) for where, text, quoted in calls()]
    assert len(found) > 100
    faults = [f"{where}: {why}" for where, why in found if why is not None]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ('"odradek partition reassign -r"', "Option '-r' requires an argument."),
        ('"odradek logdirs replace"', "lacks DIRECTORY"),
        ('f"look: odradek broker drain {it}, again"', None),
        ('"odradek broker drain"', "lacks BROKER"),
        ('"odradek broker dry 3"', "there is no dry"),
        ('"odradek broker drain 3 --slow"', "No such option"),
        ('"odradek offsets list " + name', None),
        ('"odradek cluster health says why"', None),
        ('"odradek partition throttle none takes it away"', None),
        ('"`odradek controller prefer BROKER` gives it one"', None),
    ],
)
def test_what_does_not_run_is_found(source: str, why: str | None) -> None:
    """A rule that finds nothing protects nobody."""
    ((_, text, quoted),) = calls_of("a.py", ast.parse(f"print({source})"))
    found = wrong(text, is_quoted=quoted)
    assert (found or "").startswith(why) if why else found is None
