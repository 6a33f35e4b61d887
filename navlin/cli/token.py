from __future__ import annotations

from datetime import datetime

import click

from navlin.access.roles import ROLES
from navlin.cli.invocation import Exit, Invocation, json_option
from navlin.cli.terminal import print_json, say
from navlin.cli.user import access_file, failures


@click.group("token", short_help="Manage API tokens.")
def command() -> None:
    """Tokens for programs, sent as `Authorization: Bearer TOKEN`. Each belongs to a user and is removed with that user."""


@command.command("add")
@click.argument("user")
@click.option("--for", "purpose", default="", metavar="TEXT", help="What it is for; shown in the list.")
@click.option(
    "--role",
    type=click.Choice(list(ROLES)),
    default=None,
    help="A lower role than the user's.",
)
@click.option(
    "--days", type=click.IntRange(1), default=None, help="Lifetime in days (default: never expires)."
)
@click.pass_obj
def add(invocation: Invocation, user: str, *, purpose: str, role: str | None, days: int | None) -> None:
    """Create a token for USER and print it. It is shown only this once.

    \b
    Examples:
      navlin token add ann
      navlin token add ann --for grafana --role lineage-viewer --days 365
    """
    with failures():
        secret = access_file(invocation).add_token(
            user, purpose, ROLES[role] if role else None, invocation.now_ms(), days or 0
        )
    say(secret)


@command.command("list")
@json_option
@click.pass_obj
def list_tokens(invocation: Invocation, *, as_json: bool) -> None:
    """List the tokens, without their secrets."""
    with failures():
        tokens = sorted(access_file(invocation).read().tokens.values(), key=lambda token: token.created_ms)
    if as_json:
        print_json(
            [
                {
                    "id": each.id,
                    "user": each.user,
                    "role": each.role.words,
                    "for": each.purpose,
                    "created_ms": each.created_ms,
                    "expires_ms": each.expires_ms or None,
                }
                for each in tokens
            ]
        )
    else:
        for each in tokens:
            validity = validity_of(each.created_ms, each.expires_ms)
            say(f"{each.id}  {each.user:<24} {each.role.words:<22} {validity}  {each.purpose}")
    raise SystemExit(Exit.OK if tokens else Exit.NOTHING)


@command.command("revoke")
@click.argument("token_id", metavar="ID")
@click.pass_obj
def revoke(invocation: Invocation, token_id: str) -> None:
    """Revoke the token ID, as listed."""
    with failures():
        access_file(invocation).revoke_token(token_id)
    say(f"revoked: {token_id}")


def validity_of(created_ms: int, expires_ms: int) -> str:
    """Return the days from and until which a token is valid, in words. ``expires_ms`` is 0 if it never expires."""
    until = f"until {_day(expires_ms)}" if expires_ms else "for ever"
    return f"since {_day(created_ms)}, {until}"


def _day(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000).astimezone():%Y-%m-%d}"
