"""DataHub aspects of runs, compared with the schemas printed in DataHub's reference."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.datahub_proposals import proposals
from tests.support.exported import (
    every_kind,
)

REPOSITORY = Path(__file__).parents[2]


ASPECTS = (
    "dataProcessInstanceInput dataProcessInstanceOutput dataProcessInstanceProperties dataProcessInstanceRelationships"
    " status testResults dataPlatformInstance subTypes container mlTrainingRunProperties dataProcessInstanceRunEvent"
).split()
NOT_OURS = {"testResults", "container", "mlTrainingRunProperties"}
"""Aspects that navlin never writes: it has no tests and no models, and a run is not in a container."""


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """Maps each aspect to the schema printed in the reference of dataProcessInstance."""
    found = sorted((REPOSITORY.parent / "shared" / "seeds").glob("001_*.txt"))
    if not found:
        pytest.skip("the reference of dataProcessInstance is not beside this checkout")
    text = found[0].read_text()
    schemas = [
        json.JSONDecoder().raw_decode(text, each.end())[0]
        for each in re.finditer(r"^Schema\n", text, re.MULTILINE)
    ]
    return {each["Aspect"]["name"]: each for each in schemas}


@pytest.mark.parametrize("number", range(1, len(ASPECTS) + 1))
def test_an_aspect_matches_the_reference_schema(number: int, printed: dict[str, Any]) -> None:
    name = ASPECTS[number - 1]
    written = [
        each["aspect"]["json"]
        for each in proposals(every_kind())
        if each["aspectName"] == name and each["entityType"] == "dataProcessInstance"
    ]

    assert bool(written) is (name not in NOT_OURS)
    types: dict[str, Any] = {}
    problems = [each for aspect in written for each in _problems(printed[name], aspect, types, name)]
    assert problems == []


def _problems(schema: Any, value: Any, types: dict[str, Any], at: str) -> list[str]:
    """Return the locations in ``value`` that violate an Avro schema."""
    if isinstance(schema, dict) and "name" in schema:
        types[f"{schema.get('namespace', '')}.{schema['name']}"] = schema
    match schema:
        case list():
            every = [_problems(each, value, types, at) for each in schema]
            return min(every, key=len) if all(every) else []
        case {"type": "record", "fields": fields}:
            if not isinstance(value, dict):
                return [f"{at}: {value!r} is no record"]
            known = {each["name"]: each for each in fields}
            problems = [f"{at}.{each}: unknown" for each in value if each not in known]
            for name, of_field in known.items():
                if name in value:
                    problems += _problems(of_field["type"], value[name], types, f"{at}.{name}")
                elif "default" not in of_field:
                    problems.append(f"{at}.{name}: missing")
            return problems
        case {"type": "array", "items": items}:
            each_of = value if isinstance(value, list) else [None]
            return [problem for each in each_of for problem in _problems(items, each, types, f"{at}[]")]
        case {"type": "map", "values": values}:
            each_of = list(value.values()) if isinstance(value, dict) else [None]
            return [problem for each in each_of for problem in _problems(values, each, types, f"{at}{{}}")]
        case {"type": "enum", "symbols": symbols}:
            return [] if value in symbols else [f"{at}: {value!r} is none of {symbols}"]
        case {"type": inner}:
            return _problems(inner, value, types, at)
        case str() if schema in types:
            return _problems(types[schema], value, types, at)
    plain = {"string": str, "boolean": bool, "long": int, "int": int, "null": type(None)}[schema]
    return [] if type(value) is plain else [f"{at}: {value!r} is no {schema}"]
