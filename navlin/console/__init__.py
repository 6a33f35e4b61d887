"""The web console: server-rendered pages, usable without a script as far as possible.

A page that lists the results of a question is declared together with the question (`navlin.questions`), and has a
template here. Every other page is a module here, named in `PAGES`, with a template that has the page's name.
"""

from __future__ import annotations

from typing import Final

from navlin.console import (
    details,
    edit,
    evidence,
    impact,
    inherited,
    lineage,
    purges,
    request,
    saved,
    search,
    sources,
    unused,
)
from navlin.console.lists import list_page
from navlin.console.page import ConsolePage
from navlin.questions import all_questions
from navlin.questions.declare.question import ListPage

PAGES: Final[tuple[ConsolePage, ...]] = (
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
    request.PAGE,
    *map(list_page, (each for each in all_questions() if isinstance(each.page, ListPage))),
    purges.PAGE,
    *request.JOBS,
)
"""All pages, in the order of the menu."""
