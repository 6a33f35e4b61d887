"""Solr with navlin's documents: the schema's types, versioned writes, and reading everything again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from navlin.index.admin.cores import CONFIGSET
from navlin.index.graph.state import stored_below, stored_in_range
from navlin.index.schema.fields import (
    ELEMENTS,
    KNOWN,
    LINKER_FIELDS,
    PIPELINE_FIELDS,
    RELATIONS,
    RUNS,
    STAMPS,
    USER_FIELDS,
)
from navlin.index.solr.solr import Solr, SolrAddress, SolrError
from navlin.query.search import search
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr

VALUES: dict[str, Any] = {
    "string": "Ä exact/Value",
    "boolean": False,
    "int": 3,
    "long": 1_725_000_000_123,
    "date": "2014-08-25T19:07:17.652Z",
    "path": "/a b/c=d",
    "longString": "a, b\n" * 10_000,
    "caseInsensitiveText": "HIVE",
    "constant": "OPERATION_EXECUTION",
    "double": 1.5,
    "tokenizedCaseInsensitiveText": "OPERATION_EXECUTION",
    "ngramedText": "sample 07 " * 5_000,
    "text": "a comment, and another " * 2_000,
    "sqlText": "SELECT a FROM b " * 5_000,
}
UNRETURNED = {"_version_", "anyText", "namePieces"}


def schema_fields() -> dict[str, tuple[str, bool]]:
    """Map each field of the schema, or an example of each dynamic field, to (type, whether it is multi-valued)."""
    root = ElementTree.parse(CONF / "solr" / CONFIGSET / "schema.xml").getroot()
    return {
        element.attrib["name"].replace("*", "any"): (
            element.attrib["type"],
            element.get("multiValued") == "true",
        )
        for element in (*root.iter("field"), *root.iter("dynamicField"))
    }


SETS = ("claimedIds", "sourceWords", "reaching", "reaches", "dependsOn")
"""Fields with unordered, distinct values."""


@pytest.mark.parametrize("core", [ELEMENTS, RELATIONS, RUNS])
def test_every_field_is_returned_as_written(solr: Solr, core: str) -> None:
    fields = {name: kind for name, kind in schema_fields().items() if name not in UNRETURNED}
    document = {
        name: [VALUES[kind], VALUES[kind]]
        if several and name not in ("endpoint1Ids", "endpoint2Ids")
        else VALUES[kind]
        for name, (kind, several) in fields.items()
    }
    document["identity"] = f"all-fields-{core}"
    assert not solr.add(core, [document]).refused
    expected = {
        name: sorted({*value}) if isinstance(value, list) and name in SETS else value
        for name, value in document.items()
    }
    for name in ("endpoint1Ids", "endpoint2Ids"):
        expected[name] = [document[name]]
    solr.commit(core, soft=True)
    [visible] = solr.select(core, {"q": f"identity:all-fields-{core}", "fl": "*"})["response"]["docs"]
    assert {name: value for name, value in visible.items() if name != "_version_"} == expected


@pytest.mark.parametrize("part", ["sample 07 ", ".", "/", "%2F", "a/", "/#partitions", "_", "a_", "表"])
def test_indexing_a_name_takes_linear_time(solr: Solr, part: str) -> None:
    before_s = time.monotonic()
    assert not solr.add(ELEMENTS, [{"identity": "long-name", "name": part * 20_000}]).refused
    assert time.monotonic() - before_s < 10, "a cost that follows the square of the length takes minutes"


def test_every_owned_field_is_in_the_schema() -> None:
    owned = {*KNOWN, *PIPELINE_FIELDS, *LINKER_FIELDS, *USER_FIELDS, *STAMPS}
    assert owned - schema_fields().keys() == set()


def test_a_property_keeps_its_type_whatever_its_suffix(solr: Solr) -> None:
    document = {
        "identity": "props",
        "up_born_dt": "someday",
        "tp_size_l": ["many"],
        "cp_ns.key_s": ["a", "b"],
    }
    assert not solr.add(ELEMENTS, [document]).refused
    solr.commit(ELEMENTS, soft=True)
    assert solr.count(ELEMENTS, "up_born_dt:someday AND tp_size_l:many AND cp_ns.key_s:b") == 1


@pytest.fixture(scope="module")
def named(solr_server: EmbeddedSolr) -> Iterator[Solr]:
    """Yield a Solr with documents to search, all with the run id ``search##1``."""
    query = "insert into sample_merge\nselect * from\n\tdb.temp_sample_08 where x='2019-01-01'"
    table = {"type": "TABLE", "sourceType": "HIVE", "parentPath": "/sales"}
    file = {
        "fileSystemPath": "/Data/Staging/100%/part-00000.parquet",
        "owner": "HdfsUser",
        "tags": ["Finance data"],
    }
    documents: list[dict[str, Any]] = [
        {"identity": "s-op", "type": "OPERATION", "queryText": query},
        {"identity": "s-exec", "type": "OPERATION_EXECUTION", "principal": "Alice"},
        {"identity": "s-sub", "type": "SUB_OPERATION"},
        {
            "identity": "s-db",
            "type": "DATABASE",
            "sourceType": "HIVE",
            "treePath": "/sales",
            "originalName": "sales",
        },
        {"identity": "s-t1", **table, "treePath": "/sales/orders", "originalName": "orders"},
        {
            "identity": "s-t2",
            **table,
            "treePath": "/sales/orders_old",
            "originalName": "orders_old",
            "packageName": "other",
        },
        {
            "identity": "s-c",
            "type": "FIELD",
            "sourceType": "HIVE",
            "treePath": "/sales/orders/amount",
            "originalName": "customerAmount",
        },
        {
            "identity": "s-p",
            "type": "PARTITION",
            "sourceType": "HIVE",
            "internalType": "own_table",
            "treePath": "/sales/orders/#partitions/d=1,h=2",
        },
        {"identity": "s-f", "type": "FILE", "originalName": "part-00000.parquet", **file},
    ]
    with Solr(solr_server.start()) as solr:
        answer = solr.add(
            ELEMENTS,
            [{**document, "extractorRunId": "search##1", "sourceId": "search"} for document in documents],
        )
        assert not answer.refused
        solr.commit(ELEMENTS, soft=True)
        yield solr


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("type:operation", ["s-op"], id="a type is not found in a longer type's name"),
        pytest.param("type:Operation_Execution", ["s-exec"], id="types in any case"),
        pytest.param("type:*operation*", ["s-exec", "s-op", "s-sub"], id="wildcards over types"),
        pytest.param("queryText:*temp_sample_08*", ["s-op"], id="the seed's query text search"),
        pytest.param("queryText:*SAMPLE_0*", ["s-op"], id="wildcards in any case"),
        pytest.param("queryText:temp_sample_08", ["s-op"], id="a name in a text"),
        pytest.param("queryText:sample_08", [], id="no part of a name in a text"),
        pytest.param("queryText:db.temp_sample_08", ["s-op"], id="a qualified name"),
        pytest.param("queryText:*db.temp*", ["s-op"], id="wildcards over a qualified name"),
        pytest.param('queryText:"SELECT * FROM db.temp_sample_08"', ["s-op"], id="a phrase over line ends"),
        pytest.param("originalName:orders", ["s-t1", "s-t2"], id="a name, and names that have it as a part"),
        pytest.param("originalName:orders_old", ["s-t2"], id="a whole name"),
        pytest.param("originalName:amount", ["s-c"], id="a part by case"),
        pytest.param("originalName:*stomera*", ["s-c"], id="wildcards inside a name"),
        pytest.param('parentPath:"/sales" AND originalName:orders_old', ["s-t2"], id="parent and name"),
        pytest.param(r"parentPath:\/sales", ["s-t1", "s-t2"], id="an escaped path"),
        pytest.param(r"fileSystemPath:\/Data/*", ["s-f"], id="below a directory"),
        pytest.param(r"fileSystemPath:\/data/*", [], id="paths keep their case"),
        pytest.param("part-00000", ["s-f"], id="a word without a field: parts of a name, side by side"),
        pytest.param("00000-part", [], id="a word without a field: not its parts in another order"),
        pytest.param("internalType:hv_table", ["s-t1", "s-t2"], id="a class that follows from the type"),
        pytest.param("metaClassName:hv_*", ["s-c", "s-db", "s-t1", "s-t2"], id="wildcards over such classes"),
        pytest.param("internalType:own_table", ["s-p"], id="a class of an extractor's own"),
        pytest.param("metaClassName:hv_partition", [], id="not the class that it would have"),
        pytest.param("packageName:nav AND type:FIELD", ["s-c"], id="navlin's own package"),
        pytest.param("packageName:other", ["s-t2"], id="another package"),
        pytest.param("owner:hdfsuser", ["s-f"], id="owners in any case"),
        pytest.param("tags:finance", ["s-f"], id="a word of a tag"),
        pytest.param("staging", ["s-f"], id="a word without a field: a path's component"),
        pytest.param("alice", ["s-exec"], id="a word without a field: a principal"),
        pytest.param("originalName:[* TO *] AND -type:file", ["s-c", "s-db", "s-t1", "s-t2"], id="has a name"),
    ],
)  # fmt: skip
def test_search_finds_the_expected_documents(named: Solr, query: str, expected: list[str]) -> None:
    answer = search(named, query, core=ELEMENTS, filters=["extractorRunId:search##1"], sort="identity asc")
    assert [document["identity"] for document in answer.documents] == expected


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        pytest.param(["/sales/orders"], ["s-c", "s-p", "s-t1"], id="at or below a path, by component"),
        pytest.param(["/sales"], ["s-c", "s-db", "s-p", "s-t1", "s-t2"], id="all below a path"),
        pytest.param(
            ["/sales/orders/#partitions/d=1,h=2", "/sales/orders_old"], ["s-p", "s-t2"], id="paths with commas"
        ),
        pytest.param(["/Data/Staging"], ["s-f"], id="below a directory, whose files have no place but their path"),
        pytest.param(["/Data/Stag"], [], id="not below a part of a name"),
        pytest.param(["/"], ["s-c", "s-db", "s-exec", "s-f", "s-op", "s-p", "s-sub", "s-t1", "s-t2"], id="everything"),
    ],
)  # fmt: skip
def test_entities_below_paths_are_found_per_source(
    named: Solr, paths: list[str], expected: list[str]
) -> None:
    held = stored_below(named, ELEMENTS, "search", paths)
    assert sorted(each.identity for each in held) == expected
    assert [each.identity for each in stored_in_range(named, ELEMENTS, "search", below=paths)] == expected


def test_the_tree_path_of_a_file_keeps_its_case(named: Solr) -> None:
    [file] = stored_below(named, ELEMENTS, "search", ["/Data"])
    assert file.tree_path == "/Data/Staging/100%25/part-00000.parquet"


def test_names_are_counted_and_sorted_untokenized(named: Solr) -> None:
    facet = {"facet": "true", "facet.field": "originalName", "facet.mincount": 1, "facet.sort": "index"}
    answer = named.select(
        ELEMENTS,
        {"q": "*:*", "fq": ["extractorRunId:search##1", "type:TABLE"], "sort": "originalName desc", **facet},
    )
    assert answer["facet_counts"]["facet_fields"]["originalName"] == ["orders", 1, "orders_old", 1]
    assert [document["identity"] for document in answer["response"]["docs"]] == ["s-t2", "s-t1"]


def test_a_refused_document_does_not_block_the_others(solr: Solr) -> None:
    good = [{"identity": f"good{n}", "type": "TABLE"} for n in range(300)]
    bad: list[dict[str, Any]] = [
        {"identity": "bad-field", "colour": "red"},
        {"identity": "bad-date", "created": "yesterday"},
        {"identity": "bad-long", "size": "big"},
        {"identity": "bad-term", "treePath": "/x" * 20_000},
        {"identity": "bad-several", "type": ["a", "b"]},
        {"identity": "bad-surrogate", "name": "\ud800"},
        {"identity": "bad-list", "_childDocuments_": 3},
        {"type": "TABLE"},
    ]
    mixed = [*good[:100], *bad[:4], *good[100:200], *bad[4:], *good[200:]]
    outcome = solr.add(ELEMENTS, mixed)
    reasons = {refused.identity: refused.reason for refused in outcome.refused}
    assert set(outcome.applied) == {document["identity"] for document in good}
    assert not outcome.conflicts
    assert reasons.keys() == {document.get("identity", "None") for document in bad}
    assert "unknown field 'colour'" in reasons["bad-field"]
    assert "yesterday" in reasons["bad-date"]
    assert "immense term" in reasons["bad-term"]
    assert reasons["None"] == "has no identity"
    assert len(solr.get(ELEMENTS, [f"good{n}" for n in range(300)], "identity")) == 300
    assert not solr.get(ELEMENTS, reasons)


def test_versions_decide_which_write_succeeds(solr: Solr) -> None:
    first = solr.add(RUNS, [{"identity": name, "_version_": -1} for name in ("v-a", "v-b", "v-c")])
    assert first.applied.keys() == {"v-a", "v-b", "v-c"}
    again = solr.add(
        RUNS,
        [
            {"identity": "v-a", "count": 1, "_version_": -1},
            {"identity": "v-b", "count": 2, "_version_": first.applied["v-b"]},
            {"identity": "v-c", "count": 3, "_version_": first.applied["v-b"]},
            {"identity": "v-d", "count": {"set": 4}, "_version_": 1},
            {"identity": "v-e", "count": 5},
            {"identity": "v-f", "count": "x"},
        ],
    )
    assert again.applied.keys() == {"v-b", "v-e"}
    assert set(again.conflicts) == {"v-a", "v-c", "v-d"}
    assert [refused.identity for refused in again.refused] == ["v-f"]
    assert solr.get(RUNS, ["v-a", "v-b", "v-c", "v-d"], "identity,count") == [
        {"identity": "v-a"},
        {"identity": "v-b", "count": 2},
        {"identity": "v-c"},
    ]


def test_a_deletion_by_version_keeps_later_writes(solr: Solr) -> None:
    read = solr.add(RUNS, [{"identity": f"d{n}"} for n in range(4)]).applied
    solr.add(RUNS, [{"identity": "d1", "count": 1}])
    solr.delete_ids(RUNS, ["d2", "never-there"])
    assert set(solr.delete_versions(RUNS, read)) == {"d1", "d2"}
    assert [document["identity"] for document in solr.get(RUNS, read, "identity")] == ["d1"]


def update_in_place(solr: Solr, update: dict[str, Any]) -> None:
    """Update a document, or fail if Solr cannot do so without rewriting it."""
    params = {"update.partial.requireInPlace": "true"}
    solr.session.post(f"{solr.address.url}/{ELEMENTS}/update", json=[update], params=params)


def test_as_of_is_updated_in_place(solr: Solr) -> None:
    document = {"identity": "place", "type": "TABLE", "asOf": 1, "treePath": "/x/y", "digest": 7}
    solr.add(ELEMENTS, [document])
    solr.commit(ELEMENTS, soft=True)
    update_in_place(solr, {"identity": "place", "asOf": {"set": 2}, "_version_": 1})
    solr.commit(ELEMENTS, soft=True)
    filters = ["identity:place"]
    [found] = solr.cursor(ELEMENTS, r"treePath:\/x\/*", "*", filters=filters)
    assert {name: value for name, value in found.items() if name != "_version_"} == {**document, "asOf": 2}
    with pytest.raises(SolrError, match="in-place"):
        update_in_place(solr, {"identity": "place", "type": {"set": "VIEW"}})


def test_an_export_streams_ranges_that_add_up_to_everything(solr: Solr) -> None:
    documents = [
        {"identity": f"x{n:05d}", "writer": "exports", "asOf": n, "rule": '},{"' * (n % 3)}
        for n in range(20_000)
    ]
    assert len(solr.add(RELATIONS, documents).applied) == 20_000
    solr.commit(RELATIONS, soft=True)
    bounds = [None, "x00001", "x04999", "x1", "x19999", "y", None]
    ranges = [
        list(
            solr.export(
                RELATIONS, "*:*", "identity,asOf,rule,digest", filters=["writer:exports"], first=a, before=b
            )
        )
        for a, b in pairwise(bounds)
    ]
    assert [len(found) for found in ranges] == [1, 4998, 5001, 9999, 1, 0]
    everything = [document for found in ranges for document in found]
    assert [document["asOf"] for document in everything] == list(range(20_000))
    assert everything[2] == {"identity": "x00002", "asOf": 2, "rule": '},{"},{"'}
    assert len(list(solr.cursor(RELATIONS, "writer:exports", "identity", rows=3_000))) == 20_000
    newest = solr.export(RELATIONS, "writer:exports", "asOf", sort="asOf desc", filters=["asOf:[0 TO 5]"])
    assert [document["asOf"] for document in newest] == [5, 4, 3, 2, 1, 0]


def test_a_failed_export_raises_an_error(solr: Solr) -> None:
    solr.add(ELEMENTS, [{"identity": "exported", "originalName": "x"}])
    solr.commit(ELEMENTS, soft=True)
    with pytest.raises(SolrError, match=r"nav_elements: export failed: originalName.*useDocValuesAsStored"):
        list(solr.export(ELEMENTS, "*:*", "identity,originalName"))
    with pytest.raises(SolrError, match="nav_elements: HTTP 400: undefined field nowhere"):
        list(solr.export(ELEMENTS, "nowhere:1", "identity"))


@contextmanager
def answering(body: bytes, declared_bytes: int) -> Iterator[SolrAddress]:
    """A server that returns this body to every request, with the declared length, and then closes the connection."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(declared_bytes))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            """Do not log."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield SolrAddress(f"http://127.0.0.1:{server.server_port}/solr")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


HEAD = b'{"responseHeader":{"status":0},"response":{"numFound":3,"docs":['


@pytest.mark.parametrize(
    ("body", "missing_bytes"),
    [
        pytest.param(HEAD + b'{"identity":"a"},{"identity":"b"}', 0, id="ended between documents"),
        pytest.param(HEAD + b'{"identity":"a"},{"identity":"b"', 0, id="ended inside a document"),
        pytest.param(HEAD + b'{"identity":"a"},{"identity":"b"},', 100, id="connection lost"),
        pytest.param(HEAD + b'{"identity":"a"},{"EXCEPTION":"out of luck"}]}}', 0, id="exception at the end"),
        pytest.param(b"", 0, id="empty"),
        pytest.param(
            b'{"response":{"docs":[{"EXCEPTION":"no"}],"numFound":0},"responseHeader":{"status":400}}',
            0,
            id="keys of an error in another order",
        ),
    ],
)
def test_an_interrupted_export_is_never_taken_as_complete(body: bytes, missing_bytes: int) -> None:
    with answering(body, len(body) + missing_bytes) as address, Solr(address) as solr:
        found = []
        with pytest.raises(SolrError, match="export"):
            for document in solr.export(ELEMENTS, "*:*", "identity", shards=[f"{address.url}/nav_elements"]):
                found.append(document["identity"])
        assert found in ([], ["a"], ["a", "b"])


def test_a_server_that_is_not_solr_is_reported() -> None:
    body = b"<html>a login page</html>"
    with (
        answering(body, len(body)) as address,
        Solr(address) as solr,
        pytest.raises(SolrError, match="is not a Solr; it answers: <html>a login page"),
    ):
        solr.count(ELEMENTS)


def test_long_lists_of_ids_are_accepted(solr: Solr) -> None:
    ids = [f"{n:032x}" for n in range(10_000)]
    solr.add(RELATIONS, [{"identity": ids[7]}, {"identity": ids[9_999]}])
    solr.commit(RELATIONS, soft=True)
    assert solr.count(RELATIONS, "{!terms f=identity}" + ",".join(ids)) == 2
    assert {document["identity"] for document in solr.get(RELATIONS, ids)} == {ids[7], ids[9_999]}
