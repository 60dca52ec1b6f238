"""What the verbs that run on Spark share: their options, the session, and how they fail.

Nothing of Spark or Arrow is imported before such a verb is called. What Spark itself logs is not
shown: a fault is one sentence, as with every other verb.
"""

import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from odradek.cli.reaching.client_settings import client_settings
from odradek.cli.reaching.talking import settings_of
from odradek.cli.spark.watching import watched_by_person
from odradek.cli.words.failing import MISUSED, UNREACHABLE, Failed
from odradek.cli.words.options import options

if TYPE_CHECKING:
    from odradek.pipelines.errors import PipelineError
    from odradek.pipelines.moving.watching import Watch

C = TypeVar("C", bound=click.Command)

JAVA_FAULT: Final = re.compile("could not|cannot|invalid|unrecognized|exceeds", re.IGNORECASE)
SPARKS: Final = ("pyspark", "py4j", "grpc")
WHO_IS_THERE: Final = "odradek doctor says what hangs or is away; --bootstrap names other brokers"
REQUIRED: Final = "this verb needs the libraries of pipelines: pip install 'odradek[spark]'"


@dataclass(frozen=True, slots=True)
class SparkChoice:
    """Which Spark, as the command line says it."""

    master: str | None
    remote: str | None
    conf: Mapping[str, str]


def with_spark(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --master, --remote and --conf; the verb gets them as `spark_choice`. And --verbose."""

    def called(
        *,
        master: str | None,
        remote: str | None,
        conf: tuple[str, ...],
        verbose: bool,
        **given: Any,
    ) -> Any:
        if master and remote:
            raise click.UsageError("--master and --remote are two ways; give one")
        try:
            return verb(spark_choice=SparkChoice(master, remote, settings_of(conf)), **given)
        except Failed as error:
            if verbose and error.__cause__ is not None:
                traceback.print_exception(error.__cause__)
            raise

    called.__doc__ = verb.__doc__
    called.__name__ = verb.__name__
    decorated: Any = called
    for option in (
        click.option("--verbose", is_flag=True, help="Show the trace of what fails, too."),
        click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark's."),
        click.option("--remote", metavar="URL", help="A Spark Connect server, sc://HOST:PORT."),
        click.option("--master", metavar="URL", help="Spark's master.  [default: local[*]]"),
    ):
        decorated = option(decorated)
    decorated.__click_params__ = [
        *decorated.__click_params__,
        *getattr(verb, "__click_params__", []),
    ]
    found: Callable[..., Any] = decorated
    return found


Words = Callable[["PipelineError"], str]
"""What an error of a pipeline says where a command says it."""


def as_it_is(error: "PipelineError") -> str:
    """Its own sentence."""
    return str(error)


def in_file(file: Path) -> Words:
    """In the words of a pipeline's file, and of the verbs that take it."""

    def said(error: "PipelineError") -> str:
        from odradek.pipelines.definition.remedies import InFile, told

        return told(error, InFile(file))

    return said


def in_archive(error: "PipelineError") -> str:
    """In the words of `odradek archive`."""
    from odradek.pipelines.definition.remedies import InArchive, told

    return told(error, InArchive())


@contextmanager
def in_sentences(words: Words = as_it_is) -> Iterator[None]:
    """Errors of pipelines become those of the command."""
    try:
        from odradek.pipelines.errors import Unreachable, error_of, one_sentence
    except ImportError as error:
        raise Failed(REQUIRED, code=MISUSED) from error
    try:
        yield
    except ImportError as error:
        raise Failed(f"{REQUIRED} ({error})", code=MISUSED) from error
    except Exception as error:
        ours = error_of(error)
        if ours is None and type(error).__module__.startswith(SPARKS):
            raise Failed(f"{one_sentence(error)}; --verbose shows Spark's trace") from error
        if ours is None:
            raise
        if isinstance(ours, Unreachable):
            raise Failed(words(ours), WHO_IS_THERE, UNREACHABLE) from error
        raise Failed(words(ours)) from error


@contextmanager
def watched_session(choice: SparkChoice) -> Iterator[tuple[Any, "Watch"]]:
    """The session for one verb, and what is said meanwhile; it ends with the verb."""
    from odradek.pipelines.session import session

    with _java_kept_quiet():
        spark = session(choice.master, remote=choice.remote, conf=choice.conf)
        if choice.remote is None:
            spark.sparkContext.setLogLevel(choice.conf.get("spark.log.level", "OFF"))
    try:
        with watched_by_person(spark) as watch:
            yield spark, watch
    finally:
        spark.stop()


@contextmanager
def spark_session(choice: SparkChoice) -> Iterator[Any]:
    """The session alone."""
    with watched_session(choice) as (spark, _):
        yield spark


@contextmanager
def _java_kept_quiet() -> Iterator[None]:
    """What a Java that is started here prints goes to a file: one line of it may be the reason."""
    from odradek.pipelines.errors import JavaStopped, NoJava

    with tempfile.TemporaryFile() as file:
        try:
            with _printing_to(file.fileno()):
                yield
        except JavaStopped as error:
            file.seek(0)
            lines = [it.strip() for it in file.read().decode(errors="replace").splitlines()]
            found = [it for it in lines if JAVA_FAULT.search(it)]
            raise NoJava(f"{error}: {found[0] if found else 'it did not say why'}") from error


@contextmanager
def _printing_to(file: int) -> Iterator[None]:
    """Standard output and error of this process, and of those that it starts."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours = {number: os.dup(number) for number in (1, 2)}
    for number in ours:
        os.dup2(file, number)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, kept in ours.items():
            os.dup2(kept, number)
            os.close(kept)


def kafka_options() -> dict[str, str]:
    """Settings of the client as options of the source and of the sink."""
    from odradek.pipelines.kafka_settings import known

    found = {f"kafka.{name}": value for name, value in client_settings().items() if known(name)}
    if options().timeout is not None:
        found["kafka.default.api.timeout.ms"] = str(int(options().seconds * 1_000))
    return found


def selection(topics: str) -> dict[str, str]:
    """Which topics, as an option of the source: names, or patterns with `*`."""
    if "*" in topics:
        parts = [re.escape(it).replace(r"\*", ".*") for it in topics.split(",")]
        return {"subscribePattern": "|".join(parts)}
    return {"subscribe": topics}


@contextmanager
def stopped_by_signals() -> Iterator[Event]:
    """An event that Ctrl-C and SIGTERM set; the batch that runs is finished first."""
    stopping = Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
