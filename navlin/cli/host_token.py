from __future__ import annotations

from typing import TYPE_CHECKING

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import print_json, say
from navlin.cli.token import validity_of
from navlin.cli.user import failures

if TYPE_CHECKING:
    from navlin.access.host_tokens import HostTokens


@click.group("host-token", short_help="Manage tokens of other hosts that send logs.")
def command() -> None:
    """Tokens of hosts that send their logs: with `navlin forward`, or lines with any program that ships logs.

    A host's token belongs to no user. It can append data of its host for its sources, and do nothing else.
    """


@command.command("add")
@click.argument("host")
@click.option(
    "--sources",
    required=True,
    metavar="NAMES",
    help="Sources to which it may send, comma-separated.",
)
@click.option(
    "--days", type=click.IntRange(1), default=None, help="Lifetime in days (default: never expires)."
)
@click.pass_obj
def add(invocation: Invocation, host: str, *, sources: str, days: int | None) -> None:
    """Create a token for HOST and print it. It is shown only this once.

    \b
    Examples:
      navlin host-token add coordinator1.example --sources IMPALA-1
      navlin host-token add edge1.example --sources SPARK-1,HIVESERVER2-1 --days 365
    """
    named = tuple(dict.fromkeys(each.strip() for each in sources.split(",") if each.strip()))
    receiving = [each.name for each in invocation.configuration().sources if each.registration.make.receives]
    if unknown := [each for each in named if each not in receiving]:
        able = ", ".join(receiving) or "none is configured"
        raise Failure(f"no source {unknown[0]} reads logs of other hosts; those that do: {able}", Exit.USAGE)
    with failures():
        secret = _tokens(invocation).add(host, named, invocation.now_ms(), days or 0)
    say(secret)


@command.command("list")
@json_option
@click.pass_obj
def list_tokens(invocation: Invocation, *, as_json: bool) -> None:
    """List the tokens of hosts, without their secrets."""
    with failures():
        tokens = sorted(_tokens(invocation).read().values(), key=lambda each: (each.host, each.created_ms))
    if as_json:
        print_json(
            [
                {
                    "id": each.id,
                    "host": each.host,
                    "sources": list(each.sources),
                    "created_ms": each.created_ms,
                    "expires_ms": each.expires_ms or None,
                }
                for each in tokens
            ]
        )
    else:
        for each in tokens:
            validity = validity_of(each.created_ms, each.expires_ms)
            say(f"{each.id}  {each.host:<32} {validity}  {', '.join(each.sources)}")
    raise SystemExit(Exit.OK if tokens else Exit.NOTHING)


@command.command("revoke")
@click.argument("token_id", metavar="ID")
@click.pass_obj
def revoke(invocation: Invocation, token_id: str) -> None:
    """Revoke the token ID, as listed."""
    with failures():
        _tokens(invocation).revoke(token_id)
    say(f"revoked: {token_id}")


def _tokens(invocation: Invocation) -> HostTokens:
    from navlin.access.host_tokens import HostTokens

    return HostTokens(invocation.configuration_without_sources().navlin.state_directory)
