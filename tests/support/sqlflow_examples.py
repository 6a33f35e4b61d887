"""The numbered examples of SQLFlow's reference 1.2, and SQLFlow documents in forms that tests can compare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from navlin.export.sqlflow import SqlFlowOptions, xml_records
from navlin.export.sqlflow.xml import FOOT, HEAD, xml_element
from navlin.export.values import Item
from navlin.index.graph.details import Details
from tests.support.exported import (
    LOCAL,
    bucket,
    dataset,
    described,
    operation,
    part,
    predicate,
)

RESULT_SET = re.compile(r"RS-\d+")


def xml(items: Iterable[Item], **options: bool) -> str:
    return b"".join(xml_records(items, SqlFlowOptions(**options))).decode()


def xml_of(elements: Iterable[Any]) -> str:
    return HEAD + "".join(map(xml_element, elements)) + FOOT


def elements(text: str) -> ElementTree.Element:
    """Parse a document. Asserts that everything a relation refers to exists with the same id and name."""
    root = ElementTree.fromstring(text)
    named: dict[str, str] = {}
    for each in root:
        if each.tag != "relation":
            assert named.setdefault(each.attrib["id"], each.attrib["name"]) == each.attrib["name"]
            for column in each:
                assert column.attrib["id"] not in named, "an id stands for two things"
                named[column.attrib["id"]] = column.attrib["name"]
    relations = [each.attrib["id"] for each in root.iter("relation")]
    assert len(relations) == len(set(relations))
    for side in (end for relation in root.iter("relation") for end in relation):
        of, called = (f"{side.tag}_id", f"{side.tag}_name")
        if of in side.attrib:
            assert named[side.attrib[of]] == side.attrib[called]
        else:
            assert named[side.attrib["id"]] == side.attrib["column"]
            assert named[side.attrib["parent_id"]] == side.attrib["parent_name"]
    return root


def arrows(text: str) -> set[str]:
    """The relations as sentences of the reference write them: ``t2.f1 -> fdd -> v1.f1``."""
    found = set()
    for relation in elements(text).iter("relation"):
        target, *sources = list(relation)
        for source in sources:
            found.add(f"{_named(source)} -> {relation.attrib['type']} -> {_named(target)}")
    return found


def _named(side: ElementTree.Element) -> str:
    name = side.attrib.get(f"{side.tag}_name") or f"{side.attrib['parent_name']}.{side.attrib['column']}"
    return RESULT_SET.sub("RS", name)


def tree(node: ElementTree.Element) -> Any:
    """An element as a comparable value: (tag, attributes, children)."""
    return node.tag, dict(node.attrib), [tree(each) for each in node]


# Each example has the operations that Hive or Impala would have recorded for its statements, and three sets of expected
# arrows: between columns, end to end, and between tables.

EMP = 'SELECT a.empName "eName" FROM scott.emp a Where sal > 1000'


@dataclass(frozen=True)
class Example:
    """An example of the reference. ``ends`` are the end-to-end relations, if they differ from ``columns``."""

    items: Sequence[Item]
    columns: set[str]
    tables: set[str]
    ends: set[str] | None = None


EXAMPLES = {
    "1 column-level lineage": Example(
        [
            operation(
                "select ProductID from SalesLT.Product",
                "SELECT",
                part(data=["SalesLT.Product.ProductID"], label="ProductID"),
            )
        ],
        {"SalesLT.Product.ProductID -> fdd -> RS.ProductID"},
        {"SalesLT.Product -> fdd -> Query Select"},
    ),
    "2 create a view, rename a table": Example(
        [
            operation(
                "create view v1 as select f1 from t2;", "CREATEVIEW", part(["v1.f1"], ["t2.f1"], into="VIEW")
            ),
            operation("alter table t2 rename to t3;", "ALTERTABLE_RENAME", reads=["t2"], writes=["t3"]),
        ],
        {"t2.f1 -> fdd -> v1.f1", "t2.PseudoRows -> fdd -> t3.PseudoRows"},
        {
            "t2 -> fdd -> Query Create View",
            "Query Create View -> fdd -> v1",
            "t2 -> fdd -> Query Alter Table",
            "Query Alter Table -> fdd -> t3",
        },
    ),
    "3 insert overwrite a directory": Example(
        [
            operation(
                "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/pv_gender_sum' SELECT pv_gender_sum.* FROM pv_gender_sum",
                "INSERT_OVERWRITE",
                reads=["pv_gender_sum"],
                writes=[dataset("/tmp/pv_gender_sum", source=LOCAL)],
            )
        ],
        {
            "pv_gender_sum.PseudoRows -> fdd -> file:///tmp/pv_gender_sum.uri=file:///tmp/pv_gender_sum",
        },
        {
            "pv_gender_sum -> fdd -> Query Insert Overwrite",
            "Query Insert Overwrite -> fdd -> file:///tmp/pv_gender_sum",
        },
    ),
    "4 create an external table at a stage": Example(
        # navlin has no stages, so the table is located at the stage's path.
        [
            described(
                dataset("exttable_part"),
                [("date_part", "date"), ("timestamp", "bigint"), ("col2", "varchar")],
                details=Details(kind="EXTERNAL_TABLE"),
                locations=(dataset("/encrypted_files", source=bucket("s3", "load")),),
            )
        ],
        {"s3://load/encrypted_files.uri=s3://load/encrypted_files -> fdd -> exttable_part.PseudoRows"},
        {
            "s3://load/encrypted_files -> fdd -> Query Create External Table",
            "Query Create External Table -> fdd -> exttable_part",
        },
    ),
    "5 create an external table of two files": Example(
        [
            described(
                dataset("dataset.CsvTable"),
                details=Details(kind="EXTERNAL_TABLE"),
                locations=tuple(
                    dataset(path, "FILE", bucket("gs", "bucket")) for path in ("/path1.csv", "/path2.csv")
                ),
            )
        ],
        {
            "gs://bucket/path1.csv.uri=gs://bucket/path1.csv -> fdd -> dataset.CsvTable.PseudoRows",
            "gs://bucket/path2.csv.uri=gs://bucket/path2.csv -> fdd -> dataset.CsvTable.PseudoRows",
        },
        {
            "gs://bucket/path1.csv -> fdd -> Query Create External Table",
            "gs://bucket/path2.csv -> fdd -> Query Create External Table",
            "Query Create External Table -> fdd -> dataset.CsvTable",
        },
    ),
    "6 load data": Example(
        [
            operation(
                "LOAD DATA LOCAL INPATH '/tmp/pv_2008-06-08_us.txt' INTO TABLE page_view"
                " PARTITION(date='2008-06-08', country='US')",
                "LOAD",
                reads=[dataset("/tmp/pv_2008-06-08_us.txt", "FILE", LOCAL)],
                writes=["page_view"],
            )
        ],
        {
            "file:///tmp/pv_2008-06-08_us.txt.uri=file:///tmp/pv_2008-06-08_us.txt -> fdd -> page_view.PseudoRows",
        },
        {"file:///tmp/pv_2008-06-08_us.txt -> fdd -> Query Hive Load", "Query Hive Load -> fdd -> page_view"},
    ),
    "7 case": Example(
        [
            operation(
                "select case when a.kamut=1 and b.teur IS null then 'no locks' when a.kamut=1 then b.teur else 'locks' end"
                " teur from tbl a left join TT b on (a.key=b.key)",
                "SELECT",
                part(data=["tbl.kamut", "TT.teur"], expression="CASE WHEN a.kamut = 1 … END", label="teur"),
                predicate(control=["tbl.key", "TT.key"]),
            )
        ],
        {
            "tbl.kamut -> fdd -> RS.CASE WHEN a.kamut = 1 … END",
            "TT.teur -> fdd -> RS.CASE WHEN a.kamut = 1 … END",
            "RS.CASE WHEN a.kamut = 1 … END -> fdd -> RS.teur",
            "tbl.key -> fdr -> RS.PseudoRows",
            "TT.key -> fdr -> RS.PseudoRows",
        },
        {"tbl -> fdd -> Query Select", "TT -> fdd -> Query Select"},
        {
            "tbl.kamut -> fdd -> RS.teur",
            "TT.teur -> fdd -> RS.teur",
            "tbl.key -> fdr -> RS.PseudoRows",
            "TT.key -> fdr -> RS.PseudoRows",
        },
    ),
    "8 create a view with a condition": Example(
        [
            operation(
                f"create view vEmp(eName) as {EMP}",
                "CREATEVIEW",
                part(["vEmp.eName"], ["scott.emp.empName"], into="VIEW"),
                predicate(["vEmp.eName"], ["scott.emp.sal"], into="VIEW"),
            )
        ],
        {"scott.emp.empName -> fdd -> vEmp.eName", "scott.emp.sal -> fdr -> vEmp.PseudoRows"},
        {"scott.emp -> fdd -> Query Create View", "Query Create View -> fdd -> vEmp"},
    ),
    "9 select a column under an alias": Example(
        [operation(EMP, "SELECT", part(data=["scott.emp.empName"], label='"eName"'))],
        {'scott.emp.empName -> fdd -> RS."eName"'},
        {"scott.emp -> fdd -> Query Select"},
    ),
    "10 select a function": Example(
        [
            operation(
                "select round(salary) as sal from scott.emp",
                "SELECT",
                part(data=["scott.emp.salary"], expression="round(salary)", label="sal"),
            )
        ],
        {"scott.emp.salary -> fdd -> RS.round(salary)", "RS.round(salary) -> fdd -> RS.sal"},
        {"scott.emp -> fdd -> Query Select"},
        {"scott.emp.salary -> fdd -> RS.sal"},
    ),
    "11 where": Example(
        [
            operation(
                EMP,
                "SELECT",
                part(data=["scott.emp.empName"], label='"eName"'),
                predicate(control=["scott.emp.sal"]),
            )
        ],
        {'scott.emp.empName -> fdd -> RS."eName"', "scott.emp.sal -> fdr -> RS.PseudoRows"},
        {"scott.emp -> fdd -> Query Select"},
    ),
    "12 from a common table expression": Example(
        [
            operation(
                "WITH cteReports (EmpID, FirstName, LastName, MgrID, EmpLevel) AS (SELECT EmployeeID, FirstName, LastName,"
                " ManagerID, 1 FROM Employees WHERE ManagerID IS NULL)"
                " SELECT FirstName + ' ' + LastName AS FullName, EmpLevel FROM cteReports",
                "SELECT",
                part(
                    data=["Employees.FirstName", "Employees.LastName"],
                    expression="FirstName + ' ' + LastName",
                    label="FullName",
                ),
                predicate(control=["Employees.ManagerID"]),
            )
        ],
        {
            "Employees.FirstName -> fdd -> RS.FirstName + ' ' + LastName",
            "Employees.LastName -> fdd -> RS.FirstName + ' ' + LastName",
            "RS.FirstName + ' ' + LastName -> fdd -> RS.FullName",
            "Employees.ManagerID -> fdr -> RS.PseudoRows",
        },
        {"Employees -> fdd -> Query Select"},
        {
            "Employees.FirstName -> fdd -> RS.FullName",
            "Employees.LastName -> fdd -> RS.FullName",
            "Employees.ManagerID -> fdr -> RS.PseudoRows",
        },
    ),
    "13 group by": Example(
        [
            operation(
                "SELECT deptno, COUNT() num_emp, SUM(SAL) sal_sum FROM scott.emp Where city = 'NYC' GROUP BY deptno",
                "SELECT",
                part(data=["scott.emp.deptno"], label="deptno"),
                part(control=["scott.emp.deptno"], expression="COUNT()", label="num_emp"),
                part(
                    data=["scott.emp.SAL"],
                    control=["scott.emp.deptno"],
                    expression="SUM(SAL)",
                    label="sal_sum",
                ),
                predicate(control=["scott.emp.city"]),
            )
        ],
        {
            "scott.emp.deptno -> fdd -> RS.deptno",
            "scott.emp.deptno -> fdr -> RS.COUNT()",
            "RS.COUNT() -> fdd -> RS.num_emp",
            "scott.emp.SAL -> fdd -> RS.SUM(SAL)",
            "scott.emp.deptno -> fdr -> RS.SUM(SAL)",
            "RS.SUM(SAL) -> fdd -> RS.sal_sum",
            "scott.emp.city -> fdr -> RS.PseudoRows",
        },
        {"scott.emp -> fdd -> Query Select"},
        {
            "scott.emp.deptno -> fdd -> RS.deptno",
            "scott.emp.deptno -> fdr -> RS.num_emp",
            "scott.emp.SAL -> fdd -> RS.sal_sum",
            "scott.emp.deptno -> fdr -> RS.sal_sum",
            "scott.emp.city -> fdr -> RS.PseudoRows",
        },
    ),
    "14 aggregates without group by": Example(
        [
            operation(
                "SELECT SUM(SAL) sal_sum FROM scott.emp Where city = 'NYC'",
                "SELECT",
                part(
                    data=["scott.emp.SAL"],
                    expression="SUM(SAL)",
                    transformation="AGGREGATION",
                    label="sal_sum",
                ),
                predicate(control=["scott.emp.city"]),
            )
        ],
        {
            "scott.emp.SAL -> fdd -> RS.SUM(SAL)",
            "scott.emp.PseudoRows -> fdr -> RS.SUM(SAL)",
            "RS.SUM(SAL) -> fdd -> RS.sal_sum",
            "scott.emp.city -> fdr -> RS.PseudoRows",
        },
        {"scott.emp -> fdd -> Query Select"},
        {
            "scott.emp.SAL -> fdd -> RS.sal_sum",
            "scott.emp.PseudoRows -> fdr -> RS.sal_sum",
            "scott.emp.city -> fdr -> RS.PseudoRows",
        },
    ),
    "15 join": Example(
        [
            operation(
                "select b.teur from tbl a left join TT b on (a.key=b.key)",
                "SELECT",
                part(data=["TT.teur"], label="teur"),
                predicate(control=["tbl.key", "TT.key"]),
            )
        ],
        {"TT.teur -> fdd -> RS.teur", "tbl.key -> fdr -> RS.PseudoRows", "TT.key -> fdr -> RS.PseudoRows"},
        {"TT -> fdd -> Query Select", "tbl -> fdr -> Query Select"},
    ),
}
"""Examples with statements that navlin can encounter. The other examples (cursors, scalar variables, foreign keys,
table functions, orphan columns) are not lineage that navlin knows;
`test_elements_absent_from_navlins_graph_can_be_written` covers their elements.
"""
