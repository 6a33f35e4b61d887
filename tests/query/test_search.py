"""Searching: every idiom that Navigator's clients send, with the results that it must and must not find."""

from __future__ import annotations

import pytest

from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, operation_key
from navlin.query.scanner import QueryError
from navlin.query.search import SearchAnswer, core_for, search
from navlin.query.syntax import parse
from tests.support.query_estate import AS_OF_MS, HIVE, IMPALA, SPARK, World


@pytest.fixture(scope="module")
def world(solr_server: object) -> World:
    from navlin.solr_server.embedded import EmbeddedSolr

    assert isinstance(solr_server, EmbeddedSolr)
    with Solr(solr_server.start()) as solr:
        world = World(solr, "searching", database="Retail")
        world.table(
            "Orders", "order_id", "Total_Amount", owner="Ann", partitionColNames=["ds"], serDeName="parquet"
        )
        world.table("orders_old", deleted=True, owner="bob")
        world.table("v_orders", kind=EntityType.VIEW, owner="ann")
        world.path("/user/hdfs/input", owner="hdfs", lastModified=AS_OF_MS)
        world.path("/user/hdfs/input/part-0", kind=EntityType.FILE, owner="hdfs", size=7)
        world.path("/tmp/hbase-staging", owner="hbase")
        load = world.operation("insert into orders select * from temp_sample_08", [], [world.named("Orders")])
        world.execution(load, "run:1", principal="etl", started=AS_OF_MS)
        world.execution(load, "run:2", principal="etl", started=AS_OF_MS - 86_400_000)
        world.entity(operation_key(world.source(SPARK), "spark job", ()), jobId="application_17_1")
        first = world.elements[world.named("Orders").identity]
        first.update(
            {"name": "Customer orders", "tags": ["Gold"], "up_team": "sales", "cp_gov.steward": "eve"}
        )
        world.index()
        return world


def found(world: World, query: str, *filters: str) -> set[str]:
    """Return the names of the results that belong to this test's sources."""
    mine = "{!terms f=srcId}" + ",".join(source.id for source in world.sources.values())
    answer = search(world.solr, query, filters=[mine, *filters], core=ELEMENTS, limit=100)
    return {str(document["originalName"]) for document in answer.documents}


LOAD = "insert into orders select * from temp_sample_08"
TABLES = {"Orders", "orders_old"}
SOURCES = {"searching-hive", "searching-hdfs", "searching-impala", "searching-spark"}
PATHS = {"input", "part-0", "hbase-staging"}
COLUMNS = {"order_id", "Total_Amount"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("type:SOURCE", SOURCES),
        ("type:file", {"part-0"}),
        ("type:File", {"part-0"}),
        ("sourceType:(IMPALA OR YARN)", {"searching-impala", LOAD, "run:1", "run:2"}),
        ("sourceType:(impala or yarn) AND type:source", {"searching-impala"}),
        ("sourceType:IMPALA AND type:OPERATION_EXECUTION", {"run:1", "run:2"}),
        ("type:operation", {LOAD, "spark job"}),
        ("type:operation AND sourceType:spark", {"spark job"}),
        ("-deleted:true +sourceType:hive +type:table", {"Orders"}),
        ("+deleted:(-deleted:true) +type:table", {"Orders"}),
        ("type:table AND (-deleted:true)", {"Orders"}),
        ("deleted:false AND type:TABLE", {"Orders"}),
        ("deleted:true", {"orders_old"}),
        ("((sourceType:impala)AND(type:operation))", {LOAD}),
        ("((sourceType:impala)and(type:operation))", {LOAD}),
        ("(type:TABLE OR type:VIEW) AND (owner:ann)AND(sourceType:hive)", {"Orders", "v_orders"}),
        ('parentPath:"/Retail" AND originalName:orders_old', {"orders_old"}),
        ("+parentPath:\\/Retail\\/Orders", COLUMNS),
        ("+parentPath:/Retail/Orders", COLUMNS),
        ("fileSystemPath:\\/user/*", {"input", "part-0"}),
        ("fileSystemPath:\\/user\\/hdfs\\/*", {"input", "part-0"}),
        ("fileSystemPath:/tmp/hbase\\-staging", {"hbase-staging"}),
        ("fileSystemPath:/tmp/hbase-staging", {"hbase-staging"}),
        ('fileSystemPath:"/user/hdfs/input"', {"input"}),
        ("originalName:*rder*", {"Orders", "orders_old", "v_orders", "order_id", LOAD}),
        ("originalName:ORDERS", {"Orders", "orders_old", "v_orders", LOAD}),
        ("type:table AND originalName:[* TO *]", TABLES),
        ("type:table AND (name:*customer*^10)", {"Orders"}),
        ("type:table AND (name:*customer*^10 OR originalName:*old*^2)", TABLES),
        ('clusterName:"estate" AND sourceType:HDFS', {"searching-hdfs"}),
        ("owner:hdfs and type:directory and fileSystemPath:\\/user\\/hdfs\\/input", {"input"}),
        ("owner:HDFS AND NOT type:file", {"input"}),
        ("type:table && !deleted:true", {"Orders"}),
        ("type:view || type:file", {"v_orders", "part-0"}),
        ("tags:gold", {"Orders"}),
        ("up_team:sales", {"Orders"}),
        ("gov.steward:eve", {"Orders"}),
        ("serdeName:parquet", {"Orders"}),
        ("partColNames:ds", {"Orders"}),
        ("queryText:*temp_sample_08*", {LOAD}),
        ('queryText:"from temp_sample_08"', {LOAD}),
        ("started:[2026-01-01T00:00:00Z TO 2026-01-02T00:00:00Z]", {"run:1"}),
        ('started:"2026-01-01T00:00:00Z"', {"run:1"}),
        ("lastModified:[* TO NOW/DAY-5DAYS]", {"input"}),
        ("started:[NOW/DAY-5DAYS TO NOW/DAY+1DAY]", set()),
        ("size:[1 TO 10]", {"part-0"}),
        ("size:{7 TO 10}", set()),
        ("{!frange l=0 incl=false}deleteTime", {"orders_old"}),
        ("type:table AND {!frange l=0 incl=false}deleteTime", {"orders_old"}),
        ("{!terms f=type}table,VIEW", {"Orders", "orders_old", "v_orders"}),
        ("application_17_1", {"spark job"}),
        ("gold", {"Orders"}),
        ("gold OR hbase", {"Orders", "hbase-staging"}),
        ("hbase and gold", set()),
    ],
)
def test_a_query_finds_exactly_the_matching_entities(world: World, query: str, expected: set[str]) -> None:
    assert found(world, query) == expected


def test_every_entity_has_an_identity_and_a_run(world: World) -> None:
    everything = {str(each["originalName"]) for each in world.elements.values()}
    assert (
        found(world, "identity:*") == found(world, "id:*") == found(world, "extractorRunId:(*)") == everything
    )


def test_eight_hundred_run_ids_fit_in_a_query(world: World) -> None:
    runs = [f"{world.sources[HIVE].id}##{number}" for number in range(1, 801)]
    assert found(world, f"type:table AND extractorRunId:({' OR '.join(runs)})") == TABLES
    assert found(world, f"type:table AND extractorRunId:({' OR '.join(runs[1:])})") == set()


def test_filters_may_carry_tags(world: World) -> None:
    assert found(world, "*:*", "{!tag=type} type:TABLE OR type:VIEW", "-deleted:true") == {
        "Orders",
        "v_orders",
    }


@pytest.mark.parametrize("tail", ["", " AND extractorRunId:(*)", ",dummy", ",dummy AND extractorRunId:(*)"])
@pytest.mark.parametrize(
    "head", ["type:INSTANCE_OF AND {!terms f=ep2Ids}", "{!terms f=endpoint2Ids}", "{!terms f=ep2Ids}"]
)
def test_relations_are_found_by_their_ends_whatever_the_sdk_appends(
    world: World, head: str, tail: str
) -> None:
    runs = [each["identity"] for each in world.elements.values() if each["type"] == "OPERATION_EXECUTION"]
    answer = search(world.solr, head + ",".join(runs) + tail)
    assert answer.core == RELATIONS
    assert {document["endpoint2Ids"][0] for document in answer.documents} == set(runs)


def test_ten_thousand_ids_fit_in_a_query(world: World) -> None:
    ids = [f"{number:032x}" for number in range(9_999)] + [world.named("Orders").identity]
    answer = search(world.solr, "type:table AND {!terms f=id}" + ",".join(ids))
    assert [document["originalName"] for document in answer.documents] == ["Orders"]


@pytest.mark.parametrize(
    ("query", "core"),
    [
        ("type:TABLE", ELEMENTS),
        ("orders", ELEMENTS),
        ("type:data_flow", RELATIONS),
        ("type:(DATA_FLOW OR CONTROL_FLOW) AND sourceId:x", RELATIONS),
        ("type:(DATA_FLOW OR TABLE)", ELEMENTS),
        ("ep1Ids:x", RELATIONS),
        ("unlinked:true", RELATIONS),
        ("endpoint1Type:table", RELATIONS),
    ],
)
def test_the_query_determines_the_core(query: str, core: str) -> None:
    assert core_for(parse(query)) == core


def test_the_core_may_be_given(world: World) -> None:
    asked = f"extractorRunId:({world.sources[IMPALA].id}##1)"
    assert search(world.solr, asked).core == ELEMENTS
    assert {each["type"] for each in search(world.solr, asked, core=RELATIONS).documents} == {
        "DATA_FLOW",
        "INSTANCE_OF",
    }


def test_pages_add_up_to_the_whole_result(world: World) -> None:
    def page(limit: int, offset: int) -> SearchAnswer:
        return search(world.solr, f"srcId:{world.sources[HIVE].id}", limit=limit, offset=offset)

    whole = page(100, 0)
    pieces = [
        document["identity"] for start in range(0, whole.total, 2) for document in page(2, start).documents
    ]
    assert pieces == [document["identity"] for document in whole.documents]
    assert page(2, 0).truncated
    assert not whole.truncated
    assert page(0, 0).documents == ()


def test_results_are_sorted_by_a_field(world: World) -> None:
    answer = search(world.solr, f"type:table AND srcId:{world.sources[HIVE].id}", sort="owner desc")
    assert [document["owner"] for document in answer.documents] == ["bob", "Ann"]


@pytest.mark.parametrize("query", ["orders", "ORDERS", "orders insert", "spark orders"])
def test_an_exact_table_name_ranks_first(world: World, query: str) -> None:
    mine = "{!terms f=srcId}" + ",".join(source.id for source in world.sources.values())

    results = search(world.solr, query, filters=[mine], limit=100)

    assert results.documents[0]["identity"] == world.named("Orders").identity
    assert results.total == search(world.solr, query, filters=[mine], limit=0, sort="identity asc").total


@pytest.mark.parametrize(
    "query",
    [r"a\"b", "AND\\ OR", "\\{!terms\\ f=type\\}TABLE", " ".join(f"w{number}" for number in range(400))],
)
def test_any_words_may_be_searched(world: World, query: str) -> None:
    assert found(world, query) == set()


def test_facets_count_every_match(world: World) -> None:
    answer = search(world.solr, f"srcId:{world.sources[HIVE].id}", limit=1, facets=["type", "serdeName"])
    assert answer.facets["type"] == {"DATABASE": 1, "FIELD": 2, "SOURCE": 1, "TABLE": 2, "VIEW": 1}
    assert answer.facets["serDeName"] == {"parquet": 1}
    assert answer.to_json()["facets"]["type"]["TABLE"] == 2


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "the query is empty"),
        ("(type:TABLE", "unclosed parenthesis, at character 1"),
        ("type:TABLE)", "a closing parenthesis has no opening one, at character 11"),
        ("type:TABLE AND", "nothing follows AND before the query ends, at character 12"),
        ("AND type:TABLE", "nothing precedes AND, at character 1"),
        ("owner:", "owner: is not followed by a value, at character 1"),
        ('owner:"ann', "a quotation mark is not closed, at character 7"),
        ("size:[1 10]", "a range must have the form [from TO to], at character 6"),
        ("size:[1 TO 10", "a range is not closed, at character 6"),
        ("type:TABLE AND ()", "there is nothing between these parentheses, at character 16"),
        (
            "{!join from=id to=sourceId}x:y",
            "{!join} is not available here; frange, prefix, term, terms are, at character 1",
        ),
        ("_query_:x", "_query_ is not available here, at character 1"),
        (
            "type:TABLE and sourcType:hive",
            "there is no field sourcType; did you mean sourceType?, at character 16",
        ),
        (
            "type:FILE and size:big",
            "'big' is not a number, date or truth value, as the field requires, at character 20",
        ),
        (
            "created:yesterday",
            "'yesterday' is not a number, date or truth value, as the field requires, at character 9",
        ),
        ("name:x^", "a boost needs a number, as in name^2, at character 7"),
        ("x\\", "a backslash must be followed by a character, at character 2"),
    ],
)
def test_an_invalid_query_is_reported_with_its_position(world: World, query: str, sentence: str) -> None:
    with pytest.raises(QueryError) as error:
        search(world.solr, query)
    assert str(error.value) == sentence


def test_an_overlong_wildcard_is_refused(world: World) -> None:
    with pytest.raises(QueryError, match="too long"):
        search(world.solr, "originalName:*" + "x" * 12_000 + "*")


def test_an_invalid_page_or_sort_order_is_refused(world: World) -> None:
    with pytest.raises(QueryError, match="from 0 to 500,000, and offset from 0 to 2,000,000,000"):
        search(world.solr, "*:*", limit=500_001)
    with pytest.raises(QueryError, match="lastModified desc"):
        search(world.solr, "*:*", sort="created upwards")


def test_a_slow_query_is_refused_and_never_answered_in_part(world: World) -> None:
    # Parsing 100 wildcards alone takes Solr far longer than a millisecond; the first search of a core is slow anyway.
    for start in (0, 100, 200):
        words = (f"originalName:*a?*{number}*{'a?*' * (number % 8)}" for number in range(start, start + 100))
        with pytest.raises(QueryError, match=r"Solr takes longer than 0\.001 s for this query"):
            search(world.solr, " ".join(words), most_s=0.001)
