"""`odradek check FILE`: what would be wrong or doubtful if a broker started with this file."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from odradek.cli.reaching import settings
from odradek.cli.showing.printing import print_json
from odradek.cli.words.failing import FAILED
from odradek.cli.words.grammar import LocalVerb
from odradek.cli.words.options import options
from odradek.config import sources
from odradek.config.broker import NO_EFFECT
from odradek.config.findings import Finding, Severity
from odradek.model.counting import counted


@click.command(cls=LocalVerb)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@settings.overrides
@click.option("--settings-only", is_flag=True, help="Do not look at this host.")
@click.option(
    "--drop",
    "dropped",
    metavar="DIR",
    multiple=True,
    help="Whether the other log dirs have room for what is in this one. Can be repeated.",
)
def command(
    file: Path | None,
    overrides: tuple[str, ...],
    dropped: tuple[str, ...],
    *,
    settings_only: bool,
) -> None:
    """Check a properties file, and the host it is for.

    FILE is read as a broker would read it, with the environment's KAFKA_ and KAFKA_CFG_ variables
    and the overrides over it. Every error is printed, then every warning, with the line; a note
    says what has no effect and needs none. What nothing is said about works as in Kafka. Of this
    host are looked at: ports, log dirs, the limit of open files, certificates, whether clients can
    reach what is advertised, ZooKeeper, and issuers, which are asked for keys and a token. Exit
    code 1 if there is an error: a broker would not start.
    """
    given, doubts = settings.gather(file, overrides)
    if file is None and not given:
        raise click.UsageError("name a properties file, or set KAFKA_ variables or --override")
    config, findings = sources.examine(given, doubts)
    if not settings_only:
        from odradek.runtime.host_checks import examine_host

        wrong = {it for one in findings if one.severity is Severity.ERROR for it in one.names}
        findings = (*findings, *examine_host(config, wrong))
    if dropped:
        from odradek.runtime.dropped_dirs import examine_dropped

        findings = (*findings, *examine_dropped(config, dropped))
    ordered = [it for severity in Severity for it in findings if it.severity is severity]
    if options().as_json:
        print_json([_fields(finding) for finding in ordered])
    else:
        _print(file, ordered)
    sys.exit(FAILED if _count(findings, Severity.ERROR) else 0)


def _print(file: Path | None, findings: Sequence[Finding]) -> None:
    for severity in Severity:
        for line in _lines([it for it in findings if it.severity is severity]):
            click.echo(f"{severity.value}: {line}")
    errors = _count(findings, Severity.ERROR)
    warnings = _count(findings, Severity.WARNING)
    click.echo(f"{file or 'settings'}: {counted(errors, 'error')}, {counted(warnings, 'warning')}")


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Settings that have no effect for the same reason are told together, with the reason once."""
    shared: dict[str, list[Finding]] = {}
    for finding in findings:
        shared.setdefault(finding.why, []).append(finding)
    for finding in findings:
        together = shared[finding.why]
        if not finding.why or len(together) == 1:
            yield str(finding)
        elif finding is together[0]:
            yield f"{counted(len(together), 'setting')} without effect; {finding.why}:"
            for one in together:
                yield f"  {one.sentence.removesuffix(f': {NO_EFFECT}; {one.why}')}"


def _count(findings: Sequence[Finding], severity: Severity) -> int:
    return sum(finding.severity is severity for finding in findings)


def _effect(finding: Finding) -> str:
    """What a broker does with the settings that it names; one that no finding names works."""
    if finding.severity is Severity.ERROR:
        return "refused"
    return "none" if NO_EFFECT in finding.sentence else "otherwise"


def _fields(finding: Finding) -> dict[str, str | list[str]]:
    return {
        "severity": finding.severity.value,
        "effect": _effect(finding),
        "settings": list(finding.names),
        "sentence": finding.sentence,
    }
