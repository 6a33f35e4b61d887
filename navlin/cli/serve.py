from __future__ import annotations

import os
import sys
import threading

import click

from navlin.cli.invocation import Exit, Invocation


@click.command("serve")
@click.pass_obj
def command(invocation: Invocation) -> None:
    """Run all sources when they are due, until told to stop.

    SIGTERM and SIGINT (Ctrl-C) finish the current writes and end; SIGHUP reloads the configuration.

    \b
    Examples:
      navlin serve
      navlin --config ./navlin.toml serve
    """
    import structlog

    from navlin.index.admin.cores import NotCreated
    from navlin.index.admin.schema import UnusableIndex
    from navlin.index.solr.solr import SolrError
    from navlin.java import NoJava
    from navlin.pipeline.spark_jvm import NoSpark
    from navlin.service.daemon.daemon import Daemon, SparkDied
    from navlin.service.loader import SharedIdentity
    from navlin.service.logs import configure_logs
    from navlin.solr_server.embedded import NoSolr, StateInUse

    configuration = invocation.configuration()
    configure_logs(configuration.log)
    log = structlog.stdlib.get_logger(__name__)
    daemon = Daemon(configuration, invocation.configuration, environment=invocation.environment)
    daemon.handle_signals()
    code = Exit.OK
    try:
        daemon.run()
    except (
        NoSolr,
        NoJava,
        NoSpark,
        SolrError,
        NotCreated,
        UnusableIndex,
        SharedIdentity,
        SparkDied,
    ) as error:
        log.error("navlin failed", error=str(error))
        code = Exit.BUSY if isinstance(error, StateInUse) else Exit.FAILED
    if any(
        thread is not threading.current_thread() and not thread.daemon for thread in threading.enumerate()
    ):
        # A run that hangs in a connection would keep the process from exiting. All writes of such a run are repeated at
        # the next start.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
