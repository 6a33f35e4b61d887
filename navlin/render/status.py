"""View of navlin's state: the JSON of ``navlin status`` as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from navlin.render.counts import count_lines
from navlin.render.text import clean, plain_table

SHOWN_REJECTS: Final = 5
SHOWN_POSITIONS: Final = 5
SHOWN_HOSTS: Final = 20
COLUMNS: Final = (
    "source",
    "extractor",
    "state",
    "last run",
    "duration",
    "lag",
    "next",
    "entities",
    "relations",
    "rejects",
)
_RIGHT: Final = frozenset({"duration", "lag", "next", "entities", "relations", "rejects"})
_POSITIONS: Final[Mapping[str, str]] = {
    "complete_ms": "last full listing",
    "finished_ms": "newest end of an application",
    "jobs finished_ms": "newest end of a job",
    "settled": "finished",
    "event id": "event",
}
"""Key of a position → words for people, where the key does not suffice."""
_COUNTED: Final = (
    ("unresolved relations", "unlinked", "relations", ("age", "reason")),
    ("views without complete lineage", "unparsed", "views", ("reason",)),
    ("incomplete operations", "incomplete", "operations", ("reason",)),
)
"""Tables of counts by reason: (title, key of the list in the status, key of the count, keys of the other columns)."""

Json = Mapping[str, Any]


def status_view(status: Json) -> RenderableType:
    """Return a view of the daemon, the sources as a table and in detail, and the counts by reason."""
    return Group(*_parts(status))


def _parts(status: Json) -> Iterator[RenderableType]:
    now_ms = status["now_ms"]
    yield from _daemon(status)
    table = plain_table(*COLUMNS, right=_RIGHT)
    for source in status["sources"]:
        table.add_row(*_row(source, now_ms))
    yield table
    for source in status["sources"]:
        if lines := list(_details(source, now_ms)):
            yield Text(clean(source["name"]), style="bold")
            yield from (Text("  " + clean(line)) for line in lines)
    for export in status["exports"]:
        yield Text(clean(_export(export, now_ms)), style="red" if export["failing"] else "")
    yield from (Text(clean(line), style=style) for line, style in host_lines(status))
    if purge := status["purge"]:
        ago = span(max(0, now_ms - purge["at_ms"]) / 1000)
        yield Text(clean(f"the daily purge of {ago} ago failed: {purge['reason']}"), style="red")
    elif at_ms := status["last_purge_ms"]:
        yield Text(f"last daily purge: {span(max(0, now_ms - at_ms) / 1000)} ago")
    for left in status["left"]:
        yield Text(f"{left['name']}: no longer configured; `navlin forget {left['name']}` flags what it left")
    for title, key, counted, words in _COUNTED:
        if status[key]:
            counts = Table(title=title, title_justify="left", box=None, pad_edge=False)
            counts.add_column(counted, justify="right")
            for word in words:
                counts.add_column("since" if word == "age" else word)
            for each in status[key]:
                # `Text` is not parsed as markup; a reason may quote a parser.
                counts.add_row(f"{each[counted]:,}", *(Text(each[word]) for word in words))
            yield counts


def _daemon(status: Json) -> Iterator[RenderableType]:
    daemon, space = status["daemon"], status["space"]
    if daemon is None:
        yield Text("navlin serve: not running here")
    else:
        since = span((status["now_ms"] - daemon["since_ms"]) / 1000)
        yield Text(f"navlin serve: running for {since}, process {daemon['pid']}")
        if jump_ms := daemon["clock_jump_ms"]:
            yield Text(
                f"this machine's clock jumped by {span(abs(jump_ms) / 1000)}: sources without a clock of their own are not"
                " pulled; if the clock is right now: systemctl reload navlin"
            )
    if status["web_addresses"]:
        yield Text(f"over HTTP: {', '.join(status['web_addresses'])}")
    if space["short"]:
        yield Text(f"no space: {space['text']}", style="red")


def _row(source: Json, now_ms: int) -> list[str | Text]:
    last, index = source["last"], source["index"]
    due = "" if source["due_s"] is None else "in " + span(max(0.0, source["due_s"] - now_ms / 1000))
    return [
        Text(clean(source["name"])),
        f"{source['extractor']} ({source['mode']})",
        Text(source["state"], style="red" if source["failing"] else ""),
        span((now_ms - last["started_ms"]) / 1000) + " ago" if last else "",
        span((last["ended_ms"] - last["started_ms"]) / 1000) if last and last["ended_ms"] else "",
        span(source["lag_s"]) if source["lag_s"] is not None else "",
        due,
        f"{index['entities']:,}",
        f"{index['relations']:,}",
        f"{index['reject_count']:,}" if index["reject_count"] else "",
    ]


def _export(export: Json, now_ms: int) -> str:
    said = f"export {export['name']} ({export['target']}): "
    if export["lag_s"] is None:
        said += "nothing sent yet"
    elif not export["lag_s"]:
        said += "up to date"
    else:
        said += f"last sent {span((now_ms - export['ended_ms']) / 1000)} ago"
    if export["refused"]:
        said += f"; {export['refused']:,} refused, see the log"
    return said + (f"; error: {export['error']}" if export["error"] else "")


def host_lines(status: Json) -> Iterator[tuple[str, str]]:
    """Yield a line about all hosts that send their logs, and one for each of the first that need attention; each with
    its style."""
    now_ms, hosts = status["now_ms"], status["hosts"]
    if hosts:
        behind, kept = (sum(each[name] for each in hosts) for name in ("behind_bytes", "bytes"))
        yield f"other hosts: {len(hosts):,}, {behind:,} bytes still to be sent, {kept:,} bytes kept here", ""
    concerned = [each for each in hosts if each["concern"]]
    for each in concerned[:SHOWN_HOSTS]:
        last = f"{span(max(0, now_ms - each['last_ms']) / 1000)} ago" if each["last_ms"] else "never"
        yield f"host {each['host']}: {each['concern']}; last heard of {last}", "red"
    if (more := len(concerned) - SHOWN_HOSTS) > 0:
        yield f"{more:,} more hosts need attention", "red"


def _details(source: Json, now_ms: int) -> Iterator[str]:
    last, index = source["last"], source["index"]
    if source["error"]:
        yield f"error: {source['error']}"
    if source["holder"]:
        yield f"lease: {source['holder']}"
    if source["held"]:
        accept = f"navlin extract {source['name']} --accept-loss '{source['held']}'"
        yield f"held: a run would have flagged too many entities deleted; to accept that: {accept}"
    if last is not None:
        if last["note"]:
            yield f"note: {last['note']}"
        if counts := ", ".join(count_lines(last["counts"])):
            yield f"last run: {counts}"
    yield from backing_off(index, now_ms)
    if index["position_count"]:
        yield f"position: {positions(index, now_ms)}"
    for reject in index["rejects"][:SHOWN_REJECTS]:
        where = f"{reject['place']}:{reject['offset']}" if reject["offset"] >= 0 else reject["place"]
        several = f" (counts as {reject['count']:,})" if reject["count"] > 1 else ""
        yield f"reject: {where}: {reject['reason']}{several}"


def backing_off(index: Json, now_ms: int) -> Iterator[str]:
    """Yield a line for each of the first files or other splits that failed, with the error and the time until the next
    try."""
    first = list(index["held_back"].items())[:SHOWN_REJECTS]
    for name, value in first:
        failed = "failed once" if value["times"] == 1 else f"failed {value['times']:,} times"
        again = span(max(0, value["until_ms"] - now_ms) / 1000)
        yield f"not read: {name}, {failed}, again in {again}: {value['error']}"
    if more := index["held_back_count"] - len(first):
        yield f"not read: {more:,} more"


def positions(index: Json, now_ms: int) -> str:
    """Describe how far a source was read: the first positions, and the number of others."""
    first = list(index["positions"].items())[:SHOWN_POSITIONS]
    # A digest means nothing to people.
    shown = [_position(key, value, now_ms) for key, value in first if not key.endswith("digest")]
    more = index["position_count"] - len(first)
    return "; ".join(shown) + (f"; and {more:,} more" if more else "")


def _position(key: str, value: object, now_ms: int) -> str:
    """Describe a position (see `navlin.model.records.Position`) in words."""
    match value:
        case {"once": list(once), "most": int(most)}:
            missed = f", the last one missed {len(once):,} places" if once else ""
            return f"full listings had up to {most:,} entities in the last week{missed}"
        case {"offset": int(offset), "size": int(size), **more} if size >= 0:
            return f"{more.get('path', key)} at byte {offset:,} of {size:,}"
        case {"offset": int(offset), **more}:
            return f"{more.get('path', key)} at byte {offset:,}"
        case {"size": int(size)}:
            return f"{key}, {size:,} bytes" if size >= 0 else f"{key}, read in part"
        case int(at_ms) if key.endswith("_ms"):
            words = _POSITIONS.get(key, key.removesuffix("_ms"))
            return f"{words} {span(max(0, now_ms - at_ms) / 1000)} ago" if at_ms > 0 else f"{words}: never"
        case int(number):
            return f"{_POSITIONS.get(key, key)} {number:,}"
        case list() | dict():
            return f"{len(value):,} {_POSITIONS.get(key, key)}"
    return f"{key} {value}"


def span(seconds: float) -> str:
    """Format a duration for people: ``4.2 s``, ``3 min``, ``7 h``, ``12 days``."""
    for limit_s, unit_s, unit in ((10, 1, "s"), (120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit_s:
            return f"{seconds / unit_s:.{1 if limit_s == 10 else 0}f} {unit}"
    return f"{seconds / 86_400:.0f} days"
