"""An index that navlin made before it recorded a schema version, stored in ``tests/data/index-1``."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner

from navlin.cli import main
from navlin.index.admin.cores import CORES
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.pipeline_estate import unstamped

KEPT: Final = Path(__file__).parents[1] / "data" / "index-1"
CONFIGURATION: Final = KEPT / "conf"
"""The ``conf/solr`` shipped with that navlin."""
ANSWERS: Final = KEPT / "answers.json"
QUESTIONS: Final = (
    "lineage shop.board_report",
    "lineage shop.board_report.revenue --columns",
    "lineage /exports/revenue --operations",
    "lineage shop.board_report --unlinked --deleted",
    "lineage sales.daily --operations --control-flow",
    "lineage web.carts --columns",
    "search type:TABLE --limit 100",
    "search clicks --filter type:*",
    "search up_owner:ann",
    "search cp_finance.class:public",
    "search deleted:true --limit 100",
    "search queryText:revenue",
    "show shop.order_facts",
    "show sales.patrons",
    "show /exports",
)
"""Queries as arguments of ``navlin``; ``answers.json`` has the old navlin's answers. Two things have changed since: a
location reported by two sources gives one relation, and sub-operations and executions are left out of results unless
the query names a type.
"""
Index = dict[tuple[str, str], dict[str, Any]]
CORES_OF_THEN: Final = (ELEMENTS, RELATIONS, RUNS)


def kept(core: str) -> list[dict[str, Any]]:
    """Return the stored documents of a core; none for a core that did not exist then."""
    if core not in CORES_OF_THEN:
        return []
    with gzip.open(KEPT / f"{core}.jsonl.gz", "rb") as lines:
        return [json.loads(line) for line in lines]


def fill(solr: Solr) -> None:
    for core in CORES_OF_THEN:
        assert not solr.add(core, kept(core)).refused
        solr.commit(core, soft=False)


def make_old_home(state: Path, jars: Path) -> None:
    """Make a state directory as the old navlin left it."""
    cache = jars.parent / "solr-launcher"
    with (
        EmbeddedSolr(state, jars, CONFIGURATION, cores=CORES_OF_THEN, cache=cache) as server,
        Solr(server.address) as solr,
    ):
        fill(solr)
    # The old navlin did not record a configset.
    (state / "solr" / "configset").unlink()


def answers(solr: Solr, folder: Path) -> dict[str, Any]:
    """Return the current answers to `QUESTIONS`."""
    assert solr.address.password is not None
    (folder / "password").write_text(solr.address.password + "\n")
    file = folder / "asking.toml"
    file.write_text(
        f'[navlin]\ncluster = "frozen"\nstate_directory = "{folder}"\n'
        f'[solr]\nurl = "{solr.address.url}"\nuser = "{solr.address.user}"\npassword_file = "password"\n'
    )
    found = {}
    for question in QUESTIONS:
        asked = CliRunner().invoke(main, ["--config", str(file), *question.split(), "--json"])
        assert asked.exit_code == 0, f"{question}: {asked.output}"
        found[question] = _ESSENCE[question.split()[0]](json.loads(asked.stdout))
    return found


def _graph(answer: dict[str, Any]) -> dict[str, Any]:
    names = {node["id"]: node["name"] for node in answer["nodes"]}
    flags = ("incomplete", "inferred", "parsed")
    return {
        "nodes": sorted(
            f"{node['id']} {node['name']}{' deleted' * node['deleted']}" for node in answer["nodes"]
        ),
        "edges": sorted(
            f"{names[edge['source']]} {edge['type']} {names[edge['target']]} "
            + " ".join(flag for flag in flags if edge[flag])
            for edge in answer["edges"]
        ),
        "truncated": answer["truncated"],
        "unlinked": answer["unlinked"],
    }


def _listed(answer: dict[str, Any]) -> dict[str, Any]:
    return {"total": answer["total"], "ids": sorted(each["identity"] for each in answer["results"])}


def _shown(answer: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: answer[name] for name in ("id", "name", "type", "deleted")},
        "people": answer["fields"]["people"],
        "executions": answer["executions"]["count"],
        "relations": sorted(
            [each["type"], each["direction"], each["count"], sorted(end["id"] for end in each["listed"])]
            for each in answer["relations"]
        ),
    }


_ESSENCE: Final = {"lineage": _graph, "search": _listed, "show": _shown}


def unstamped_index(solr: Solr) -> Index:
    """Map (core, id) to each element and relation, without navlin's own stamps."""
    return {
        (core, document["identity"]): unstamped(document)
        for core in (ELEMENTS, RELATIONS)
        for document in solr.cursor(core, "*:*", "*")
    }


def everything(solr: Solr) -> Index:
    """Map (core, id) to each document of all cores, except transient documents."""
    return {
        (core, document["identity"]): {name: value for name, value in document.items() if name != "_version_"}
        for core in CORES
        for document in solr.cursor(core, "*:*", "*")
        if document.get("kind") not in ("schema", "lease", "upgrade")
    }
