"""Lists the bench for each figure of README and CHANGELOG, and each figure's former value.

    python -m bench figures

Former values are navlin's with an index of version 1, on two quiet cores. Every figure that README or CHANGELOG states must
be listed here, and a test checks it; the benches were written for the others.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: what it measures, the bench that prints it, and its former value if known. ``quote`` is its wording
    in README or CHANGELOG, verbatim."""

    what: str
    bench: str
    before: str = ""
    quote: str = ""


FIGURES: Final = (
    Figure("the demo, to its end", "checkout", "60 s", "This takes a minute on two cores"),
    Figure("`make test`", "checkout --tests", "24 min", "eight to fifteen minutes on two cores"),
    Figure("`make test`, in four processes", "checkout --tests", "24 min", "eight to fifteen minutes |"),
    Figure("`make test-services`", "checkout --services", "", "half an hour to an hour |"),
    Figure("Python packages", "checkout", "", "some 700 MB, most of it Spark"),
    Figure("Solr's jars", "checkout", "", "54 MB for Solr"),
    Figure(
        "Hadoop's, Hive's and Sqoop's jars", "checkout", "", "another 120 MB of Hadoop's, Hive's and Sqoop's"
    ),
    Figure("jars of later releases", "checkout --services", "", "another 270 MB of jars"),
    Figure("Atlas", "checkout --services", "", "a real Atlas (290 MB more"),
    Figure("a new line, indexed and linked", "latency", "", "linked within five seconds, mostly within one"),
    Figure("suggestions as one types, over a million entities", "suggestions"),
    Figure("searches for people over a million entities, beside Navigator's", "search_cost"),
    Figure("a million entities as CSV and JSON lines over HTTP", "whole_result"),
    Figure("an export's memory", "exporting", "", "some 130 MB of memory at most"),
    Figure("a million relations in each form", "exporting", "", "make 140 to 340 MB in any of the forms"),
    Figure(
        "an export of what changed, of the whole's time",
        "exporting",
        "",
        "with 1 % of the operations takes 3 to 9 % of the whole's time",
    ),
    Figure("`navlin unused` over 100,000 tables", "unused", "46 s for 5,000 tables, on a busy machine"),
    Figure("users who ask beside extraction", "web_load"),
    Figure("disk for entities", "size", "0.5 to 0.7 GB", "1 million entities take 0.2 to 0.4 GB"),
    Figure("disk for relations", "size", "90 MB", "1 million relations 0.2 GB"),
    Figure("inodes into an empty index", "fsimage --inodes 0 --growth ''", "1,878 inodes/s"),
    Figure("Hive-like documents, of plain pysolr", "indexing --of tables", "0.67"),
    Figure("operations, of plain pysolr", "indexing --of operations"),
    Figure("relations alone, of plain pysolr", "indexing --of flows"),
    Figure("an image of HDFS, of plain pysolr", "indexing --of hdfs"),
    Figure("inodes/s if directories alone are taken", "indexing --of directories"),
    Figure("lineage of 400 nodes, p50 and p95", "lineage_walk", "500 ms, 754 ms"),
    Figure("the same with columns, p50 and p95", "lineage_walk", "1.15 s, 2 s"),
    Figure("linking 1,000 new relations", "linking_growth"),
    Figure("`navlin serve`, until it is ready", "starting", "26 s"),
    Figure("ten changes, `navlin extract`, cold", "starting", "27 s"),
    Figure("a metastore of 2,000 tables, cold", "starting", "50 s"),
    Figure("a command that asks, beside `navlin serve`", "starting", "1.1 s"),
    Figure("reading a metastore, of a bare client", "hms_read"),
    Figure("following HDFS", "hdfs_follow"),
    Figure("reading Spark's event logs", "spark_log_speed"),
    Figure("column lineage of Spark statements", "referee"),
)


def main() -> None:
    table = Table("figure", "python -m bench …", "before", "in README or CHANGELOG")
    for figure in FIGURES:
        table.add_row(figure.what, figure.bench, figure.before, figure.quote.strip("| "))
    Console(width=None if sys.stdout.isatty() else 150).print(table, markup=False)


if __name__ == "__main__":
    main()
