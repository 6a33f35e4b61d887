"""``navlin status``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from navlin.service.status import Overall, SourceStatus

SHOWN_REJECTS = 5
SHOWN_POSITIONS = 5


@click.command("status", short_help="How each source is, and what stays unlinked.")
@json_option
@click.pass_obj
def command(invocation: Invocation, *, as_json: bool) -> None:
    """Each source's last run, position, lag, errors, rejects and held runs; unlinked relations by reason and age; views
    whose text does not parse.

    Lag is how old what the index says of a source may be. The exit code is 1 if a source's last run failed, if one is
    held or if there is no space, so that a monitor may call it.

    \b
    Examples:
      navlin status
      navlin status --json | jq '.sources[] | {name, state, lag_s}'
    """
    from navlin.service.disk_space import space
    from navlin.service.status import status
    from navlin.solr_server.embedded import NoSolr

    configuration = invocation.configuration()
    state, least_free_bytes = configuration.navlin.state_directory, configuration.navlin.least_free_bytes
    try:
        with invocation.solr(configuration) as solr:
            sources = invocation.configured_sources(configuration, solr)
            overall = status(solr, sources, state, least_free_bytes, invocation.now_ms())
    except (NoSolr, OSError) as error:
        # `navlin serve` may be waiting for room, and no Solr can be started for this question.
        if not (left := space(state, least_free_bytes)).short:
            raise
        raise Failure(f"no space: {left}. Solr does not start: {error}", Exit.FAILED) from error
    if as_json:
        print_json(overall.as_json())
    else:
        _print(overall, console())
    raise SystemExit(Exit.FAILED if overall.failing or overall.space.short else Exit.OK)


def _print(overall: Overall, out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if overall.daemon is None:
        out.print("navlin serve: not running here")
    else:
        since = span((overall.now_ms - overall.daemon.since_ms) / 1000)
        out.print(f"navlin serve: running for {since}, process {overall.daemon.pid}")
        if jump_ms := overall.daemon.clock_jump_ms:
            out.print(
                f"this machine's clock jumped by {span(abs(jump_ms) / 1000)}: sources without a clock of their own are not"
                " pulled; if it is right now: systemctl reload navlin",
                markup=False,
            )
    if overall.web:
        out.print(f"over HTTP: {overall.web}", markup=False)
    if overall.space.short:
        out.print(f"no space: {overall.space}", style="red", markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for column in (
        "source",
        "extractor",
        "state",
        "last run",
        "took",
        "lag",
        "next",
        "entities",
        "relations",
        "rejects",
    ):
        right = column in ("took", "lag", "next", "entities", "relations", "rejects")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for source in overall.sources:
        table.add_row(*_row(source, overall.now_ms))
    out.print(table)
    for source in overall.sources:
        _print_details(source, overall.now_ms, out)
    for left in overall.left:
        out.print(
            f"{left.name}: not configured any more; `navlin forget {left.name}` flags what it left",
            markup=False,
        )
    if overall.unlinked:
        unlinked = Table(title="unlinked relations", title_justify="left", box=None, pad_edge=False)
        unlinked.add_column("relations", justify="right")
        unlinked.add_column("since")
        unlinked.add_column("reason")
        for each in overall.unlinked:
            unlinked.add_row(f"{each.relations:,}", each.age, each.reason)
        out.print(unlinked)
    if overall.unparsed:
        unparsed = Table(
            title="views whose text does not tell all", title_justify="left", box=None, pad_edge=False
        )
        unparsed.add_column("views", justify="right")
        unparsed.add_column("reason")
        for why in overall.unparsed:
            # Not markup: the reason may quote the parser.
            unparsed.add_row(f"{why.views:,}", Text(why.reason))
        out.print(unparsed)
    if overall.incomplete:
        incomplete = Table(
            title="operations of which something is not known", title_justify="left", box=None, pad_edge=False
        )
        incomplete.add_column("operations", justify="right")
        incomplete.add_column("reason")
        for each_reason in overall.incomplete:
            incomplete.add_row(f"{each_reason.operations:,}", Text(each_reason.reason))
        out.print(incomplete)


def _row(source: SourceStatus, now_ms: int) -> list[str]:
    last = source.last
    due = "" if source.due_s is None else "in " + span(max(0.0, source.due_s - now_ms / 1000))
    return [
        source.name,
        f"{source.extractor} ({source.mode})",
        f"[red]{source.state}[/]" if source.failing else source.state,
        span((now_ms - last.started_ms) / 1000) + " ago" if last else "",
        span((last.ended_ms - last.started_ms) / 1000) if last and last.ended_ms else "",
        span(source.lag_s) if source.lag_s is not None else "",
        due,
        f"{source.index.entities:,}",
        f"{source.index.relations:,}",
        f"{source.index.reject_count:,}" if source.index.reject_count else "",
    ]


def _print_details(source: SourceStatus, now_ms: int, out: Console) -> None:
    from navlin.render.counts import count_lines
    from navlin.render.text import clean

    lines = []
    if source.error:
        lines.append(f"error: {source.error}")
    if source.holder:
        lines.append(f"lease: {source.holder}")
    if source.held:
        accept = f"navlin extract {source.name} --accept-loss '{source.held}'"
        lines.append(f"held: a run would have flagged too much deleted; if that is right: {accept}")
    if source.last is not None:
        if source.last.note:
            lines.append(f"note: {source.last.note}")
        if counts := ", ".join(count_lines(source.last.counts.counted())):
            lines.append(f"last run: {counts}")
        lines.extend(f"not read: {failure}" for failure in source.last.failures[:SHOWN_REJECTS])
    if source.index.position_count:
        lines.append(f"position: {_positions(source, now_ms)}")
    for reject in source.index.rejects[:SHOWN_REJECTS]:
        where = f"{reject.place}:{reject.offset}" if reject.offset >= 0 else reject.place
        several = f" (counts as {reject.count:,})" if reject.count > 1 else ""
        lines.append(f"reject: {where}: {reject.reason}{several}")
    if lines:
        out.print(source.name, style="bold", markup=False)
        for line in lines:
            out.print("  " + clean(line), markup=False, soft_wrap=True)


def _positions(source: SourceStatus, now_ms: int) -> str:
    positions = list(source.index.positions.items())[:SHOWN_POSITIONS]
    shown = [_position(key, value, now_ms) for key, value in positions]
    more = source.index.position_count - len(shown)
    return "; ".join(shown) + (f"; and {more:,} more" if more else "")


def _position(key: str, value: object, now_ms: int) -> str:
    """What a person reads of a position, see `navlin.model.records.Position`."""
    match value:
        case {"times": int(times), "until_ms": int(until_ms), "error": str(error)}:
            failed = "failed once" if times == 1 else f"failed {times:,} times"
            return f"{key}, {failed}, again in {span(max(0, until_ms - now_ms) / 1000)}: {error}"
        case {"once": list(once), "most": int(most)}:
            missed = f", the last one missed {len(once):,} places" if once else ""
            return f"full listings of the last week had up to {most:,} entities{missed}"
        case {"offset": int(offset), "size": int(size), **more} if size >= 0:
            return f"{more.get('path', key)} at byte {offset:,} of {size:,}"
        case {"offset": int(offset), **more}:
            return f"{more.get('path', key)} at byte {offset:,}"
        case {"size": int(size)}:
            return f"{key}, {size:,} bytes" if size >= 0 else f"{key}, read in part"
        case int(at_ms) if key.endswith("_ms") and at_ms <= 0:
            return f"{key.removesuffix('_ms')} never"
        case int(at_ms) if key.endswith("_ms"):
            return f"{key.removesuffix('_ms')} {span(max(0, now_ms - at_ms) / 1000)} ago"
        case int(number):
            return f"{key} {number:,}"
        case list() | dict():
            return f"{key} {len(value):,}"
    return f"{key} {value}"


def span(seconds: float) -> str:
    """A length of time in the words of a person: ``4.2 s``, ``3 min``, ``7 h``, ``12 days``."""
    for limit_s, unit_s, unit in ((10, 1, "s"), (120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit_s:
            return f"{seconds / unit_s:.{1 if limit_s == 10 else 0}f} {unit}"
    return f"{seconds / 86_400:.0f} days"
