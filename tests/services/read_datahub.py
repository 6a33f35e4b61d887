"""Read a file of metadata change proposals with DataHub's own classes, and print the errors.

This script runs in an environment that has ``acryl-datahub``: ``read_datahub.py FILE``.
"""

# mypy: ignore-errors
from __future__ import annotations

import collections
import copy
import json
import sys
import tempfile
from pathlib import Path

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.run.pipeline import Pipeline
from datahub.metadata.schema_classes import KEY_ASPECTS
from datahub.metadata.urns import Urn


def main(file: str) -> None:
    proposals = json.loads(Path(file).read_text())
    problems = [f"{_place(each)}: {problem}" for each in proposals for problem in _problems(each)]
    kinds = collections.Counter(f"{each['entityType']}.{each['aspectName']}" for each in proposals)
    sys.stdout.write(
        json.dumps({"problems": problems, "kinds": kinds, "ingested": 0 if problems else _ingested(file)})
    )


def _place(proposal: dict) -> str:
    return f"{proposal['aspectName']} of {proposal['entityUrn']}"


def _problems(proposal: dict):
    known = KEY_ASPECTS[proposal["entityType"]].ASPECT_INFO["entityAspects"]
    if proposal["aspectName"] not in known:
        yield "no aspect of this entity"
    for urn in (proposal["entityUrn"], *_urns_in(proposal["aspect"]["json"])):
        try:
            if str(Urn.from_string(urn)) != urn:
                yield f"{urn} is written otherwise"
        except Exception as error:
            yield f"{urn}: {error}"
    try:
        read = MetadataChangeProposalWrapper.from_obj(copy.deepcopy(proposal))
    except Exception as error:
        yield f"it does not read: {error}"
        return
    if not isinstance(read, MetadataChangeProposalWrapper):
        yield "the aspect is unknown"
        return
    if not read.validate():
        yield "it is not valid"
        return
    written = read.to_obj(simplified_structure=True)["aspect"]["json"]
    yield from _lost(proposal["aspect"]["json"], written, "")


def _lost(ours, theirs, at: str):
    """Yield the values that DataHub's classes dropped or changed."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            if name in theirs:
                yield from _lost(value, theirs[name], f"{at}.{name}")
            elif value is not None:
                yield f"{at}.{name} is lost"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for one, other in zip(ours, theirs, strict=True):
            yield from _lost(one, other, f"{at}[]")
    elif ours != theirs:
        yield f"{at}: {ours!r} became {theirs!r}"


def _urns_in(value):
    if isinstance(value, dict):
        for each in value.values():
            yield from _urns_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _urns_in(each)
    elif isinstance(value, str) and value.startswith("urn:li:"):
        yield value


def _ingested(file: str) -> int:
    """Return the number of proposals that DataHub's own ingestion passes on from file to file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.json")
        pipeline = Pipeline.create(
            {
                "source": {"type": "file", "config": {"path": file}},
                "sink": {"type": "file", "config": {"filename": str(out)}},
            }
        )
        pipeline.run()
        pipeline.raise_from_status(raise_warnings=True)
        return len(json.loads(out.read_text()))


if __name__ == "__main__":
    main(sys.argv[1])
