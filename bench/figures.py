"""Lists the bench for each figure of README, CHANGELOG and the manual.

    python -m bench figures

A test checks that each figure that README, CHANGELOG or the manual states is listed here.
"""

from __future__ import annotations

import sys
from typing import Final

from rich.console import Console
from rich.table import Table

from bench._options import options

FIGURES: Final = {
    "This takes a minute on two cores": "checkout",
    "eight to fifteen minutes on two cores": "checkout --tests",
    "eight to fifteen minutes |": "checkout --tests",
    "half an hour to an hour |": "checkout --services",
    "some 700 MB, most of it Spark": "checkout",
    "54 MB for Solr": "checkout",
    "another 120 MB of Hadoop's, Hive's and Sqoop's": "checkout",
    "another 270 MB of jars": "checkout --services",
    "an Oozie (180 MB)": "checkout --services",
    "a real Atlas (290 MB more": "checkout --services",
    "linked within five seconds, mostly within one": "latency",
    "some 130 MB of memory at most": "exporting",
    "make 140 to 340 MB in any of the forms": "exporting",
    "with 1 % of the operations takes 3 to 9 % of the whole's time": "exporting",
    "1 million entities take 0.2 to 0.4 GB": "size",
    "1 million relations 0.2 GB": "size",
}
"""A figure as README, CHANGELOG or the manual words it → the bench that prints it, with its options."""


def main() -> None:
    options(__doc__).parse_args()
    table = Table("in README, CHANGELOG or manual", "python -m bench …")
    for quote, bench in FIGURES.items():
        table.add_row(quote.strip("| "), bench)
    Console(width=None if sys.stdout.isatty() else 150).print(table, markup=False)


if __name__ == "__main__":
    main()
