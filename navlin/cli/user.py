from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from navlin.access.roles import ROLES, Role
from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import ask_password, print_json, say

if TYPE_CHECKING:
    from navlin.access.store import AccessFile

_C = TypeVar("_C", bound=Callable[..., Any])


@click.group("user", short_help="Manage API users.")
def command() -> None:
    """Manage users of navlin's API, who may query, write on entities, and request runs.

    Roles: lineage-viewer queries; metadata-administrator also writes on entities; administrator also requests runs and
    purges, and ends the sessions of others. The first start creates admin; this command creates all other users, on the
    machine of the index. Users of a directory ([ldap]) and of a proxy are not in its list. A change takes effect with the
    next request.
    """


def _password_option(decorated: _C) -> _C:
    return click.option(
        "--password-file",
        type=click.Path(path_type=Path, allow_dash=True, dir_okay=False),
        help="A file with the password and nothing else, - for standard input. Without it, navlin asks.",
    )(decorated)


@command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(list(ROLES)), default=Role.LINEAGE_VIEWER.words, show_default=True)
@_password_option
@click.pass_obj
def add(invocation: Invocation, name: str, *, role: str, password_file: Path | None) -> None:
    """Create the user NAME.

    \b
    Examples:
      navlin user add ann
      navlin user add ann --role metadata-administrator --password-file ann.password
    """
    with failures():
        access_file(invocation).add_user(name, ROLES[role], _password(password_file))
    say(f"made: {name}, {role}")


@command.command("list")
@json_option
@click.pass_obj
def list_users(invocation: Invocation, *, as_json: bool) -> None:
    """List the users."""
    with failures():
        users = sorted(access_file(invocation).read().users.values(), key=lambda user: user.name)
    if as_json:
        print_json([{"name": user.name, "role": user.role.words} for user in users])
    else:
        for user in users:
            say(f"{user.name:<24} {user.role.words}")
    raise SystemExit(Exit.OK if users else Exit.NOTHING)


@command.command("remove")
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Remove the user NAME and the tokens of that user."""
    with failures():
        access_file(invocation).remove_user(name)
    say(f"removed: {name}")


@command.command("logout")
@click.argument("name")
@click.pass_obj
def log_out(invocation: Invocation, name: str) -> None:
    """End every session of NAME. Browsers have to log in again.

    The password and tokens remain valid: see `navlin user password`, `navlin token revoke`.

    \b
    Example:
      navlin user logout ann
    """
    from navlin.access.sessions import Sessions
    from navlin.model.plurals import counted

    configuration = invocation.configuration_without_sources()
    state, web = configuration.navlin.state_directory, configuration.web
    with failures():
        sessions = Sessions(state, web.session_idle_s, web.session_lifetime_s, invocation.now_ms)
        ended = sessions.end_all(name)
    say(f"ended: {counted(ended, 'session')} of {name}")


@command.command("password")
@click.argument("name")
@_password_option
@click.pass_obj
def password(invocation: Invocation, name: str, *, password_file: Path | None) -> None:
    """Change the password of NAME."""
    with failures():
        access_file(invocation).set_password(name, _password(password_file))
    say(f"changed: the password of {name}")


@command.command("role")
@click.argument("name")
@click.argument("role", type=click.Choice(list(ROLES)))
@click.pass_obj
def set_role(invocation: Invocation, name: str, role: str) -> None:
    """Change the role of NAME to ROLE."""
    with failures():
        access_file(invocation).set_role(name, ROLES[role])
    say(f"changed: {name}, {role}")


def access_file(invocation: Invocation) -> AccessFile:
    from navlin.access.store import AccessFile

    return AccessFile(invocation.configuration_without_sources().navlin.state_directory)


@contextmanager
def failures() -> Iterator[None]:
    """Raise `Failure` if a change of users or tokens cannot be made."""
    from navlin.access.passwords import UnusablePassword
    from navlin.access.store import AccessError

    try:
        yield
    except (AccessError, UnusablePassword, OSError) as error:
        raise Failure(str(error), Exit.FAILED) from error


def _password(file: Path | None) -> str:
    if file is None:
        return ask_password()
    text = sys.stdin.read() if str(file) == "-" else file.read_text()
    return text.rstrip("\r\n")
