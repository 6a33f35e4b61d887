"""Shared parts of the commands that list something page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from navlin.cli.invocation import Exit, Failure, Invocation
from navlin.cli.terminal import console, print_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from navlin.index.solr import Solr
    from navlin.query.page import Page

_C = TypeVar("_C", bound=Callable[..., Any])

source_option = click.option("--source", default="", metavar="NAME", help="Only of this source.")
reason_option = click.option(
    "--reason", default="", metavar="TEXT", help="Only for this reason, as `navlin status` shows it."
)


def page_options(command: _C) -> _C:
    """Add ``--limit`` and ``--offset``."""
    limit = click.option("--limit", default=25, show_default=True, help="How many results at most.")
    offset = click.option(
        "--offset", default=0, show_default=True, help="How many of the first to pass over."
    )
    return limit(offset(command))


def show_page(
    invocation: Invocation,
    ask: Callable[[Solr], Page[Any]],
    form: Callable[[Any], dict[str, Any]],
    view: Callable[[Page[Any]], RenderableType],
    *,
    as_json: bool,
) -> None:
    """Query the index and print the page; end with exit code 3 if there is nothing at all."""
    from navlin.query.page import BadPage, UnknownSource

    try:
        with invocation.solr() as solr:
            page = ask(solr)
    except BadPage as error:
        raise Failure(str(error), Exit.USAGE) from error
    except UnknownSource as error:
        raise Failure(str(error), Exit.NOTHING) from error
    if as_json:
        print_json(page.to_json(form))
    else:
        console().show(view(page))
    raise SystemExit(Exit.OK if page.total else Exit.NOTHING)
