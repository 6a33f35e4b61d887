"""Commands of jobs. A job runs in this process, in the local `navlin serve`, or on another machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from navlin.cli.invocation import Exit, Invocation
from navlin.cli.questions import Pairs, QuestionCommand
from navlin.cli.terminal import print_json
from navlin.questions.declare.question import Asked, Question

if TYPE_CHECKING:
    from navlin.index.solr.solr import Solr
    from navlin.service.settings.configuration import Configuration


class JobCommand(QuestionCommand):
    """Command of a question that is a job. ``run`` does the work and returns the answer, ``show`` prints the answer as
    text, and ``ends_with`` returns the exit code for an answer. ``options`` are additional options of the command
    line."""

    def __init__(
        self,
        question: Question,
        run: Callable[[Invocation, Any], Mapping[str, Any]],
        show: Callable[[Any], None],
        ends_with: Callable[[Any], Exit],
        options: Sequence[click.Option] = (),
    ) -> None:
        super().__init__(question, options)
        self.run, self.show, self.ends_with = run, show, ends_with

    def answer_here(
        self, invocation: Invocation, _question: Question, _pairs: Pairs, given: Any, as_json: bool
    ) -> None:
        self.print_answer(self.run(invocation, given), as_json=as_json)

    def print_answer(self, answer: Mapping[str, Any], *, as_json: bool) -> None:
        """Print an answer, and end the command with its exit code."""
        if as_json:
            print_json(answer)
        else:
            self.show(answer)
        raise SystemExit(self.ends_with(answer))


def arguments(
    question: Question, invocation: Invocation, configuration: Configuration, solr: Solr, given: Any
) -> Mapping[str, Any]:
    files = configuration.purge.deleted_files
    asked = Asked(solr, given, invocation.author(), administrator=True, here=True, deleted_files=files)
    found: Mapping[str, Any] = question.ask(asked)
    return found
