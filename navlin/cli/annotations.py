from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import print_json, say
from navlin.files import replaced

if TYPE_CHECKING:
    from navlin.edit.annotation_files import FileContent, Format
    from navlin.edit.annotations import Imported

SHOWN: Final = 20
"""Maximum number of entries of each kind in the text output; ``--json`` has all."""
_FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    help="jsonl or csv (default: by the name of the file).",
)


@click.group("annotations", short_help="Export and import business metadata.")
def command() -> None:
    """Export and import of people's names, descriptions, tags and properties, which no source can deliver again.

    \b
    Examples:
      navlin annotations export words.jsonl
      navlin annotations import words.jsonl --dry-run
    """


@command.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--query", default="*", show_default=True, help="Only entities that match, as in `navlin search`."
)
@_FORMAT
@json_option
@click.pass_obj
def export(invocation: Invocation, file: Path, *, query: str, form: str | None, as_json: bool) -> None:
    """Write people's fields to FILE, as JSON lines (one entity per line) or CSV (one value per row).

    Values that a source, such as a sidecar file, wrote into these fields are left out. In CSV an apostrophe precedes text
    that a spreadsheet would take for a formula; the import removes it.

    \b
    Examples:
      navlin annotations export words.jsonl
      navlin annotations export words.csv --query 'type:TABLE AND tags:pii'
    """
    from navlin.edit.annotation_files import write_annotations
    from navlin.edit.annotations import annotated
    from navlin.index.search.print_query import to_solr
    from navlin.model.plurals import counted
    from navlin.query.syntax import parse

    wanted = to_solr(parse(query).query)
    chosen = _format(file, form)
    with invocation.solr() as solr, _written(file) as out:
        count = write_annotations(out, annotated(solr, wanted), chosen)
    if as_json:
        print_json({"file": str(file), "format": chosen.value, "entities": count})
    else:
        say(f"{counted(count, 'entity')} with business metadata")
    raise SystemExit(Exit.OK if count else Exit.NOTHING)


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--dry-run", is_flag=True, help="Show what would be written, without writing.")
@click.option("--overwrite", is_flag=True, help="Overwrite values that people wrote.")
@click.option(
    "--unknown",
    "keep",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for values of unknown entities, for a later import.",
)
@_FORMAT
@json_option
@click.pass_obj
def import_(
    invocation: Invocation,
    file: Path,
    *,
    dry_run: bool,
    overwrite: bool,
    keep: Path | None,
    form: str | None,
    as_json: bool,
) -> None:
    """Write people's fields from FILE, as `navlin annotations export` made it, into the index.

    A field that is empty, or that a source filled, gets the file's value. If a person wrote another value, that is a
    conflict: it is kept and reported, unless --overwrite is given. Tags are added, and none is removed. Entities that the
    index does not have are reported. A line that cannot be read is a reject with its number, and the rest continues.

    The exit code is 1 if anything in the file is not in the index afterwards: a conflict, an unknown entity, a reject, or
    an entity that Solr refused.

    \b
    Examples:
      navlin annotations import words.jsonl --dry-run
      navlin annotations import words.csv --unknown later.csv
    """
    from navlin.edit.annotation_files import read_annotations, write_annotations
    from navlin.edit.annotations import import_annotations

    chosen = _format(file, form)
    try:
        with file.open("rb") as opened:
            content = read_annotations(opened, chosen)
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}", Exit.USAGE) from error
    with invocation.solr() as solr:
        done = import_annotations(
            solr, content.annotations, invocation.author(), overwrite=overwrite, dry_run=dry_run
        )
    if keep is not None and done.unknown:
        with _written(keep) as out:
            write_annotations(out, done.unknown, _format(keep, None))
    if as_json:
        print_json(_as_json(content, done, dry_run=dry_run))
    else:
        _print(content, done, dry_run=dry_run)
    left = done.conflicts or done.unknown or content.rejects or done.refused
    raise SystemExit(Exit.FAILED if left else Exit.OK)


def _format(file: Path, form: str | None) -> Format:
    from navlin.edit.annotation_files import Format

    try:
        return Format(form or file.suffix.removeprefix(".").lower() or Format.JSONL)
    except ValueError:
        raise Failure(
            f"{file.name} ends neither in .jsonl nor in .csv: give --format jsonl or --format csv", Exit.USAGE
        ) from None


@contextmanager
def _written(file: Path) -> Iterator[IO[bytes]]:
    """Like `replaced`, but raise `Failure` if the file cannot be written."""
    try:
        with replaced(file) as out:
            yield out
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error.strerror}", Exit.FAILED) from error


def _as_json(content: FileContent, done: Imported, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "entities": done.entities,
        "written": done.written,
        "unchanged": done.unchanged,
        "overwritten": [asdict(each) for each in done.overwritten],
        "conflicts": [asdict(each) for each in done.conflicts],
        "unknown": [{"id": each.id, "type": each.type, "entity": each.entity} for each in done.unknown],
        "rejects": [asdict(each) for each in content.rejects],
        "refused": [{"id": each.identity, "reason": each.reason} for each in done.refused],
        "redacted": [{"line": line, "field": field} for line, field in content.redacted],
    }


def _print(content: FileContent, done: Imported, *, dry_run: bool) -> None:
    from navlin.model.plurals import counted

    verb = "would be written" if dry_run else "written"
    fields, entities = counted(done.written, "field"), counted(done.entities, "entity")
    say(f"{fields} of {entities} {verb}, {done.unchanged:,} already there")
    lines = {
        "overwritten" if not dry_run else "would be overwritten": [
            f"{each.field} of {each.entity} ({each.id}) was {each.indexed!r:.80}" for each in done.overwritten
        ],
        "conflicts, the index keeps its value": [
            f"{each.field} of {each.entity} ({each.id}): {each.indexed!r:.80}, in the file {each.given!r:.80}"
            for each in done.conflicts
        ],
        "unknown entities": [f"{each.type} {each.entity} ({each.id})" for each in done.unknown],
        "rejects": [f"line {each.line}: {each.reason}" for each in content.rejects],
        "refused by the index": [f"{each.identity}: {each.reason}" for each in done.refused],
        "values in which a secret was blanked": [f"line {line}: {name}" for line, name in content.redacted],
    }
    for title, found in lines.items():
        if found:
            say(f"{title}: {len(found):,}")
            for line in found[:SHOWN]:
                say("  " + line)
            if len(found) > SHOWN:
                say(f"  and {len(found) - SHOWN:,} more (--json has all)")
