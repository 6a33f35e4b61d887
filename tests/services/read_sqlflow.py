"""Read documents in SQLFlow's model with third-party programs.

This script runs in an environment that has ``gsp-datahub-sidecar`` and ``lxml``: ``read_sqlflow.py SCHEMA FOLDER``.
It prints the schema errors of each ``.xml`` file in the folder, and the lineage that the sidecar's reader finds in
each ``.json`` file: ``[[upstream, downstream, [[column, column], …]], …]``, sorted.
"""

# mypy: ignore-errors
from __future__ import annotations

import json
import sys
from pathlib import Path

from gsp_datahub_sidecar.lineage_mapper import extract_lineage
from lxml import etree


def main(schema: str, folder: str) -> None:
    rules = etree.XMLSchema(etree.parse(schema))
    problems, lineage = {}, {}
    for file in sorted(Path(folder).iterdir()):
        if file.suffix == ".xml":
            rules.validate(etree.parse(file))
            problems[file.stem] = [f"line {each.line}: {each.message}" for each in rules.error_log]
        else:
            lineage[file.stem] = sorted(
                [each.upstream_table, each.downstream_table, sorted(each.column_mappings)]
                for each in extract_lineage(json.loads(file.read_text()), "dbvhive")
            )
    sys.stdout.write(json.dumps({"problems": problems, "lineage": lineage}))


if __name__ == "__main__":
    main(*sys.argv[1:])
