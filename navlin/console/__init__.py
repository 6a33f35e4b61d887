"""The pages for people, in a browser: server-rendered, and usable without a script as far as possible.

A new page is one module here, named in `PAGES`, one template of its name, and one test.
"""

from __future__ import annotations

from typing import Final

from navlin.console import (
    details,
    edit,
    evidence,
    held,
    impact,
    incomplete,
    inherited,
    lineage,
    purge,
    purges,
    rejects,
    request,
    run,
    runs,
    saved,
    search,
    sources,
    unlinked,
    unused,
)
from navlin.console.page import Page

PAGES: Final[tuple[Page, ...]] = (
    search.PAGE,
    saved.PAGE,
    details.PAGE,
    lineage.PAGE,
    edit.PAGE,
    impact.PAGE,
    evidence.PAGE,
    inherited.PAGE,
    unused.PAGE,
    sources.PAGE,
    run.PAGE,
    request.PAGE,
    runs.PAGE,
    held.PAGE,
    unlinked.PAGE,
    incomplete.PAGE,
    rejects.PAGE,
    purges.PAGE,
    purge.PAGE,
)
"""In the order of the menu."""
