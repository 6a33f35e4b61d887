"""Commands of questions, made from the declarations of the questions (`navlin.questions`)."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from navlin.cli.invocation import Exit, Failure, Invocation
from navlin.cli.terminal import console, is_watched, print_csv, print_json, print_pieces, say
from navlin.model.refusal import Refusal
from navlin.questions import questions_in
from navlin.questions.declare.parameters import FORMS, Parameter, from_query, one_form, parameters_of
from navlin.questions.declare.question import (
    CSV,
    HTML,
    Lines,
    Question,
    QuestionRequest,
    Views,
    exit_code,
    to_json,
)

if TYPE_CHECKING:
    from navlin.index.solr.solr import Solr
    from navlin.service.settings.configuration import Configuration

T = TypeVar("T")
TOLD_EVERY_S: Final = 1.0
Pairs = Sequence[tuple[str, str]]
Answering = Callable[[Question, Pairs, Any, bool], None]
"""Function that answers a question and ends the command. The arguments are the question, the parameters as texts, the
parsed parameters, and whether the output is JSON."""


def command(name: str) -> click.Command:
    """Return the command for a module of questions; a group if the module has several questions."""
    found = questions_in(name)
    if found[0].job:
        job: click.Command = import_module(f"navlin.cli.{name}").command
        return job
    commands = [QuestionCommand(each) for each in found]
    group = found[0].group
    if group is None:
        return commands[0]
    return click.Group(name, commands, help=cleandoc(group.about), short_help=group.summary)


class QuestionCommand(click.Command):
    """Command of one question. Its options are the question's parameters, and are parsed as in the HTTP API."""

    def __init__(self, question: Question, own: Sequence[click.Option] = ()) -> None:
        """``own`` are options that only the command line has."""
        self.question, self.own = question, own
        self.answering: Answering | None = None
        examples = "".join(f"\n  {each}" for each in question.examples)
        super().__init__(
            question.name.rpartition(" ")[2],
            help=f"{cleandoc(question.about)}\n\n\b\nExamples:{examples}",
            short_help=question.summary,
        )

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options. They are made only when needed, because ``navlin --help`` does not show them."""
        if not self.params:
            self.params = [*map(option, parameters_of(self.question.parameters)), *self.own, AS_JSON]
        return super().get_params(ctx)

    def invoke(self, ctx: click.Context) -> None:
        """Parse the options, and answer the question."""
        as_json = ctx.params["as_json"]
        pairs = list(typed(ctx, self.question.parameters))
        one_form([form for form in FORMS if (form, "true") in pairs or (form == "json" and as_json)])
        try:
            given = from_query(self.question.parameters, pairs)
        except Refusal as refusal:
            more = self._what_to_type({name for name, _ in pairs})
            if not more:
                raise
            raise Refusal(f"{refusal}{more}") from None
        answering = self.answering or partial(self.answer_here, ctx.obj)
        answering(self.question, pairs, given, as_json)

    def _what_to_type(self, given: set[str]) -> str:
        """Return another line for an error if a required parameter is not given: what to type. Return "" otherwise."""
        required = [each for each in parameters_of(self.question.parameters) if each.required]
        if all(each.name in given for each in required):
            return ""
        typed = " ".join([self.question.name, *map(_as_typed, required)])
        return f"\nType `navlin {typed}`, as in `{self.question.examples[0]}`."

    def answering_by(self, answering: Answering) -> QuestionCommand:
        """Return a copy of the command that answers with ``answering`` instead of the local index."""
        other = copy.copy(self)
        other.answering = answering
        return other

    def answer_here(
        self, invocation: Invocation, question: Question, _pairs: Pairs, given: Any, as_json: bool
    ) -> None:
        """Query the local index, and print the answer."""
        read = invocation.configuration if question.of_service else invocation.configuration_without_sources
        configuration = read()
        with _room(configuration), invocation.solr(configuration) as solr:
            request = QuestionRequest(
                solr,
                given,
                invocation.author(),
                administrator=True,
                text=not as_json,
                here=True,
                status=partial(_status, invocation, configuration, solr),
                progress=_Progress(),
            )
            print_answer(question, question.ask(request), as_json=as_json)


AS_JSON = click.Option(["--json", "as_json"], is_flag=True, help="The answer as JSON, for programs.")


class _Choice(click.Choice[str]):
    """Choices for the help text and for completion. The question's parameters check the values, with the same error
    message as over HTTP."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value


class _Number(click.IntRange):
    """Bounds for the help text. The question's parameters check the values."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value


def _as_typed(parameter: Parameter) -> str:
    """Return a parameter as a usage line shows it: ``SOURCE``, or ``--before TIME``."""
    metavar = parameter.typed.metavar or parameter.name.upper()
    return metavar if parameter.typed.first else f"--{parameter.name.replace('_', '-')} {metavar}"


def option(parameter: Parameter) -> click.Parameter:
    """Return the option or argument of the command line for a parameter."""
    how, bounds = parameter.typed, parameter.bounds
    metavar = how.metavar or parameter.name.upper()
    if how.first:
        # Not required for click, which has a different error message.
        return click.Argument(
            [parameter.name], required=False, metavar=metavar if parameter.required else f"[{metavar}]"
        )
    name = "--" + parameter.name.replace("_", "-")
    default = parameter.plain_default
    if parameter.is_switch:
        names = f"{name}/--no-{name[2:]}" if default else name
        return click.Option([names, parameter.name], is_flag=True, default=default, help=parameter.words)
    kind: Any = click.STRING
    if parameter.choices:
        kind = _Choice(parameter.values)
    elif parameter.kind is int:
        kind = _Number(*((bounds[0], bounds[-1]) if bounds is not None else ()))
    elif parameter.kind is Path:
        kind = click.Path(dir_okay=False)
    return click.Option(
        [*([f"-{how.short}"] if how.short else []), name, parameter.name],
        type=kind,
        metavar=how.metavar or None,
        multiple=parameter.many,
        default=None if default is None else str(default),
        show_default=default not in (None, ""),
        help=parameter.words + "  [required]" * parameter.required,
    )


def typed(ctx: click.Context, cls: type[Any]) -> Iterator[tuple[str, str]]:
    """Yield (parameter name, value as text) for each value that was typed of the parameters that ``cls`` declares."""
    for parameter in parameters_of(cls):
        value = ctx.params[parameter.name]
        if value is None or ctx.get_parameter_source(parameter.name) is ParameterSource.DEFAULT:
            continue
        for each in value if parameter.many else (value,):
            text = str(each).lower() if isinstance(each, bool) else str(each)
            yield parameter.name, _with_zone(text) if parameter.typed.here_zone else text


def filled(ctx: click.Context, cls: type[T]) -> T:
    """Return the parameters that ``cls`` declares, as they were typed. Raises `Refusal`."""
    return from_query(cls, list(typed(ctx, cls)))


def _with_zone(text: str) -> str:
    """Return a date in this machine's time zone, which is assumed if the date has none; any other text unchanged."""
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except ValueError:
        return text


def print_lines(lines: Iterable[bytes], media_type: str) -> None:
    """Print an answer in lines, depending on the media type."""
    (print_csv if media_type in (CSV, HTML) else print_pieces)(lines)


@contextmanager
def _room(configuration: Configuration) -> Iterator[None]:
    """Raise `Failure` about a lack of disk space if the index does not respond and the disk is full. `navlin serve` may
    be waiting for space then. A running Solr may refuse even queries, and another one cannot be started."""
    from navlin.index.solr.solr import SolrError
    from navlin.service.disk_space import space
    from navlin.solr_server.embedded import NoSolr

    try:
        yield
    except (NoSolr, SolrError, OSError) as error:
        left = space(configuration.navlin.state_directory, configuration.navlin.least_free_bytes)
        if not left.short:
            raise
        raise Failure(f"no space: {left}. {error}", Exit.FAILED) from error


def _status(invocation: Invocation, configuration: Configuration, solr: Solr) -> Mapping[str, Any]:
    from navlin.service.status import status

    return status(solr, configuration, invocation.now_ms()).as_json()


class _Progress:
    """Prints the progress of an answer on standard error, if that is a terminal, at most once a second."""

    def __init__(self) -> None:
        self._told_s = time.monotonic()

    def __call__(self, done: int, every: int, unit: str) -> None:
        if is_watched() and time.monotonic() > self._told_s + TOLD_EVERY_S:
            self._told_s = time.monotonic()
            say(f"{done:,} of {every:,} {unit}" if every else f"{done:,} {unit} so far", on_stderr=True)


def print_answer(question: Question, answer: Any, *, as_json: bool) -> None:
    """Print an answer, and end the command with its exit code."""
    if isinstance(answer, Lines):
        print_lines(answer.lines, answer.media_type)
        raise SystemExit(answer.exit_code())
    if isinstance(answer, Views):
        for each in answer.views:
            console().show(each)
        raise SystemExit(answer.exit_code())
    plain = to_json(answer)
    if as_json:
        print_json(plain)
    elif (view := question.load_view()) is not None:
        console().show(view(answer))
    raise SystemExit(exit_code(plain))
