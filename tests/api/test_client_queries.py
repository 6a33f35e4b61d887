"""Every query that clients of Navigator send, verbatim, with its expected results; and navlin's additional queries."""

from __future__ import annotations

import pytest

from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, RelationType, partition_key
from navlin.query.lineage import UnknownEntity, lineage
from navlin.query.names import UnknownName, entity_named
from navlin.query.search import search
from navlin.query.show import show
from tests.query.test_syntax import PARSERS_OF_SOLR
from tests.support.query_estate import AS_OF_MS, HDFS, World

NAMES = (
    *(
        "cl) OR (*:*",
        "{!join from=id to=id}cl",
        'cl"quote',
        "cl\ttab",
        "cl\\back",
        "cl*",
        "-cl",
        "NOT cl",
        "cl OR x",
    ),
    *("a-b to c_d and eF cl", "cl /*", "cl~2"),
)


@pytest.fixture(scope="module")
def world(solr_server: object) -> World:
    from navlin.solr_server.embedded import EmbeddedSolr

    assert isinstance(solr_server, EmbeddedSolr)
    with Solr(solr_server.start()) as solr:
        world = World(solr, "clients")
        table = world.table("t", "city_id", owner="admin", tags=["gold"], created=AS_OF_MS)
        world.table("sample_07", deleted=True)
        world.table("v", kind=EntityType.VIEW)
        world.entity(partition_key(table, "ds=1"))
        directory = world.path("/user/x")
        part = world.path("/user/x/part", kind=EntityType.FILE, lastAccessed=AS_OF_MS)
        world.relate(RelationType.PARENT_CHILD, directory, part, writer=HDFS)
        world.path("/p", kind=EntityType.FILE, lastAccessed=AS_OF_MS)
        world.located(table, directory)
        load = world.operation("insert into t select * from temp_sample_08", [], [table])
        world.execution(load, "run", principal="x", started=AS_OF_MS, tp_kind="load")
        for name in NAMES:
            world.entity(world.named(name, database="odd"))
        document = world.elements[table.identity]
        document.update(
            {
                "name": "sales",
                "cp_ns.Transaction": "id",
                "cpl_ns.rows": [150],
                "cpd_ns.share": [0.5],
                "cpt_ns.checked": ["2016-06-01T10:00:00Z"],
                "cpb_ns.good": [True],
                "cp_ns.rows": ["15"],
            }
        )
        world.index()
        return world


SOURCES = {"clients-hive", "clients-hdfs", "clients-impala"}
PATHS = {"x", "part", "p"}
LOAD = "insert into t select * from temp_sample_08"
TABLES = {"t", "sample_07", *NAMES}
LIVE_TABLES = TABLES - {"sample_07"}
IN_HIVE = TABLES | {"v", "city_id", "ds=1", "db", "clients-hive"}
IN_IMPALA = {"clients-impala", LOAD, "run"}
EVERYTHING = IN_HIVE | PATHS | IN_IMPALA | {"clients-hdfs"}

HUE_WORDS = (
    "(((originalName:{0}*^3)OR(originalDescription:{0}*^1)OR(name:{0}*^10)OR(description:{0}*^3)OR(tags:{0}*^5))AND"
    "((originalName:[* TO *])OR(originalDescription:[* TO *])OR(name:[* TO *])OR(description:[* TO *])OR(tags:[* TO *])))"
    " AND (*) AND ((type:TABLE)OR(type:VIEW)) AND (sourceType:HIVE OR sourceType:IMPALA)"
)
HUE_TYPES = (
    "((type:TABLE)OR(type:VIEW)OR(type:DATABASE)OR(type:PARTITION)OR(type:FIELD)) AND (sourceType:HIVE)"
)

ENTITIES: dict[str, set[str]] = {
    # -- SDK --
    "type:SOURCE": SOURCES,
    "identity:*": EVERYTHING,
    "extractorRunId:(*)": EVERYTHING,
    "extractorRunId:(<hdfs>##1 OR <impala>##1)": PATHS | IN_IMPALA | {"clients-hdfs"},
    "type:TABLE AND extractorRunId:(<hive>##1)": TABLES,
    "extractorRunId:(<hive>##1) AND type:TABLE": TABLES,
    "sourceType:HDFS": PATHS | {"clients-hdfs"},
    "sourceType:HDFS AND sourceId:<hdfs>": PATHS | {"clients-hdfs"},
    "sourceType:HIVE AND type:DATABASE": {"db"},
    "sourceType:HIVE AND type:TABLE": TABLES,
    "sourceType:HIVE AND type:VIEW": {"v"},
    "sourceType:HIVE AND type:FIELD AND originalName:city_id": {"city_id"},
    "sourceType:HIVE AND type:(DIRECTORY OR FILE)": set(),
    "sourceType:HIVE AND type:OPERATION_EXECUTION": set(),
    "sourceType:(MAPREDUCE OR YARN) AND type:OPERATION_EXECUTION": set(),
    "sourceType:(MAPREDUCE OR YARN) AND type:(OPERATION EXECUTION)": set(),
    "sourceType:(IMPALA OR YARN) AND type:(OPERATION EXECUTION)": {LOAD},
    "sourceType:HIVE AND type:TABLE and originalName:sample*": {"sample_07"},
    # -- SDKm --
    "type:operation_execution AND sourceType:impala AND started:[2015-01-01T00:00:00.000Z TO NOW]": {"run"},
    "type:operation_execution AND sourceType:impala AND started:[2015-01-01T00:00:00.000Z TO NOW] AND principal:x": {
        "run"
    },
    "{!terms f=id}<t>,x": {"t"},
    "started:[2015-01-01 TO 2026-01-01] AND {!terms f=identity}<run>,x": {"run"},
    "started:[2015-01-01 TO 2017-01-01] AND {!terms f=identity}<run>,x": set(),
    "-deleted:true +sourceType:hive +type:table": LIVE_TABLES,
    "+sourceType:hive +type:field": {"city_id"},
    "+parentPath:\\/db\\/t": {"city_id", "ds=1"},
    '+(srcId:<hive>) +(parentPath:"/db") +(originalName:t) +(type:TABLE)': {"t"},
    "+(srcId:<hive>) +(originalName:db) +(type:DATABASE)": {"db"},
    "sourceType:HDFS AND type:FILE AND -deleted:true": {"part", "p"},
    # Without a space before AND, Solr reads "trueAND" as the value true, and the next clause is optional.
    "sourceType:HIVE AND type:TABLE AND deleted:trueAND {!frange l=0 incl=false}deleteTime": {"sample_07"},
    "created:[* TO *] AND -deleted:true": {"t"},
    "type:PARTITION AND sourceType:HIVE AND -deleted:true": {"ds=1"},
    # -- HUE --
    'clusterName:"estate"': SOURCES,
    "(sourceId:<hive> OR sourceId:<hdfs>) AND (type:FILE)": {"part", "p"},
    "sourceId:0 AND(type:TABLE)": set(),
    HUE_WORDS.format("sal"): {"t"},
    HUE_WORDS.format("cases"): set(),
    f"* AND ((type:FIELD*)) AND {HUE_TYPES}": {"city_id"},
    f"* AND ((type:\\{{\\}}\\(\\)\\[\\]*)) AND {HUE_TYPES}": set(),
    '(parentPath:"/db"*)': {"t", "sample_07", "v", "city_id", "ds=1"},
    "(sourceType:s3)": set(),
    "(type:TABLE OR type:VIEW) AND (sourceType:HIVE)AND(originalName:t)AND(deleted:false)AND(parentPath:\\/db)": {
        "t"
    },
    "DATABASE AND (sourceType:HIVE)AND(originalName:db)": {"db"},
    "FIELD AND (sourceType:HIVE)AND(originalName:city_id)": {"city_id"},
    "DIRECTORY AND (sourceType:HDFS)": {"x"},
    "(fileSystemPath:\\/user\\/x)": {"x"},
    "type:TABLE AND deleted:false": LIVE_TABLES,
    "sourceType:HIVE OR sourceType:IMPALA": IN_HIVE | IN_IMPALA,
    "sourceType:s3": set(),
    "{!tag=type} type:TABLE OR type:VIEW": TABLES | {"v"},
    "type:TABL*": TABLES,
    "owner:ad*": {"t"},
    "tags:*": {"t"},
    # -- Others --
    "((sourceType:impala)AND(type:operation))": {LOAD},
    "((originalName:t)AND(type:table))": {"t"},
    '+ns.Transaction:"id" +type:table +deleted:(-deleted:true)': {"t"},
    '+fileSystemPath:"/p" -fileSystemPath:*.temp* +type:file +sourceType:hdfs +deleted:false'
    " +lastAccessed:[2017-01-01T00:00:00Z TO NOW]": {"p"},
    "sourceType:impala": IN_IMPALA,
    "*": EVERYTHING,
    "type:file": {"part", "p"},
    '((parentPath:"/db") AND (originalName:"t") AND (type:table))': {"t"},
    "queryText:*temp_sample_08*": {LOAD},
    # -- Typed properties --
    "ns.rows:[10 TO 200]": {"t"},
    "ns.rows:[16 TO 20]": set(),
    "ns.rows:[1.5 TO 200.5]": set(),
    "ns.rows:150": {"t"},
    "ns.rows:15": {"t"},
    "ns.rows:*": {"t"},
    "ns.share:[0.25 TO 1]": {"t"},
    "ns.share:[0.75 TO 1]": set(),
    "ns.checked:[2016-01-01 TO 2016-06-01]": {"t"},
    "ns.checked:[2016-06-02 TO *]": set(),
    "ns.checked:2016-06-01": {"t"},
    "ns.good:true": {"t"},
    "ns.good:false": set(),
    # -- Whole days --
    "started:2026-01-01": {"run"},
    "started:{2026-01-01 TO *]": set(),
    "started:[* TO 2026-01-01}": set(),
    "started:[* TO 2026-01-01]": {"run"},
}

RELATIONS_FOUND: dict[str, int] = {
    "endpoint1SourceType:HDFS AND endpoint2SourceType: HDFS AND type:PARENT_CHILD AND endpoint1Type: DIRECTORY AND"
    " endpoint2Type: FILE": 1,
    "type:LOGICAL_PHYSICAL AND endpoint1SourceType:HIVE AND endpoint1Type:OPERATION_EXECUTION": 0,
    "type:DATA_FLOW AND endpoint1SourceType:IMPALA OR endpoint2SourceType:HDFS": 1,
    "type:INSTANCE_OF AND {!terms f=ep2Ids}<run>,b": 1,
    "type:LOGICAL_PHYSICAL AND {!terms f=ep1Ids}<t>": 1,
    "{!terms f=endpoint1Ids}<x>": 1,
    "type:PARENT_CHILD AND {!terms f=endpoint2Ids}<city_id>": 1,
    "type:INSTANCE_OF AND {!terms f=endpoint1Ids}<load>": 1,
}


def filled_in(world: World, query: str) -> str:
    """Replace the placeholders in a query with ids of this estate."""
    ids = {kind.lower(): source.id for kind, source in world.sources.items()}
    for name in ("t", "run", "x", "city_id"):
        ids[name] = next(key for key, each in world.elements.items() if each.get("originalName") == name)
    ids["load"] = next(key for key, each in world.elements.items() if each.get("originalName") == LOAD)
    for name, identity in ids.items():
        query = query.replace(f"<{name}>", identity)
    return query


def mine(world: World) -> str:
    return "{!terms f=identity}" + ",".join([*world.elements, *world.relations])


@pytest.mark.parametrize(("query", "expected"), ENTITIES.items())
def test_a_client_finds_entities(world: World, query: str, expected: set[str]) -> None:
    answer = search(world.solr, filled_in(world, query), filters=[mine(world)], core=ELEMENTS, limit=100)
    assert {str(each["originalName"]) for each in answer.documents} == expected


@pytest.mark.parametrize(("query", "expected"), ENTITIES.items())
def test_a_client_filters_entities(world: World, query: str, expected: set[str]) -> None:
    filters = [mine(world), filled_in(world, query)]
    answer = search(world.solr, "*", filters=filters, core=ELEMENTS, limit=100)
    assert {str(each["originalName"]) for each in answer.documents} == expected


@pytest.mark.parametrize(("query", "expected"), RELATIONS_FOUND.items())
def test_a_client_finds_relations(world: World, query: str, expected: int) -> None:
    answer = search(world.solr, filled_in(world, query), filters=[mine(world)])
    assert answer.core == RELATIONS
    assert answer.total == expected


def test_a_facet_may_exclude_the_filter_of_its_field(world: World) -> None:
    filters = [mine(world), "{!tag=type} type:FILE OR type:VIEW"]
    answer = search(
        world.solr, "*", filters=filters, facets=["type", "{!ex=type key=all}type", "{!ex='type'}sourceType"]
    )
    assert answer.facets["type"] == {"FILE": 2, "VIEW": 1}
    assert answer.facets["all"]["TABLE"] == len(TABLES)
    assert answer.facets["sourceType"]["IMPALA"] == len(IN_IMPALA)


def test_the_table_of_parsers_is_that_of_solr(world: World) -> None:
    beans = world.solr.answer(ELEMENTS, "admin/mbeans?cat=QUERYPARSER")["solr-mbeans"]
    there = dict(zip(beans[::2], beans[1::2], strict=True))["QUERYPARSER"]
    # Solr lists most parsers by class name, so only their number can be compared.
    assert len(there) == len(PARSERS_OF_SOLR)
    assert {name for name in there if "." not in name} <= set(PARSERS_OF_SOLR)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_resolves_whatever_characters_it_has(world: World, name: str) -> None:
    identity = world.named(name, database="odd").identity
    assert entity_named(world.solr, name).id == identity
    assert show(world.solr, identity).entity.id == lineage(world.solr, identity).start == identity
    for question in (show, lineage):
        with pytest.raises(UnknownEntity):
            question(world.solr, name)  # these functions accept ids only


@pytest.mark.parametrize(
    "name", ["x) OR (*:*", "*:*", "?", "[* TO *]", '"', "x~2", "{!graph}x", "a\tb", "cl\\"]
)
def test_an_unknown_name_finds_nothing(world: World, name: str) -> None:
    with pytest.raises(UnknownName) as error:
        entity_named(world.solr, name)
    assert len(error.value.suggestions) <= 5


def test_an_id_with_a_suffix_is_unknown(world: World) -> None:
    identity = world.named("t").identity
    with pytest.raises(UnknownName):
        entity_named(world.solr, f"{identity}\tx")
