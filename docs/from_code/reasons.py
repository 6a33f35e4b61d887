"""Reasons why a record was rejected, an operation is incomplete, a relation unlinked or a view not parsed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from docs.from_code.markdown import prose, table
from docs.from_code.settings import built_in
from extractors.hdfs.sidecars import BadSidecar
from extractors.lineage import statement_records
from extractors.lineage.graph import NotALineageRecord
from extractors.lineage.moved_files import FileWentAway
from extractors.oozie import ends as oozie_ends
from extractors.openlineage import columns, kept_runs, records, runs, unsaid, whole_texts
from extractors.openlineage import ends as openlineage_ends
from extractors.openlineage.events import NotAnOpenLineageEvent
from extractors.spark import incomplete as spark_incomplete
from extractors.spark.archives import NotReadable
from extractors.spark.codecs import Damaged
from extractors.spark.events import NotASparkEvent
from extractors.spark.spark_lineage_events import NotAQueryRecord
from extractors.yarn import configuration, jobs, names, pig, pig_jobs, sqoop_job
from linker import views
from linker.resolve_endpoints import UnlinkedReason, not_yet
from navlin.model import gaps

REPOSITORY: Final = Path(__file__).parents[2]
ENUMERATIONS: Final[Mapping[type[StrEnum], str]] = {
    spark_incomplete.Incomplete: "Spark",
    statement_records.StatementGap: "Hive, Impala",
    oozie_ends.OozieGap: "Oozie",
    configuration.ConfigurationGap: "MapReduce, Pig, Sqoop",
    pig_jobs.Unknown: "Pig",
    pig.PigGap: "Pig",
    sqoop_job.Gap: "Sqoop",
}
"""Enumeration of reasons for incomplete operations → engines."""
CONSTANTS: Final[tuple[tuple[ModuleType, str, str], ...]] = (
    (openlineage_ends, "OpenLineage", "SEVERAL MORE_FED UNLISTED"),
    (records, "OpenLineage", "NO_COLUMNS"),
    (whole_texts, "OpenLineage", "CUT"),
    (unsaid, "OpenLineage", "UNWRITTEN UNREAD"),
    (runs, "OpenLineage", "MORE_DATASETS MORE_LINKS MORE_THAN_KEPT"),
    (kept_runs, "OpenLineage", "LOST MAYBE_LOST"),
    (columns, "OpenLineage", "MORE UNREAD"),
    (jobs, "MapReduce", "NO_HISTORY GONE UNREADABLE"),
    (names, "Pig", "ON_TEZ ON_SPARK"),
    (gaps, "Hive, Impala", "READS_UNNAMED"),
    (gaps, "all", "READ_BY_OLDER"),
)
"""(module, engines, names of the constants) of further reasons for incomplete operations."""
VIEWS: Final = "UNKNOWN_COLUMNS ELSEWHERE UNCERTAIN OTHER_COLUMNS TOO_MANY"
"""Names of the constants of `linker.views`."""
SHARED: Final = {"extractors/odd_entries.py": "oozie, yarn", "extractors/lineage": "all logs"}
"""Folder or module of code that several extractors share → these extractors."""
GAP: Final = "…"
READ_ERRORS: Final = frozenset(
    each.__name__
    for each in (
        NotALineageRecord,
        NotAnOpenLineageEvent,
        NotAQueryRecord,
        NotASparkEvent,
        Damaged,
        NotReadable,
        FileWentAway,
        BadSidecar,
    )
)
"""Names of the exceptions whose texts become the reasons of rejects."""
FURTHER: Final = {
    "extractors/odd_entries.py": "NO_ID EMPTY UNREAD",
    "extractors/oozie/plan.py": "CUT NOT_REMEMBERED",
    "extractors/openlineage/event_files.py": "_CUT_OFF",
}
"""Module → names of constants that become reasons of rejects elsewhere."""


def incomplete() -> str:
    """Return the table of reasons why an operation is incomplete."""
    return table(("reason", "engine"), ((prose(text), engine) for text, engine in incomplete_reasons()))


def incomplete_reasons() -> Iterator[tuple[str, str]]:
    """Yield (reason, engines)."""
    for kind, engine in ENUMERATIONS.items():
        yield from ((each.value, engine) for each in kind)
    for reason in (spark_incomplete.Incomplete.UNKNOWN_INPUT, spark_incomplete.Incomplete.UNKNOWN_OUTPUT):
        yield from ((text, "Spark") for text in spark_incomplete.in_words([reason], [(reason, GAP)]))
    for module, engine, constants in CONSTANTS:
        yield from ((getattr(module, name), engine) for name in constants.split())


def unlinked() -> str:
    """Return the list of reasons why a relation is unlinked."""
    reasons = [not_yet(GAP), *(each.value for each in UnlinkedReason)]
    return "\n".join(f"- {prose(each)}" for each in reasons) + "\n"


def unparsed() -> str:
    """Return the list of reasons why the text of a view gives no lineage, or only a part."""
    return "\n".join(f"- {prose(getattr(views, name))}" for name in VIEWS.split()) + "\n"


def rejects() -> str:
    """Return the table of reasons for rejects. An ellipsis is in place of what differs from record to record."""
    return table(("reason", "extractors"), ((prose(text), where) for text, where in reject_reasons()))


@cache
def folders() -> dict[str, str]:
    """Return folder or module in which rejects are made → its extractors. Any other is for all extractors."""
    found = dict(SHARED)
    for name, each in sorted(built_in().items()):
        folder = "/".join(each.make.__module__.split(".")[:2])
        found[folder] = f"{found[folder]}, {name}" if folder in found else name
    return found


@cache
def reject_reasons() -> tuple[tuple[str, str], ...]:
    """Return (reason, extractors) of each reject that the code makes, sorted."""
    found: dict[str, set[str]] = {}
    errors: dict[str, set[str]] = {}
    trees = [(file, ast.parse(file.read_text(encoding="utf-8"))) for file in _files()]
    for file, tree in trees:
        name = str(file.relative_to(REPOSITORY))
        where = next((each for folder, each in folders().items() if name.startswith(folder)), "all")
        constants = _constants(tree)
        for constant in FURTHER.get(name, "").split():
            found.setdefault(constants[constant], set()).add(where)
        for call in (node for node in ast.walk(tree) if _is_call(node, "Reject")):
            assert isinstance(call, ast.Call)
            for text in _texts(call, constants):
                found.setdefault(text, set()).add(where)
        for raised in (node for node in ast.walk(tree) if isinstance(node, ast.Raise)):
            if isinstance(raised.exc, ast.Call) and raised.exc.args:
                error = ast.unparse(raised.exc.func).rpartition(".")[2]
                if error in READ_ERRORS and (text := _template(raised.exc.args[0], constants)).strip(
                    f"{GAP} "
                ):
                    errors.setdefault(text, set()).add(where)
    for text, places in errors.items():
        found.setdefault(text, set()).update(places)
    return tuple((text, ", ".join(sorted(found[text]))) for text in sorted(found, key=str.lower))


def _files() -> Iterator[Path]:
    for folder in ("extractors", "navlin/pipeline"):
        yield from sorted((REPOSITORY / folder).rglob("*.py"))


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _texts(call: ast.Call, constants: Mapping[str, str]) -> Iterator[str]:
    given = (
        call.args[1]
        if len(call.args) > 1
        else next((each.value for each in call.keywords if each.arg == "reason"), None)
    )
    if given is not None and re.search(r"[a-z]{3}", text := _template(given, constants)):
        yield text


def _constants(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                if (text := _template(value, found)).strip(GAP):
                    found[name] = text
    return found


def _template(node: ast.expr, constants: Mapping[str, str]) -> str:
    """Return a text, with an ellipsis for each part that the code fills in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_template(each, constants) for each in values)
        case ast.FormattedValue(value=value):
            return (
                _template(value, constants) if isinstance(value, ast.Name) and value.id in constants else GAP
            )
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _template(left, constants) + _template(right, constants)
        case ast.Name(id=name):
            return constants.get(name, GAP)
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return _braces(_template(value, constants))
    return GAP


def _braces(text: str) -> str:
    return re.sub(r"\{[^}]*\}", GAP, text)
