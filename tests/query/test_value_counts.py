"""``navlin count`` and ``/count``: numbers of results by field values, against an independent count."""

from __future__ import annotations

import csv
import io
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import Result

from navlin.api.own import ROOT
from navlin.cli.invocation import Exit
from navlin.index.schema.fields import ELEMENTS
from navlin.index.search import counting
from navlin.index.solr.solr import Solr
from navlin.query.scanner import QueryError
from navlin.query.value_counts import ValueCounts, count_values
from tests.cli.test_cli import configuration, json_of, run
from tests.support.web import Web

Navlin = Callable[..., Result]
Document = dict[str, Any]
OWNERS = [f"o{number:02}" for number in range(40)]


def documents(name: str, count: int, *, seed: int = 7) -> list[Document]:
    """Files with few types and many owners. Some lack an owner or a date, and some have several tags."""
    rng = random.Random(seed)
    made: list[Document] = []
    for number in range(count):
        document: Document = {
            "identity": f"{rng.getrandbits(128):032x}",
            "sourceId": name,
            "type": rng.choice(["FILE", "FILE", "DIRECTORY"]),
            "sourceType": rng.choice(["HDFS", "S3"]),
            "size": rng.randrange(4_000),
            "originalName": f"n{number}",
        }
        if rng.random() < 0.9:
            document["owner"] = rng.choice(OWNERS[: rng.randrange(1, 41)])
        if rng.random() < 0.8:
            document["created"] = (
                f"20{rng.randrange(24, 26)}-{rng.randrange(1, 13):02}-28T23:59:59.{number % 1000:03}Z"
            )
        if rng.random() < 0.3:
            document["tags"] = rng.sample(["a", "b", "c"], 2)
        made.append(document)
    return made


@pytest.fixture
def estate(solr: Solr) -> Iterator[tuple[str, list[Document]]]:
    name = f"counted{uuid4().hex[:8]}"
    made = documents(name, 400)
    solr.add(ELEMENTS, made)
    solr.commit(ELEMENTS, soft=True)
    yield name, made
    solr.delete_ids(ELEMENTS, [each["identity"] for each in made])


@pytest.fixture
def navlin(solr: Solr, tmp_path: Path) -> Navlin:
    file = configuration(solr, tmp_path)
    return lambda *arguments: run(file, *arguments)


def values(document: Document, field: str) -> list[Any]:
    name, _, step = field.partition(":")
    value = document.get(name)
    if value is None:
        return [None]
    if step in ("year", "month", "day"):
        return [str(value)[: {"year": 4, "month": 7, "day": 10}[step]]]
    if step:
        return [value // int(step) * int(step)]
    return value if isinstance(value, list) else [value]


def by_hand(made: list[Document], fields: list[str]) -> Counter[tuple[Any, ...]]:
    """Count documents by each combination of values, and by each prefix of the combinations."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for document in made:
        combined: list[tuple[Any, ...]] = [()]
        for field in fields:
            combined = [(*each, value) for each in combined for value in values(document, field)]
            counts.update(combined)
    return counts


def counted(answer: dict[str, Any], above: tuple[Any, ...] = ()) -> Counter[tuple[Any, ...]]:
    counts: Counter[tuple[Any, ...]] = Counter()
    for each in answer["counts"]:
        counts[*above, each["value"]] = each["count"]
        if "counts" in each:
            counts += counted(each, (*above, each["value"]))
    return counts


BY = [
    ["type"],
    ["sourceType", "type"],
    ["type", "owner"],
    ["owner", "sourceType", "type"],
    ["tags", "type"],
    ["created:month"],
    ["created:year", "owner"],
    ["type", "created:month", "sourceType"],
    ["size:1000", "type"],
    ["sourceType", "size:500"],
    ["size"],
    ["description", "type"],
]


@pytest.mark.parametrize("fields", BY, ids=",".join)
def test_counts_equal_an_independent_count(
    solr: Solr, estate: tuple[str, list[Document]], fields: list[str]
) -> None:
    name, made = estate
    most = 10_000 if len(fields) == 1 else 45
    answer = count_values(solr, f"sourceId:{name}", [",".join(fields)], values=most)

    assert counted(answer.to_json()) == by_hand(made, fields)
    assert (answer.counted.total, answer.cut, answer.counted.exact) == (400, False, True)


def test_values_are_sorted_by_frequency_and_ranges_by_order(
    solr: Solr, estate: tuple[str, list[Document]]
) -> None:
    name, _ = estate
    owners = count_values(solr, f"sourceId:{name}", ["owner"], values=100).counted.counts.counts
    frequencies = [each.count for each in owners if each.value is not None]
    assert frequencies == sorted(frequencies, reverse=True)
    assert owners[-1].value is None, "what has none stands last"
    months = count_values(solr, f"sourceId:{name}", ["created:month"]).counted.counts.counts
    named = [each.value for each in months[:-1]]
    assert named == sorted(map(str, named))


def test_omitted_values_are_reported(navlin: Navlin, estate: tuple[str, list[Document]]) -> None:
    name, made = estate
    asked = ("count", f"sourceId:{name}", "--by", "type,owner", "--values", "3")
    answer = json_of(navlin(*asked, "--json"))
    assert answer["truncated"]
    owners = {each.get("owner") for each in made if each["type"] == "DIRECTORY"} - {None}
    (directories,) = (each for each in answer["counts"] if each["value"] == "DIRECTORY")
    assert directories["more"] == len(owners) - 3
    assert len(directories["counts"]) == 4, "three, and those without an owner"

    printed = navlin(*asked).stdout
    assert f"… {len(owners) - 3} more" in printed
    assert "at most 3 values of a field are shown" in printed
    assert "400 in all" in printed
    assert "(none)" in printed

    rows = list(csv.DictReader(io.StringIO(navlin(*asked, "--csv").stdout.removeprefix("\ufeff"))))
    assert {
        "type": "DIRECTORY",
        "owner": "",
        "count": "",
        "truncated": f"{len(owners) - 3} more values of owner",
    } in rows
    assert sum(not each["truncated"] for each in rows) == 8


def test_counts_limited_to_the_most_frequent_combinations_are_correct(
    solr: Solr, estate: tuple[str, list[Document]], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, made = estate
    monkeypatch.setattr(counting, "MOST_BUCKETS", 10)
    answer = count_values(solr, f"sourceId:{name}", ["type", "owner"], values=5)
    expected = by_hand(made, ["type", "owner"])
    shown = counted(answer.to_json())
    assert len(shown) == 2 + 2 * 6
    assert all(expected[each] == count for each, count in shown.items())
    assert answer.to_json()["counts"][0]["more"] is None
    assert answer.counted.exact, "there is one shard"


@pytest.fixture
def managed(solr: Solr) -> Iterator[str]:
    """Three tables with managed properties of each type, in a separate namespace."""
    ns = f"counted{uuid4().hex[:8]}"
    made = [
        {
            "identity": f"{ns}{number}",
            "sourceId": ns,
            "type": "TABLE",
            f"cpl_{ns}.cost": [cost],
            f"cpd_{ns}.share": [cost / 2],
            f"cpt_{ns}.until": [f"{year}-12-31T00:00:00Z"],
            f"cpb_{ns}.open": [number > 0],
            f"cp_{ns}.level": ["high"],
        }
        for number, (cost, year) in enumerate([(7, 2025), (12, 9998), (15, 9999)])
    ]
    solr.add(ELEMENTS, made)
    solr.commit(ELEMENTS, soft=True)
    yield ns
    solr.delete_ids(ELEMENTS, [str(each["identity"]) for each in made])


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("{ns}.cost", {7: 1, 12: 1, 15: 1}),
        ("cpl_{ns}.cost", {7: 1, 12: 1, 15: 1}),
        ("{ns}.cost:10", {0: 1, 10: 2}),
        ("{ns}.share:2", {2: 1, 6: 2}),
        ("{ns}.open", {True: 2, False: 1}),
        ("{ns}.level", {"high": 3}),
        ("cp_{ns}.cost", {None: 3}),
    ],
)
def test_managed_properties_are_counted_by_their_own_type(
    solr: Solr, managed: str, by: str, expected: dict[Any, int]
) -> None:
    answer = count_values(solr, f"sourceId:{managed}", [by.format(ns=managed)]).to_json()
    assert {each["value"]: each["count"] for each in answer["counts"]} == expected


@pytest.mark.parametrize(("step", "last"), [("year", "9999"), ("month", "9999-12"), ("day", "9999-12-31")])
def test_the_last_possible_day_is_counted(solr: Solr, managed: str, step: str, last: str) -> None:
    answer = count_values(
        solr, f"sourceId:{managed} AND {managed}.cost:[12 TO 15]", [f"{managed}.until:{step}"]
    ).to_json()
    assert answer["counts"][-1] == {"value": last, "count": 1}


def test_managed_properties_can_be_sorted_by_and_listed_as_facets(navlin: Navlin, managed: str) -> None:
    asked = ("search", f"sourceId:{managed}", "--json", "--facet", f"{managed}.cost")
    for sort, order in (
        ("cost desc", "210"),
        ("until asc", "012"),
        ("share desc", "210"),
        ("open desc", "[12]+0"),
    ):
        answer = json_of(navlin(*asked, "--sort", f"{managed}.{sort}"))
        assert re.fullmatch(order, "".join(each["identity"][-1] for each in answer["results"])), sort
        assert list(answer["facets"].values()) == [{"7": 1, "12": 1, "15": 1}]


def test_a_registered_property_is_counted_by_its_type(solr: Solr, web: Web, managed: str) -> None:
    described = {"name": "level", "namespace": managed, "type": "LONG"}
    models = {"namespaces": [{"name": managed}], "properties": [described]}
    answer = web.send("POST", "/api/v14/models", user="chief", json=models)
    assert answer.status_code == 200, answer.text
    counts = count_values(solr, f"sourceId:{managed}", [f"{managed}.level"]).to_json()["counts"]
    assert counts == [{"value": None, "count": 3}]


REFUSED = {
    "nosuchfield": "there is no field nosuchfield",
    "type,type,type,type": "one to 3 fields",
    "metaClassName": "derived from type",
    "queryText": "single words",
    "created:week": "dates are counted by year, month, day",
    "size:month": "width of ranges must be a whole number",
    "size:0": "width of ranges must be a whole number",
    "owner:month": "neither dates nor numbers",
    "size:1": "ranges, and at most 1,000 are counted",
    "{!func}x": "is not the name of a field",
    "type}": "is not the name of a field",
    "": "is not the name of a field",
}


@pytest.mark.parametrize("by", REFUSED)
def test_an_impossible_count_is_refused_with_a_message(
    web: Web, estate: tuple[str, list[Document]], by: str
) -> None:
    answer = web.get(ROOT + "/count", query=f"sourceId:{estate[0]}", by=by)
    assert answer.status_code == 400, answer.text
    assert REFUSED[by] in answer.json()["message"]


def test_too_many_values_are_refused(solr: Solr) -> None:
    with pytest.raises(QueryError, match="values must be from 1 to 45 with 3 fields"):
        count_values(solr, "*", ["type,owner,group"], values=100)


def test_counting_without_a_match_finds_nothing(navlin: Navlin) -> None:
    nothing = navlin("count", "sourceId:nobody-at-all", "--by", "created:month,type")
    assert (nothing.exit_code, nothing.stdout) == (Exit.NOTHING, "nothing found\n")


def test_the_endpoint_and_the_command_agree(web: Web, estate: tuple[str, list[Document]]) -> None:
    query, by = f"sourceId:{estate[0]}", "sourceType,created:year"
    ours = web.asked("/count", query=query, by=by, filter="type:FILE")
    assert ours == web.command("count", query, "--by", by, "--filter", "type:FILE")
    table = web.get(ROOT + "/count", query=query, by=["sourceType", "type"], csv="true")
    assert table.text.splitlines()[0].endswith('"sourceType","type","count","truncated"')


@pytest.mark.services
def test_counts_over_two_shards_are_exact_or_marked_inexact(
    cloud: Solr, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(cloud.shards(ELEMENTS)) == 2
    made = documents("sharded-counts", 3_000, seed=11)
    cloud.add(ELEMENTS, made)
    cloud.commit(ELEMENTS, soft=False)

    def ask(fields: list[str], shown: int) -> ValueCounts:
        return count_values(cloud, "sourceId:sharded-counts", fields, values=shown)

    for fields in BY:
        answer = ask(fields, 9_999 if len(fields) == 1 else 45)
        assert counted(answer.to_json()) == by_hand(made, fields), fields
        assert answer.counted.exact
    cut = ask(["owner", "type"], 5)
    expected = by_hand(made, ["owner", "type"])
    assert all(expected[each] == count for each, count in counted(cut.to_json()).items())
    top = Counter({key: count for key, count in expected.items() if len(key) == 1 and key[0] is not None})
    assert [each.count for each in islice(cut.counted.counts.counts, 5)] == [n for _, n in top.most_common(5)]
    monkeypatch.setattr(counting, "MOST_BUCKETS", 10)
    limited = ask(["owner"], 5)
    assert not limited.counted.exact
    assert all(expected[each] == count for each, count in counted(limited.to_json()).items())
