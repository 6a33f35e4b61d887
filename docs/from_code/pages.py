"""The parts that are generated, and the pages that contain them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

from docs.from_code import commands, fields, http_api, metrics, reasons, security, settings, versions

DOCS: Final = Path(__file__).parents[1]
PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "commands": commands.all_commands,
    "exit_codes": commands.exit_codes,
    "questions": commands.questions,
    "settings": settings.sections,
    "extractors": settings.extractors,
    "http_api": http_api.own_api,
    "host_api": http_api.host_api,
    "navigator_api": http_api.navigator_api,
    "index_fields": fields.index_fields,
    "metrics": metrics.all_metrics,
    "alerts": metrics.alerts,
    "rejects": reasons.rejects,
    "incomplete": reasons.incomplete,
    "unlinked": reasons.unlinked,
    "unparsed": reasons.unparsed,
    "versions": versions.tried,
    "security": security.promises,
}
"""Name in ``<!-- from code: NAME -->`` → function that returns the Markdown."""
_PART: Final = re.compile(r"^<!-- from code: (\w+) -->$", re.MULTILINE)


def pages() -> Iterator[Path]:
    """Yield the Markdown files of the manual."""
    yield from sorted(DOCS.rglob("*.md"))


def text_of(page: Path) -> str:
    """Return a page with all generated parts. Raises KeyError for an unknown part."""
    return _PART.sub(lambda found: PARTS[found[1]](), page.read_text(encoding="utf-8"))


def parts_in(page: Path) -> list[str]:
    """Return the names of the generated parts of a page."""
    return _PART.findall(page.read_text(encoding="utf-8"))


def write_sources(folder: Path) -> None:
    """Write all pages into a folder, with the files that Sphinx needs. Unchanged files keep their time, so that Sphinx
    builds only changed pages."""
    wanted = {page.relative_to(DOCS): text_of(page).encode() for page in pages()}
    for name in ("_static", "images"):
        wanted |= {each.relative_to(DOCS): each.read_bytes() for each in (DOCS / name).iterdir()}
    icon = DOCS.parent / "navlin" / "console" / "static" / "icon.svg"
    wanted[Path(icon.name)] = icon.read_bytes()
    configuration = (DOCS / "conf.py").read_text(encoding="utf-8")
    wanted[Path("conf.py")] = configuration.replace("MANUAL_VERSION", version("navlin")).encode()
    for each, data in wanted.items():
        target = folder / each
        if not target.is_file() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    for left in folder.rglob("*"):
        if left.is_file() and left.relative_to(folder) not in wanted:
            left.unlink()
