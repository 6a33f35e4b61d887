"""Searches as users type them, each with the results expected first, on one estate (``tests/data/judged``)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from navlin.index.solr.solr import Solr
from navlin.query.finding import find_for_people
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.judged_estate import FOLDER, JudgedEstate

JUDGED = [
    each
    for file in ("search.json", "search_unseen.json")
    for each in json.loads((FOLDER / file).read_text(encoding="utf-8"))
]
"""Expected results by search. The searches in ``search_unseen.json`` were unknown to the developers of the search."""


@pytest.fixture(scope="module")
def estate(solr_server: EmbeddedSolr) -> JudgedEstate:
    return JudgedEstate(Solr(solr_server.start()), "judged")


@pytest.mark.parametrize("judged", JUDGED, ids=[each["question"] for each in JUDGED])
def test_the_intended_result_ranks_first(estate: JudgedEstate, judged: dict[str, Any]) -> None:
    mine = "{!terms f=srcId}" + ",".join(source.id for source in estate.sources.values())
    wanted = estate.id_of(judged["first"]["ref"])

    found = find_for_people(estate.solr, judged["question"], filters=[mine], limit=10)

    listed = [document["identity"] for document in found.documents]
    shown = [(each["type"], each.get("parentPath"), each["originalName"][:60]) for each in found.documents]
    assert wanted in listed[: judged["within"]], shown
