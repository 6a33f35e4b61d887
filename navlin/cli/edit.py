"""``navlin edit``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from navlin.cli.invocation import Exit, Failure, Invocation, entity_id, json_option
from navlin.cli.terminal import console, print_json


@click.command("edit", short_help="Change names, descriptions, tags and properties.")
@click.argument("entity", required=False, default="")
@click.option("--query", default="", help="Edit all entities that match, as in `navlin search`.")
@click.option("--tag", multiple=True, help="Add a tag. Repeatable.")
@click.option("--remove-tag", multiple=True, help="Take a tag away. Repeatable.")
@click.option("--name", default=None, help="The name that people see; an empty one erases it.")
@click.option("--description", default=None, help="The description; an empty one erases it.")
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    help="A property of one's own; an empty value erases it. Repeatable.",
)
@click.option(
    "--managed",
    multiple=True,
    metavar="NAMESPACE.NAME=VALUE",
    help="A managed property; an empty value erases it. Repeat it for several values.",
)
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    entity: str,
    *,
    query: str,
    tag: tuple[str, ...],
    remove_tag: tuple[str, ...],
    name: str | None,
    description: str | None,
    properties: tuple[str, ...],
    managed: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Change people's fields of ENTITY (db.table, db.table.column, a path, or an id), or of all entities that a query
    finds.

    Fields that are not named stay. Every change is recorded with the user of this system: `navlin edits` shows it. A
    running extraction neither undoes an edit nor is undone by it.

    \b
    Examples:
      navlin edit sales.orders --tag pii --description 'All orders since 2019'
      navlin edit sales.orders --remove-tag draft --property steward=ann --name ''
      navlin edit --query 'type:TABLE AND parentPath:"/sales"' --tag sales --dry-run
    """
    from navlin.edit.asked import Options, count_matching, edit_each, matching, words_of
    from navlin.edit.values import BadValue
    from navlin.index.query_text import asked
    from navlin.query.scanner import QueryError
    from navlin.query.syntax import parse

    if bool(entity) == bool(query):
        raise Failure("name one entity, or give --query", Exit.USAGE)
    options = Options(tag, remove_tag, name, description, properties, managed)
    try:
        wanted = asked(parse(query).query) if query else ""
        with invocation.solr() as solr:
            words = words_of(solr, options)
            if not query:
                ids = [entity_id(solr, entity)]
                done = edit_each(solr, ids, words, invocation.author(), dry_run=dry_run)
            else:
                with _progress(count_matching(solr, wanted)) as report:
                    found, author = matching(solr, wanted), invocation.author()
                    done = edit_each(solr, found, words, author, dry_run=dry_run, report=report)
    except (BadValue, QueryError) as error:
        raise Failure(str(error), Exit.USAGE) from error
    if as_json:
        print_json(done.to_json())
    else:
        from navlin.render import edited_view

        console().show(edited_view(done))
    raise SystemExit(Exit.FAILED if done.refused else Exit.OK if done.entities else Exit.NOTHING)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error, if that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    out = console(on_stderr=True)
    columns = (TextColumn("editing"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=out, disable=not out.is_terminal, transient=True) as bar:
        task = bar.add_task("editing", total=total)
        yield lambda done: bar.update(task, completed=done)
