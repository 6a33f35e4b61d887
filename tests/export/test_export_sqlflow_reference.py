"""SQLFlow's lineage model: every numbered example in its reference 1.2, the complete documents printed there, and its
rule for chains.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from navlin.export.sqlflow import model
from navlin.export.sqlflow.model import (
    ColumnRelation,
    DbObject,
    Dlineage,
    FlowType,
    ObjectColumn,
    ObjectKind,
    Process,
    RelationEnd,
    TextPosition,
)
from tests.services.python_packages import Environment
from tests.support.sqlflow_examples import EXAMPLES, arrows, tree, xml, xml_of

REPOSITORY = Path(__file__).parents[2]


# -- The examples of the reference ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_of_the_reference_is_reproduced(name: str) -> None:
    example = EXAMPLES[name]

    assert arrows(xml(example.items)) == example.columns
    assert arrows(xml(example.items, result_sets=False)) == (example.ends or example.columns)
    assert arrows(xml(example.items, table_level=True)) == example.tables


# -- Comparison with the reference's own documents ------------------------------------------------------------------------
@pytest.fixture(scope="module")
def printed() -> list[str]:
    """The complete documents printed in the reference, in order."""
    found = sorted((REPOSITORY.parent / "shared" / "seeds").glob("002_*.txt"))
    if not found:
        pytest.skip("the reference of SQLFlow's model is not beside this checkout")
    text = found[0].read_text().replace("dligneage", "dlineage").replace("```", "")
    documents = re.findall(r"<\?xml.*?</dlineage>", text, re.DOTALL)
    # The printed pages show the quotes inside values unescaped, so escape them.
    return [re.sub(r'""(\w+)""', r'"&quot;\1&quot;"', each) for each in documents]


def _read(text: str) -> tuple[Dlineage, list[Any]]:
    """A document as a `Dlineage`, and the list of all its elements in order."""
    read = [_element(each) for each in ElementTree.fromstring(text)]
    return Dlineage(
        tuple(each for each in read if isinstance(each, Process)),
        tuple(each for each in read if isinstance(each, DbObject)),
        tuple(each for each in read if isinstance(each, ColumnRelation)),
    ), read


def _element(node: ElementTree.Element) -> Any:
    get = node.attrib.get
    identity, name = int(node.attrib["id"]), get("name", "")
    if node.tag == "process":
        return Process(identity, name, node.attrib["type"], _place(node))
    if node.tag == "relation":
        sides = list(node)
        if "target_id" in sides[0].attrib:
            into, out_of = (
                model.TableEnd(
                    int(side.attrib["id"]),
                    int(side.attrib[f"{side.tag}_id"]),
                    side.attrib[f"{side.tag}_name"],
                )
                for side in sides
            )
            return model.TableRelation(identity, FlowType(node.attrib["type"]), into, out_of)
        target, *sources = map(_side, sides)
        return ColumnRelation(
            identity, FlowType(node.attrib["type"]), get("effectType", ""), target, tuple(sources)
        )
    return DbObject(
        ObjectKind(node.tag),
        identity,
        name,
        node.attrib["type"],
        tuple(
            ObjectColumn(
                int(each.attrib["id"]), each.attrib["name"], each.attrib.get("source", ""), _place(each)
            )
            for each in node
        ),
        alias=get("alias", ""),
        schema=get("schema", ""),
        processes=tuple(map(int, get("processIds", "").split())),
        coordinate=_place(node),
    )


def _side(node: ElementTree.Element) -> RelationEnd:
    get = node.attrib.get
    return RelationEnd(
        int(node.attrib["id"]),
        node.attrib["column"],
        int(node.attrib["parent_id"]),
        node.attrib["parent_name"],
        get("source", ""),
        get("clauseType", ""),
        _place(node),
    )


def _place(node: ElementTree.Element) -> tuple[TextPosition, TextPosition]:
    first, last = re.findall(r"\[(-?\d+),(-?\d+),(\w+)\]", node.attrib["coordinate"])
    return TextPosition(int(first[0]), int(first[1]), first[2]), TextPosition(
        int(last[0]), int(last[1]), last[2]
    )


def test_the_reference_documents_are_reproduced_exactly(printed: list[str]) -> None:
    assert len(printed) == 8
    for text in printed:
        _, read = _read(text)

        assert tree(ElementTree.fromstring(xml_of(read))) == tree(ElementTree.fromstring(text))


def test_the_references_table_level_is_reproduced(printed: list[str]) -> None:
    first, columns, second, cut_by_a_page, *_ = printed
    expected = {
        ("t2", "Query Create View"),
        ("Query Create View", "v1"),
        ("t2", "Query Alter Table"),
        ("Query Alter Table", "t3"),
    }
    made = model.table_level(_read(columns)[0])

    assert {(each.source.of_name, each.target.of_name) for each in made} == expected
    ours = {(each.type, each.source[1:], each.target[1:]) for each in made}
    theirs = [
        {
            (each.type, each.source[1:], each.target[1:])
            for each in _read(page)[1]
            if isinstance(each, model.TableRelation)
        }
        for page in (first, second, cut_by_a_page)
    ]

    assert theirs[:2] == [ours, ours]
    assert theirs[2] < ours and len(theirs[2]) == 3


def test_the_reference_documents_are_folded_end_to_end(printed: list[str]) -> None:
    ends = [
        {
            f"{source.parent_name}.{source.column} -> {relation.type} -> {target.parent_name}.{target.column}"
            for relation in model.end_to_end(_read(text)[0])
            for target in [relation.target]
            for source in relation.sources
        }
        for text in printed
    ]

    assert [each for each in ends if each] == [
        {"t2.f1 -> fdd -> v1.f1", "t2.PseudoRows -> fdd -> t3.PseudoRows"},
        {
            "masteTable.masterColumn -> fdd -> foreignTable.foreignColumn1",
            "masteTable.masterColumn -> fdd -> foreignTable.foreignColumn2",
        },
        {'scott.emp.empName -> fdd -> RS-1."eName"'},
        {"scott.emp.salary -> fdd -> RS-1.sal"},
        {'scott.emp.empName -> fdd -> RS-1."eName"', "scott.emp.sal -> fdr -> RS-1.PseudoRows"},
    ]


# -- The end-to-end rule --------------------------------------------------------------------------------------------------
def chain(*hops: str) -> Dlineage:
    """Build chains such as ``A fdd B fdr C``. The ends A and C are tables, all others are result sets; each has one
    column.
    """
    relations, objects = [], {}
    for number, hop in enumerate(hops):
        words = hop.split()
        for at in range(0, len(words) - 2, 2):
            source, flow, target = words[at : at + 3]
            for each in (source, target):
                kind = ObjectKind.TABLE if each in ("A", "D") else ObjectKind.RESULTSET
                objects[each] = DbObject(kind, model.number(each), each, "table")
            ends = [
                RelationEnd(model.number(each, "c"), "c", model.number(each), each)
                for each in (source, target)
            ]
            relations.append(ColumnRelation(number * 10 + at, FlowType(flow), "select", ends[1], (ends[0],)))
    return Dlineage((), tuple(objects.values()), tuple(relations))


@pytest.mark.parametrize(
    ("hops", "flow"),
    [
        (["A fdd B fdr C fdd D"], "fdr"),
        (["A fdd B1 fdr C1 fdd D", "A fdd B2 fdr C1 fdd D", "A fdd B3 fdd C3 fdd D"], "fdd"),
        (["A fdd B fdd C fdd D"], "fdd"),
        (["A fdr D", "A fdd D"], "fdd"),
        (["A fdd B fdd B fdd D"], "fdd"),
    ],
    ids=["1 one chain", "2 several chains", "data all the way", "two relations", "a circle"],
)
def test_the_references_rule_for_chains_holds(hops: list[str], flow: str) -> None:
    (relation,) = model.end_to_end(chain(*hops))

    assert relation.type == flow
    assert [(each.parent_name, relation.target.parent_name) for each in relation.sources] == [("A", "D")]


@pytest.mark.services
def test_the_schema_accepts_the_reference_documents(
    printed: list[str], export_readers: Environment, tmp_path: Path
) -> None:
    wrong = "<dlineage><table id='1' name='t' type='tabel'/><relation id='1' type='fdd'/></dlineage>"
    for number, text in enumerate([*printed, wrong]):
        (tmp_path / f"{number}.xml").write_text(text)
    schema = REPOSITORY / "tests/data/sqlflow.xsd"
    problems = export_readers.answer(REPOSITORY / "tests/services/read_sqlflow.py", schema, tmp_path)[
        "problems"
    ]

    assert [bool(problems[str(number)]) for number in range(len(printed) + 1)] == [False] * len(printed) + [
        True
    ]
