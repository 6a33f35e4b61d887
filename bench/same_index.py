"""Checks that two versions of navlin make the same index from the same inputs, document by document and field by field.

    python -m bench same_index --out FILE [--corpora DIR]
    python -m bench same_index --compare FILE OTHER
    python -m bench same_index --keep DIR

The first loads all inputs of `tests.support.known_inputs` (public corpora if present; event logs of Delta and Iceberg;
a frozen estate; a scripted one) into its own Solr. It writes every document of nav_elements and nav_relation,
without navlin's own stamps, to FILE (gzipped JSON lines, in order). The second prints the differences by field, and ends
with 1 if there are any. The third keeps the frozen and the scripted estate as an index of this version: all documents of the
four cores as Solr has them, and the configuration of its cores (tests/data/index-1 was made so).
"""

from __future__ import annotations

import gzip
import shutil
import socket
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench._index import JARS, REPOSITORY, own_solr
from bench._options import options
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr
from navlin.model.identity import identify
from navlin.pipeline.session import end_session, start_session
from navlin.shipped import CONF
from tests.services.frozen import MADE_IN, FrozenEstate
from tests.support.known_inputs import Loader
from tests.support.pipeline_estate import unstamped

CORPORA = REPOSITORY.parent / "shared" / "corpora"
EXAMPLES = 3
Documents = dict[tuple[str, str], dict[str, Any]]


def dump(out: Path, corpora: Path | None, console: Console) -> None:
    """Load all inputs into an index, and write its documents to ``out``."""
    with (
        tempfile.TemporaryDirectory(prefix="same-index-") as temporary,
        own_solr(Path(temporary)) as solr,
    ):
        folder = Path(temporary)
        spark = _spark(folder)
        try:
            loader = Loader(solr, lambda: spark, folder)
            if corpora:
                console.print("corpora")
                loader.load_corpora(corpora)
            console.print("event logs of Delta and Iceberg")
            loader.load_table_formats()
            console.print("the frozen estate")
            with FrozenEstate(folder / "frozen", JARS) as estate:
                loader.load_frozen(estate)
            console.print("the scripted estate")
            loader.load_scripted()
        finally:
            end_session(spark)
        counts = write_dump(solr, out)
    console.print(", ".join(f"{core}: {count:,}" for core, count in counts.items()))


def keep(directory: Path, console: Console) -> None:
    """Write the index of the frozen and the scripted estate to ``directory``."""
    # A neutral directory, so that no path in the stored index contains a developer's home directory.
    MADE_IN.mkdir()
    with own_solr(MADE_IN) as solr:
        spark = _spark(MADE_IN)
        try:
            loader = Loader(solr, lambda: spark, MADE_IN)
            with FrozenEstate(MADE_IN / "frozen", JARS) as estate:
                loader.load_frozen(estate)
            loader.load_scripted()
        finally:
            end_session(spark)
        for core in (ELEMENTS, RELATIONS, RUNS):
            solr.commit(core, soft=False)
            with gzip.GzipFile(directory / f"{core}.jsonl.gz", "wb", mtime=0) as file:
                for document in solr.cursor(core, "*:*", "*"):
                    file.write(orjson.dumps(_neutral(document), option=orjson.OPT_SORT_KEYS) + b"\n")
            console.print(f"{core}: {solr.count(core):,}")
    shutil.rmtree(MADE_IN)
    shutil.copytree(CONF / "solr", directory / "conf", dirs_exist_ok=True)


def _neutral(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without its version. In the key of a file's position, this host becomes ``localhost``."""
    host, _, file = document.get("key", "").partition(":")
    if document.get("kind") == "position" and host == socket.gethostname():
        key = f"localhost:{file}"
        document |= {"key": key, "identity": f"position:{document['sourceId']}:{identify(key)}"}
    return {name: value for name, value in document.items() if name != "_version_"}


def _spark(folder: Path) -> SparkSession:
    spark = start_session(folder / "scratch", driver_memory="2g")
    # Spark's tasks run outside this checkout, but need the tests' extractors.
    archive = folder / "tests.zip"
    with zipfile.ZipFile(archive, "w") as modules:
        modules.write(
            REPOSITORY / "tests" / "support" / "scripted_extractors.py",
            "tests/support/scripted_extractors.py",
        )
    spark.sparkContext.addPyFile(str(archive))
    return spark


def write_dump(solr: Solr, out: Path) -> Counter[str]:
    """Write every document without stamps, as ``{"core", "document"}``. Return the number of documents by core."""
    counts: Counter[str] = Counter()
    with gzip.GzipFile(out, "wb", mtime=0) as file:
        for core in (ELEMENTS, RELATIONS):
            for document in solr.cursor(core, "*:*", "*"):
                line = {"core": core, "document": unstamped(document)}
                file.write(orjson.dumps(line, option=orjson.OPT_SORT_KEYS) + b"\n")
                counts[core] += 1
    return counts


def read_dump(file: Path) -> Documents:
    """Map (core, identity) to each document of a dump."""
    with gzip.open(file, "rb") as lines:
        return {
            (each["core"], each["document"]["identity"]): each["document"]
            for each in map(orjson.loads, lines)
        }


def differences(one: Documents, other: Documents) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (core, type, field, identity, difference) for each field that differs. A missing document has the field
    ``*``."""
    for key in sorted(one.keys() | other.keys()):
        core, identity = key
        before, after = one.get(key), other.get(key)
        if before is None or after is None:
            there = before or after or {}
            where = "only in the first" if after is None else "only in the second"
            name = (
                there.get("originalName") or f"{there.get('endpoint1Name')} to {there.get('endpoint2Name')}"
            )
            yield core, str(there.get("type")), "*", identity, f"{where}: {name}"
            continue
        for field in sorted(before.keys() | after.keys()):
            if before.get(field) != after.get(field):
                shown = f"{_shown(before.get(field))} and {_shown(after.get(field))}"
                yield core, str(before.get("type")), field, identity, shown


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def compare(one: Path, other: Path, console: Console) -> bool:
    """Print the differences. Return whether there are none."""
    left, right = read_dump(one), read_dump(other)
    counted: Counter[tuple[str, str, str]] = Counter()
    examples: dict[tuple[str, str, str], list[str]] = {}
    for core, kind, field, identity, shown in differences(left, right):
        counted[core, kind, field] += 1
        listed = examples.setdefault((core, kind, field), [])
        if len(listed) < EXAMPLES:
            listed.append(f"{identity}: {shown}")
    table = Table("core", "type", "field", "documents", "for example")
    for (core, kind, field), count in sorted(counted.items()):
        table.add_row(core, kind, field, f"{count:,}", "\n".join(examples[core, kind, field]))
    if counted:
        console.print(table, markup=False)
    console.print(f"{len(left):,} and {len(right):,} documents, {sum(counted.values()):,} differences")
    return not counted


def main() -> None:
    arguments = options(__doc__)
    task = arguments.add_mutually_exclusive_group(required=True)
    task.add_argument("--out", type=Path, metavar="FILE", help="load everything and write it there")
    task.add_argument("--compare", nargs=2, type=Path, metavar=("FILE", "OTHER"), help="two such files")
    task.add_argument("--keep", type=Path, metavar="DIR", help="keep an index of this version there")
    arguments.add_argument("--corpora", type=Path, default=CORPORA, metavar="DIR", help="files of others")
    asked = arguments.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    if asked.compare:
        sys.exit(0 if compare(asked.compare[0], asked.compare[1], console) else 1)
    if asked.keep:
        keep(asked.keep, console)
        return
    corpora = asked.corpora if asked.corpora.is_dir() else None
    if corpora is None:
        console.print(f"{asked.corpora} is not there: without it")
    dump(asked.out, corpora, console)


if __name__ == "__main__":
    main()
