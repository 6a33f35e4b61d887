"""An embedded Solr whose disk is filled while documents are written to it. Must run inside a mount namespace; prints
the outcome as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from navlin.index.admin.cores import CORES
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr, SolrError
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.full_disk import empty, fill, mount


def main() -> None:
    state, jars = Path(sys.argv[1]), Path(sys.argv[2])
    mount(state, 80)
    cache = jars.parent / "solr-launcher"
    server = EmbeddedSolr(state, jars, CONF / "solr", cores=CORES, cache=cache)
    acknowledged: list[str] = []
    durable: list[str] = []
    errors: list[str] = []

    def write(solr: Solr, rounds: int) -> None:
        for _ in range(rounds):
            ids = [f"d{len(acknowledged) + number:06d}" for number in range(200)]
            documents = [{"identity": each, "queryText": each * 100} for each in ids]
            try:
                acknowledged.extend(solr.add(ELEMENTS, documents).applied)
            except SolrError as error:
                errors.append(str(error))
            # Commit even if the write failed, because Solr also commits by itself.
            try:
                solr.commit(ELEMENTS, soft=False)
                durable[:] = acknowledged
            except SolrError as error:
                errors.append(str(error))

    with server, Solr(server.address) as solr:
        write(solr, 3)
        fill(state)
        write(solr, 12)
        failed = len(errors)
        answered = solr.count(ELEMENTS)
        empty(state)
        write(solr, 1)
        still_failing = len(errors) > failed
        server.stop()
        server.start()
        errors_before = len(errors)
        write(solr, 3)
        there = {document["identity"] for document in solr.cursor(ELEMENTS, "*:*", "identity")}
    seen = {
        "failed": failed,
        "answered_on_full_disk": answered,
        "still_failing_with_space": still_failing,
        "failing_after_restart": len(errors) - errors_before,
        "durable": len(durable),
        "durable_lost": len(set(durable) - there),
        "acknowledged_lost": len(set(acknowledged) - there),
        "errors": errors[:2] + errors[-2:],
    }
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    main()
