"""A core whose fields differ from navlin's schema is refused: an edited schema, a reloaded core, or an index
written with another schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from navlin.index.admin.cores import CONFIGSET, CORES, create
from navlin.index.admin.schema import UnusableIndex
from navlin.index.admin.schema_fields import Fields, differences, fields_of, shipped_fields
from navlin.index.schema.fields import ELEMENTS, RUNS
from navlin.index.solr.solr import Solr
from navlin.service.maintenance.opening import open_index
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, NoSolr

SCHEMA = CONF / "solr" / CONFIGSET / "schema.xml"
SHIPPED = shipped_fields(SCHEMA)
OTHER = {"string": "long", "long": "string"}


def test_solr_has_exactly_the_fields_of_the_shipped_schema(solr: Solr) -> None:
    for core in CORES:
        assert fields_of(solr.answer(core, "schema")["schema"]) == SHIPPED


@pytest.mark.parametrize("name", SHIPPED.fields)
def test_a_field_of_another_type_is_found(name: str) -> None:
    kind = SHIPPED.fields[name]["type"]
    other = OTHER.get(kind, "string")
    changed = {**SHIPPED.fields, name: {**SHIPPED.fields[name], "type": other}}

    [found] = differences(ELEMENTS, SHIPPED, Fields(changed, SHIPPED.types))

    assert str(found).startswith(f"{name} of {ELEMENTS} is of type {other} (")
    assert f", and navlin needs of type {kind} (" in str(found)
    [absent] = differences(
        ELEMENTS, SHIPPED, Fields({n: f for n, f in SHIPPED.fields.items() if n != name}, SHIPPED.types)
    )
    assert str(absent).startswith(f"{ELEMENTS} has no field {name}, and navlin needs it as of type {kind} (")


@pytest.mark.parametrize("name", SHIPPED.types)
def test_a_changed_type_is_found_in_every_field_that_uses_it(name: str) -> None:
    users = [field for field, about in SHIPPED.fields.items() if about["type"] == name]
    assert users
    for kind in ({**SHIPPED.types[name], "class": "solr.UUIDField"}, {**SHIPPED.types[name], "analyzer": {}}):
        found = differences(ELEMENTS, SHIPPED, Fields(SHIPPED.fields, {**SHIPPED.types, name: kind}))
        assert [each.field for each in found] == users
        assert all(each.found != each.expected for each in found)


def test_additional_fields_are_ignored() -> None:
    more = Fields(
        {**SHIPPED.fields, "own": {"name": "own", "type": "mine"}}, {**SHIPPED.types, "mine": {"class": "x"}}
    )
    assert differences(ELEMENTS, SHIPPED, more) == []


def edited(schema: str) -> str:
    """Return the schema with ``asOf`` as a string instead of a long."""
    line = '<field name="asOf" type="long" indexed="false"/>'
    assert line in schema
    return schema.replace(line, line.replace("long", "string"))


@pytest.mark.services
def test_an_edited_schema_and_an_index_written_with_it_are_refused(tmp_path: Path, solr_jars: Path) -> None:
    server = EmbeddedSolr(
        tmp_path, solr_jars, CONF / "solr", cores=CORES, cache=solr_jars.parent / "solr-launcher"
    )
    with server, Solr(server.address) as solr:
        open_index(solr, server)
        solr.add(
            ELEMENTS,
            [{"identity": "kept", "asOf": 7, "tags": ["a"], "deleted": False, "size": 1, "depth": 1}],
        )
        solr.commit(ELEMENTS, soft=False)
        server.stop()
        server.start()
        open_index(solr, server)
        assert solr.get(ELEMENTS, ["kept"], "asOf") == [{"asOf": 7}]

        file = server.home / "configsets" / CONFIGSET / "conf" / "schema.xml"
        file.write_text(edited(file.read_text()))
        for core in CORES:
            solr.admin("cores", {"action": "RELOAD", "core": core})
        with pytest.raises(UnusableIndex) as refused:
            open_index(solr, server)
        words = str(refused.value)
        assert words.startswith(
            "asOf of nav_elements is of type string (StrField, indexed=false), and navlin needs"
        )
        assert "navlin needs of type long (LongPointField, indexed=false): Solr's schema was changed" in words
        solr.add(RUNS, [{"identity": "meanwhile", "kind": "position", "asOf": "7"}])
        solr.commit(RUNS, soft=False)
        server.stop()

        with pytest.raises(NoSolr) as misread:
            server.start()
        words = str(misread.value)
        assert words.startswith(
            "asOf of nav_runs was written as texts, and the schema wants it of type long: the index in"
        )
        assert "navlin restore" in words


@pytest.mark.services
def test_the_schema_of_a_solrcloud_is_compared_too(cloud: Solr, tmp_path: Path) -> None:
    changed = tmp_path / "conf" / CONFIGSET
    changed.mkdir(parents=True)
    for file in (CONF / "solr" / CONFIGSET).iterdir():
        (changed / file.name).write_bytes(file.read_bytes())
    (changed / "schema.xml").write_text(edited(SCHEMA.read_text()))
    open_index(cloud, None)
    try:
        create(cloud, changed.parent)
        with pytest.raises(
            UnusableIndex, match=r"^asOf of nav_elements is of type string .*`navlin index create`"
        ):
            open_index(cloud, None)
    finally:
        create(cloud, CONF / "solr")
    open_index(cloud, None)
