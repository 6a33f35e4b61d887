from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from navlin.cli.backup import progress
from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import print_json, say


@click.command("restore", short_help="Restore the index from a backup.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    help="State directory to restore into, instead of the configured one; for the embedded Solr.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing index.")
@json_option
@click.pass_obj
def command(invocation: Invocation, file: Path, *, into: Path | None, overwrite: bool, as_json: bool) -> None:
    """Restore the index of the state directory from FILE, which `navlin backup` wrote. navlin must not run there.

    An existing index is kept and the command refused, unless --overwrite is given; then it is replaced when all of FILE
    was unpacked and verified. The next runs read the changes since the backup again.

    With a Solr of your own, FILE is DIRECTORY/NAME as for `navlin backup`; stop navlin on every host first.

    \b
    Examples:
      navlin restore /backup/navlin.tar.zst
      navlin restore /backup/navlin.tar.zst --into /srv/copy
    """
    from navlin.index.admin import collection_backup, core_backup
    from navlin.index.admin.cores import NotCreated
    from navlin.index.solr.solr import Solr
    from navlin.model.plurals import counted
    from navlin.service.maintenance.backup import IndexInUse, IndexThere, restore
    from navlin.service.maintenance.backup_file import DamagedBackup, NewerBackup
    from navlin.service.solr import external_address
    from navlin.shipped import CONF

    configuration = invocation.configuration_without_sources()
    file = file.absolute()
    try:
        if not configuration.solr.embedded and into is None:
            with Solr(external_address(configuration, invocation.environment)) as solr:
                place = (str(file.parent), file.name)
                with progress("cores", in_bytes=False) as report:
                    if solr.cloud:
                        documents = collection_backup.restore(
                            solr, *place, overwrite=overwrite, report=report
                        )
                    else:
                        documents = core_backup.restore(
                            solr, CONF / "solr", *place, overwrite=overwrite, report=report
                        )
            where, created = solr.address.host, ""
        else:
            state = (into or configuration.navlin.state_directory).absolute()
            with progress("restore", in_bytes=True) as report:
                header = restore(file, state, overwrite=overwrite, report=report)
            where, documents = str(state), dict(header.documents)
            created = (
                datetime.fromtimestamp(header.created_ms / 1000).astimezone().isoformat(timespec="seconds")
            )
    except (IndexThere, collection_backup.CollectionsThere) as error:
        raise Failure(f"{error}: to replace it, add --overwrite", Exit.FAILED) from error
    except IndexInUse as error:
        raise Failure(str(error), Exit.BUSY) from error
    except (DamagedBackup, NewerBackup, NotCreated, collection_backup.NotBackedUp) as error:
        raise Failure(str(error), Exit.FAILED) from error
    except OSError as error:
        raise Failure(f"not restored: {error}", Exit.FAILED) from error
    if as_json:
        print_json({"into": where, "created": created, "documents": documents})
    else:
        counts = ", ".join(f"{core}: {counted(count, 'document')}" for core, count in documents.items())
        say(f"{where} has the index{f' of {created}' if created else ''}: {counts}")
