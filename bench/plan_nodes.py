"""Lists Spark plan nodes and commands in jars that have no row in extractors/spark/plan/nodes.tsv.

    python -m bench.plan_nodes JAR… [--all]

The jars are of Spark, a table format, a connector or an accelerator. An ancestor missing from them is looked up in the jars
of PySpark; if it is not there either, give the Spark jars of the time as well. ``--all`` lists known names too.
Prints name, kind and class, tab separated; ends with 1 if a name is in no row.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bench._class_files import NAMING, ClassFile, classes_of
from extractors.spark.plan.kinds import PLAN_NODES

LOGICAL: Final = "org/apache/spark/sql/catalyst/plans/logical/"
ROOTS: Final = {
    "physical": "org/apache/spark/sql/execution/SparkPlan",
    "command": LOGICAL + "Command",
    "logical": LOGICAL + "LogicalPlan",
}
"""Kind of node → base class. The first base class that is an ancestor decides."""


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """A class of plan nodes, and the name that Spark prints for it in plans."""

    name: str
    kind: str
    class_name: str


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("jars", nargs="+", type=Path, metavar="JAR")
    arguments.add_argument("--all", action="store_true")
    given = arguments.parse_args()
    rows = {(node.name, node.kind) for node in PLAN_NODES}
    found = sorted(set(plan_nodes(given.jars, shipped())))
    missing = [each for each in found if (each.name, each.kind) not in rows]
    for each in found if given.all else missing:
        print(each.name, each.kind, each.class_name, sep="\t")
    sys.exit(1 if missing else 0)


def shipped() -> list[Path]:
    """Return the jars of PySpark that contain plan nodes."""
    places = (find_spec("pyspark") or sys.exit("PySpark is not installed")).submodule_search_locations or ()
    return [jar for place in places for jar in Path(place, "jars").glob("spark-*.jar")]


def plan_nodes(jars: Iterable[Path], further: Iterable[Path] = ()) -> Iterator[Found]:
    """Yield the plan nodes in ``jars``. The ``further`` jars only serve to look up ancestors."""
    own = {each.name: each for jar in jars for each in classes_of(jar)}
    every = {each.name: each for jar in further for each in classes_of(jar)} | own
    for each in own.values():
        ancestry = ancestors(each, every)
        kind = next((kind for kind, root in ROOTS.items() if root in ancestry), None)
        if kind and each.concrete:
            yield Found(printed_name(each, ancestry, every), kind, each.name.replace("/", "."))


def ancestors(of: ClassFile, every: Mapping[str, ClassFile]) -> tuple[str, ...]:
    """Return the class itself and its ancestors, nearest first."""
    found = dict.fromkeys([of.name])
    for name in (waiting := [of.name]):
        for parent in every[name].ancestors if name in every else ():
            if parent not in found:
                found[parent] = None
                waiting.append(parent)
    return tuple(found)


def printed_name(of: ClassFile, ancestry: Iterable[str], every: Mapping[str, ClassFile]) -> str:
    """Return the class's name without a final ``Exec``, unless the class or an ancestor sets another name.

    A name that a trait or a constructor computes once is found among the strings of the trait or constructor.
    """
    named = [name for name in ancestry if name in every and "nodeName" in every[name].methods]
    named = [name for name in named if not name.endswith(("/TreeNode", "/QueryPlan"))]
    for method in NAMING:
        # Scala 2.11 compiles the code of a trait into a separate class.
        for each in (every[place] for name in named for place in (name, f"{name}$class") if place in every):
            for text in each.methods.get(method, ()):
                # "All" is not a name: it follows the name in UNION ALL and similar operators.
                if re.match("[A-Z]", text) and text != "All":
                    return text.partition("(")[0].strip()
    return re.sub("Exec$", "", of.simple_name)


if __name__ == "__main__":
    main()
