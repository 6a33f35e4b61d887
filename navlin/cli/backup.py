from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import console, print_json, say


@click.command("backup", short_help="Write the index to a file, while navlin runs.")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@click.pass_obj
def command(invocation: Invocation, file: Path, *, as_json: bool) -> None:
    """Write the index to FILE, also while `navlin serve` runs and writes. FILE appears, or is replaced, when it is
    complete.

    Data extracted while the backup is made is in it, or is read again after a restore: positions are never newer than
    their data.

    With a Solr of your own, FILE is DIRECTORY/NAME: Solr itself writes to the directory, which must exist on Solr's
    machine and be in its solr.allowPaths. All nodes of a SolrCloud must see it under that path.

    \b
    Examples:
      navlin backup /backup/navlin.tar.zst
      navlin backup /shared/solr-backups/monday
    """
    from navlin.index.admin import collection_backup, core_backup
    from navlin.index.admin.snapshots import TooBusy
    from navlin.index.solr.solr import Solr
    from navlin.model.plurals import counted
    from navlin.service.maintenance.backup import back_up
    from navlin.service.solr import reachable_solr

    configuration = invocation.configuration_without_sources()
    file = file.absolute()
    try:
        with reachable_solr(configuration, invocation.environment) as reached, Solr(reached.address) as solr:
            if not configuration.solr.embedded:
                where = (str(file.parent), file.name)
                with progress("cores", in_bytes=False) as report:
                    if solr.cloud:
                        documents = collection_backup.back_up(solr, *where, report)
                    else:
                        documents = core_backup.back_up(solr, *where, report)
                size = None
            else:
                home = configuration.navlin.state_directory.absolute() / "solr"
                with progress("backup", in_bytes=True) as report:
                    done = back_up(solr, home, file, invocation.now_ms(), report)
                documents, size = dict(done.header.documents), done.size
    except (TooBusy, collection_backup.NotBackedUp) as error:
        raise Failure(str(error), Exit.FAILED) from error
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error.strerror or error}", Exit.FAILED) from error
    if as_json:
        print_json({"file": str(file), "bytes": size, "documents": documents})
    else:
        counts = ", ".join(f"{core}: {counted(count, 'document')}" for core, count in documents.items())
        say(f"{file}: {counts}" + (f"; {size:,} bytes" if size is not None else ""))


@contextmanager
def progress(what: str, *, in_bytes: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar if standard error is a terminal. Yield a function that takes the amount done and the
    total."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    out = console(on_stderr=True)
    counted = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn(what), BarColumn(), counted, TimeRemainingColumn())
    with Progress(*columns, console=out, disable=not out.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
