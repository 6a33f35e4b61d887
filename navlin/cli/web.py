from __future__ import annotations

import os
from typing import Final

import click

from navlin.cli.invocation import Exit, Failure, Invocation

NICENESS: Final = 10


@click.command("web", short_help="Serve the API and console without extracting.")
@click.option(
    "--child", type=int, hidden=True, help="End with standard input; answer at this descriptor of a socket."
)
@click.pass_obj
def command(invocation: Invocation, *, child: int | None) -> None:
    """Serve navlin's API over HTTP, for users with a password, browsers that log in, and programs with a token.

    `navlin serve` does this too. Alone, it serves an index that another navlin writes, or any Solr of your own; any
    number may run in parallel. The first start creates the user `admin`, with a password in administrator.password of the
    state directory. Address, port, TLS and sessions are in [web] of the configuration, a directory of users in [ldap].

    \b
    Examples:
      navlin web
      curl -u admin http://127.0.0.1:7187/api/navlin/v1/search?query=orders
    """
    from navlin.access.store import AccessError
    from navlin.service.daemon.listening import NoPort, inherited, listen
    from navlin.service.daemon.web import answer, make_first_user, service_of, standard_input_ends
    from navlin.service.logs import configure_logs

    configuration = invocation.configuration()
    configure_logs(configuration.log)
    try:
        make_first_user(configuration.navlin.state_directory)
        listening = listen(configuration.web) if child is None else inherited(configuration.web, child)
    except (NoPort, AccessError, OSError) as error:
        raise Failure(str(error), Exit.FAILED) from error
    service = service_of(configuration, invocation.environment)
    state = configuration.navlin.state_directory
    if child is not None:
        # If processors are scarce, extraction takes precedence over queries.
        os.nice(NICENESS)
    ended = None if child is None else standard_input_ends
    answer(service, listening, configuration.web, state, ended=ended)
