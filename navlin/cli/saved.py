"""``navlin saved``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import console, print_json

if TYPE_CHECKING:
    from navlin.edit.saved_searches import Asker


@click.group("saved", short_help="Searches that are kept under a name.")
def command() -> None:
    """Saved searches, for oneself or for everybody. `navlin search --saved NAME` and `navlin count --saved NAME` run
    them.

    Only its owner or an administrator changes or removes one. Everybody who works on the machine of the index is an
    administrator.
    """


@command.command("list")
@json_option
@click.pass_obj
def list_saved(invocation: Invocation, *, as_json: bool) -> None:
    """List your own and shared searches. Here, on the machine of the index, all.

    \b
    Examples:
      navlin saved list
      navlin saved list --json
    """
    from navlin.query.saved import searches_of

    with invocation.solr() as solr:
        saved = searches_of(solr, invocation.author().name, administrator=True)
    if as_json:
        print_json(saved.to_json())
    else:
        from navlin.render.saved import saved_view

        console().show(saved_view(saved))
    raise SystemExit(Exit.OK if saved.searches else Exit.NOTHING)


@command.command("add")
@click.argument("name")
@click.argument("query")
@click.option("--shared", is_flag=True, help="Everybody sees it.")
@click.option("--replace", is_flag=True, help="Over one of that name, if there is one.")
@click.option("--owner", default="", help="Another owner than oneself, for administrators.")
@json_option
@click.pass_obj
def add(
    invocation: Invocation, name: str, query: str, *, shared: bool, replace: bool, owner: str, as_json: bool
) -> None:
    """Save QUERY under NAME. An invalid query is refused.

    \b
    Examples:
      navlin saved add 'personal data' 'type:FIELD AND tags:pii'
      navlin saved add big 'type:FILE AND size:[1000000000 TO *]' --shared --replace
    """
    from navlin.edit.saved_searches import save_search
    from navlin.query.saved import check_query

    with invocation.solr() as solr, _failures():
        check_query(solr, query)
        saved = save_search(
            solr, _asker(invocation), name, query, owner=owner, shared=shared, replace=replace
        )
    if as_json:
        print_json(saved.to_json())
    else:
        from navlin.render.saved import saved_one_view

        console().show(saved_one_view(saved))


@command.command("remove")
@click.argument("name")
@click.option("--owner", default="", help="Another owner than oneself, for administrators.")
@json_option
@click.pass_obj
def remove(invocation: Invocation, name: str, *, owner: str, as_json: bool) -> None:
    """Remove the saved search NAME.

    \b
    Examples:
      navlin saved remove big
      navlin saved remove big --owner ann
    """
    from navlin.edit.saved_searches import remove_search

    with invocation.solr() as solr, _failures():
        removed = remove_search(solr, _asker(invocation), name, owner=owner)
    if as_json:
        print_json(removed.to_json())
    else:
        from navlin.render.saved import removed_view

        console().show(removed_view(removed))


def _asker(invocation: Invocation) -> Asker:
    from navlin.edit.saved_searches import Asker

    return Asker(invocation.author(), administrator=True)


@contextmanager
def _failures() -> Iterator[None]:
    from navlin.edit.saved_searches import NameTaken, NotSaved
    from navlin.edit.values import BadValue
    from navlin.query.scanner import QueryError

    try:
        yield
    except (BadValue, QueryError, NameTaken) as error:
        raise Failure(str(error), Exit.USAGE) from error
    except NotSaved as error:
        raise Failure(str(error), Exit.NOTHING) from error
